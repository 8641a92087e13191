"""Bodies of model files as their standard input data."""

from mbsim_cli.study.reduced_bodies import reduce_with_mesh


def reduce_body(model_file, name):
    """Standard input data of a body, with derivatives by the parameters."""
    return reduce_with_mesh(model_file, name, True)[0]

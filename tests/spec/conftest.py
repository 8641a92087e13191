"""All classes of the model file, of which some tests take each: a run imports these when a file has such a part."""

from mbsim_cli.spec import cables, constraints, contacts, flexible, laws, special_sensors, states, studies  # noqa: F401

"""Imports all classes of the model file: some tests loop over them, and a run imports those that a file needs."""

from mbsim_cli.spec import cables, constraints, contacts, flexible, laws, special_sensors, states, studies  # noqa: F401

"""Imports all classes of the model file: some tests loop over them, and a run imports those that a file needs."""

from importlib import import_module
from pkgutil import iter_modules

from mbsim_cli import spec

for module in iter_modules(spec.__path__, "mbsim_cli.spec."):
    import_module(module.name)

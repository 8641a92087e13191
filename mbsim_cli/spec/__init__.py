"""The model file: reading, validation, expressions. ``load`` is the way in."""

from mbsim_cli.errors import Issue, ModelError
from mbsim_cli.spec.expressions import Expressions
from mbsim_cli.spec.loader import load
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.moved import with_values
from mbsim_cli.spec.number import Number
from mbsim_cli.spec.syntax import ExpressionError

__all__ = ["ExpressionError", "Expressions", "Issue", "ModelError", "ModelFile", "Number", "load", "with_values"]

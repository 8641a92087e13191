"""The model file: reading, validation, expressions. ``load`` is the way in."""

from mbsim_cli.errors import Issue, ModelError
from mbsim_cli.spec.expressions.named_numbers import Expressions
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import ExpressionError
from mbsim_cli.spec.loader import load
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.parameters import with_values

__all__ = ["ExpressionError", "Expressions", "Issue", "ModelError", "ModelFile", "Number", "load", "with_values"]

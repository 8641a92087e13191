"""``load``: from a path to a validated ``ModelFile``, or one error that holds everything that is wrong."""

import os
from collections.abc import Mapping

from pydantic import ValidationError

from mbsim_cli.errors import ModelError
from mbsim_cli.spec.include import read_source
from mbsim_cli.spec.model_file import ModelFile


def load(path: str | os.PathLike[str], overrides: Mapping[str, str] | None = None) -> ModelFile:
    """Return the model in a file, with parameters or constants replaced by ``overrides`` (texts).

    Raises ModelError with all issues, InputOutputError when the file cannot be read, UsageError for a wrong override.
    """
    source, issues = read_source(path)
    try:
        model = ModelFile.model_validate(source.root.data())
    except ValidationError as error:
        raise ModelError([*issues, *(source.issue(e["loc"], e["msg"]) for e in error.errors())]) from None
    if issues:
        raise ModelError(issues)
    model._source = source
    return model

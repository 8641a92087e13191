"""A model file with the estimates in place of what it says."""

from pathlib import Path
from typing import TYPE_CHECKING

from mbsim_cli.caller import option
from mbsim_cli.errors import InputOutputError, MbsimError, UsageError
from mbsim_cli.io.target import replaced
from mbsim_cli.spec.loader import load
from mbsim_cli.spec.reading.setting import is_key
from mbsim_cli.spec.rewriting import with_numbers

if TYPE_CHECKING:
    from mbsim_cli.study.model import Model


def check_place(model: "Model", path: Path, *, force: bool) -> None:
    """Raise UsageError or InputOutputError where a model cannot be saved at a path."""
    if keys := [name[1:] for name in model._settings.overrides if is_key(name)]:
        raise UsageError(f"a saved model has the keys of its file, not --set {keys[0]}; write that into the file")
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"a model file ends in .yaml; {path} does not")
    if path.exists() and not force:
        raise InputOutputError(f"{path} exists; {option('force')} overwrites it")
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise InputOutputError(f"cannot write {path}: it is a folder, or there is no folder that it could stand in")
    source = model._file.source
    others = len(source.texts) > 1 or source.tables or model._file.measurements or model._file.study
    if others and path.resolve().parent != model.path.resolve().parent:
        message = f"{model.path} names other files relative to its folder"
        raise UsageError(f"{message}; save the model in {model.path.resolve().parent}, not in {path.resolve().parent}")


def save_model(model: "Model", estimates: dict[str, float], path: Path, *, force: bool) -> Path:
    """Write the model's file with estimates, and values that replaced others when it was read; return the path.

    Raises UsageError, and InputOutputError.
    """
    check_place(model, path, force=force)
    file, value = model._file, model._file.expressions.value
    values = {name: float(value(number).real) for name, number in file._overrides.items()} | estimates
    text = with_numbers(file, values)
    try:
        read = load(file.source.file, texts={**file.source.texts, file.source.file: text})
        scope = read.expressions.scope()
    except MbsimError as error:
        raise UsageError(f"the estimates cannot be saved in {file.source.file}: {error}") from error
    if wrong := [name for name, number in values.items() if float(scope[name].real) != number]:
        raise UsageError(f"the estimates of {', '.join(wrong)} cannot be saved in {file.source.file}")
    with replaced(path.resolve(), force=True) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path

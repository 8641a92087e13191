"""``mbsim init``: a new model file from one of the installed templates."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

import mbsim_cli
from mbsim_cli.cli import options
from mbsim_cli.cli.output import emit, show_table, tell
from mbsim_cli.errors import InputOutputError, UsageError

TEMPLATES = {
    "pendulum": "one body on a hinge: the sections of a model file, explained line by line",
    "fivebar": "a closed loop of five bars with two springs: gradients, a study, an optimisation, checks",
    "fourbar": "a crank at constant speed that drives a rocker; the torque of its motor",
    "arm": "a robot arm by a Denavit-Hartenberg table: torques along a motion",
    "quarter_car": "a sprung mass on a tyre that rolls over a step of the road",
    "buggy": "a vehicle of 18 bodies with double wishbones, steering and four tyres",
    "crank": "a slider-crank whose crank is a meshed, flexible body",
    "study": "a parameter study and an optimisation of a mass on a spring",
    "fit": "parameters of a pendulum estimated from readings of its angle",
}
_NEXT = {"study": "mbsim sweep {file} grid -o grid", "fit": "mbsim fit {file}"}  # next command; others: run
BESIDE = {"fit": "fit.csv"}  # files that a template reads, by its name
EXISTS = "{} exists; --force overwrites it, or name another file"


def names(incomplete: str = "") -> list[str]:
    """The names of the templates, for completion in shells."""
    return [name for name in TEMPLATES if name.startswith(incomplete)]


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Template.", show_default=False, autocompletion=names)
    ] = None,
    file: Annotated[Path | None, options.file("[FILE]", "Write here, not to NAME.yaml.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the templates, as without NAME.")] = False,
    json: options.Json = False,
    force: options.Replace = False,
) -> None:
    """Write a commented model file to begin with.

    It is valid and runs as it stands.
    """
    if listed and name is not None:
        raise UsageError("--list shows all templates; leave out the name or --list")
    if name is None:
        if json:
            emit({"templates": TEMPLATES})
        else:
            show_table(("template", "what it shows"), TEMPLATES.items())
            tell("mbsim init NAME writes NAME.yaml here")
        return
    target = file or Path(f"{name}.yaml")
    texts = {target: template(name)}
    if target.is_dir():
        raise UsageError(f"{target} is a folder; write {target / name}.yaml")
    if not target.suffix:
        raise UsageError(f"{target} has no ending; write {target}.yaml")
    beside = [target.with_name(BESIDE[name])] if name in BESIDE else []
    texts |= {path: _installed(path.name) for path in beside}
    for path in texts if not force else ():  # all files or none
        if path.exists():
            raise InputOutputError(EXISTS.format(path))
    for path, text in texts.items():
        write_new(path, text, force)
    then = _NEXT.get(name, "mbsim run {file}").format(file=shlex.quote(str(target)))
    if json:
        emit({"template": name, "file": str(target), "beside": [str(path) for path in beside], "next": then})
    else:
        tell(f"{target}: {TEMPLATES[name]}")
        for path in beside:
            tell(f"{path}: data that {target} reads")
        tell(f"next: {then}")


def template(name: str) -> str:
    """Text of a template; raises UsageError for an unknown name."""
    if name not in TEMPLATES:
        from mbsim_cli.spec.reading.messages import suggest

        hint = suggest(name, TEMPLATES)
        raise UsageError(f"unknown template {name!r}; {hint or 'mbsim init --list shows them'}")
    lines = _installed(f"{name}.yaml").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("# yaml-language-server"))  # a path in the clone


def _installed(name: str) -> str:
    """Text of a file of a template; in a clone some of them are models of the repository."""
    package = Path(mbsim_cli.__file__).parent
    places = [package / "templates" / name, package.parent / "models" / name]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise InputOutputError(f"{places[0]} is missing; install mbsim again")
    return path.read_text(encoding="utf-8")


def write_new(target: Path, text: str, force: bool, made_of: Path | None = None, what: str = "model") -> None:
    """Write a model file whole; raises InputOutputError where one exists, unless ``force`` overwrites it.

    ``made_of`` is the model, or ``what`` else, that the text was made of, which nothing overwrites.
    """
    from mbsim_cli.io.target import MODEL, check_target, keep_apart, replaced

    if target.exists() and not force:
        raise InputOutputError(EXISTS.format(target))
    keep_apart(target, filter(None, [made_of]), f"the {what} itself")
    with replaced(check_target(target, MODEL, force=True), MODEL, force=force) as temporary:
        temporary.write_text(text, encoding="utf-8")

"""``mbsim plot``: histories, sensitivities and gradients of results, as a picture."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mbsim_cli.cli import completion, options, signals
from mbsim_cli.cli.output import emit, plain_table, say, show_table, tell
from mbsim_cli.errors import InputOutputError, UsageError

if TYPE_CHECKING:
    from mbsim_cli.io.results import Content
    from mbsim_cli.report.panels import Curve
    from mbsim_cli.study.pictures.selection import Selection


RENAMED = {"--sensitivity": "--by"}
SUFFIXES = ("png", "svg", "pdf")
Arguments = Annotated[
    list[str],
    typer.Argument(
        metavar="RESULT.h5... [NAME...]",
        help="Results (they end in .h5), then names of sensors, components (SENSOR.x), coordinates "
        "(JOINT.coordinate[.velocity|.acceleration|.torque]) and objectives; all sensors and gradients without. Of a "
        "frequency response: inputs and outputs. "
        "NAME,NAME share their axes.",
        show_default=False,
        autocompletion=completion.histories,
    ),
]
Output = Annotated[Path | None, options.output_option("OUT.png|svg|pdf", "Picture.", "RESULT.png here")]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="PARAM[,PARAM...]",
        help="Draw derivatives by these parameters; of torques also by coordinates and rates.",
        show_default=False,
    ),
]
Over = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Draw histories over this one, instead of time.", show_default=False),
]
Gradient = Annotated[bool, typer.Option("--gradient", help="Draw the gradients of the objectives as bars.")]
Field = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Draw a field of a result or BODY.sid.h5; OBJECTIVE.NAME: derivatives.",
        show_default=False,
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="TEXT", help="Name of a result; repeat for each.", show_default="its file"),
]
List = Annotated[bool, typer.Option("--list", help="List what can be drawn.")]


def command(
    arguments: Arguments,
    output: Output = None,
    over: Over = None,
    by: By = None,
    gradient: Gradient = False,
    field: Field = None,
    label: Labels = None,
    list_: List = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: options.Force = False,
) -> None:
    """Draw histories and gradients of results, or a study.

    Several results are laid over each other. Of a study (study.h5) objectives are drawn over the varied parameters.
    """
    from mbsim_cli.io.results import Content
    from mbsim_cli.io.study_file import is_study
    from mbsim_cli.study.pictures.selection import Chooser, labels_of, response_curves, sort_arguments

    parameters = _parameters(by)
    drawn = {"--over": over, "--by": by, "--gradient": gradient, "--label": label}
    if field is not None:
        _refuse("--field", "draws one picture of a mesh", drawn | {"--list": list_})
        _field(arguments, field, output, json, quiet, force)
        return
    results, names = sort_arguments(arguments)
    options.once(names)
    if list_:
        _refuse("--list", "draws nothing", drawn | {"--output": output, "--force": force, "NAME": names})
    try:
        contents = [Content(path) for path in results]
    except InputOutputError:
        if len(results) != 1 or not is_study(results[0]):
            raise
        _refuse("a study", "is drawn as objectives over parameters", drawn | {"--over": None, "--list": list_})
        _study(results[0], names, over, output, json, quiet, force)
        return
    if list_:
        _list(contents, json)
        return
    picture = output or Path(results[0].stem + ".png")
    if not (parameters or gradient or over) and (
        lines := response_curves(contents, names, labels_of(results, label or []))
    ):
        _bode(lines, results, picture, contents[0].title, json, quiet, force)
        return
    chosen = Chooser(contents).choose(names, parameters, gradient, over)
    report = _draw(contents, chosen, labels_of(results, label or []), picture, force, bool(label))
    if json:
        emit(report)
        return
    for sentence in report["left_out"]:
        say(sentence, quiet)
    tell(f"{report['output']}: {', '.join([*report['histories'], *report['gradients']])}", quiet)


def _parameters(stated: str | None) -> list[str]:
    """Names of the option ``--by``."""
    names = [] if stated is None else [name.strip() for name in stated.split(",")]
    if not all(names):
        raise UsageError(f"--by wants PARAM or PARAM,PARAM, not '{stated}'")
    return options.once(names)


def _refuse(option: str, does: str, others: dict[str, Any]) -> None:
    """Raise UsageError for what another option has no use for."""
    if given := options.given(others):
        raise UsageError(f"{option} {does}, and has no use for {given}; leave one out")


def _kind_and_target(picture: Path, force: bool) -> tuple[str, Path]:
    """Kind of a picture and the checked place to write it; raises where the libraries that draw are missing."""
    from mbsim_cli.io.target import PICTURE, check_target
    from mbsim_cli.report import require_matplotlib

    require_matplotlib()
    return options.picture_kind(picture, SUFFIXES), check_target(picture, PICTURE, force=force)


def _draw(
    contents: list[Any], chosen: "Selection", labels: list[str], output: Path, force: bool, labelled: bool
) -> dict[str, Any]:
    """Draw the picture; return what ``--json`` prints.

    Above it stands the label of one result if it is ``labelled``, else the name of the model if all have the same.
    """
    from mbsim_cli.io.target import PICTURE, replaced

    kind, target = _kind_and_target(output, force)
    from mbsim_cli.report.sheet import save_sheet

    with signals.shield(), replaced(target, PICTURE, force=force) as temporary:
        name = contents[0].title if len({content.title for content in contents}) == 1 else ""
        title = labels[0] if labelled and len(labels) == 1 else name
        save_sheet(chosen.panels, chosen.bars, labels, temporary, kind, title)
    return {
        "output": str(output),
        "results": [{"file": str(c.path), "label": label} for c, label in zip(contents, labels, strict=True)],
        "histories": [panel.title for panel in chosen.panels],
        "gradients": [bars.objective for bars in chosen.bars],
        "left_out": chosen.left_out,
    }


def _bode(
    lines: list["Curve"], results: list[Path], picture: Path, title: str, json: bool, quiet: bool, force: bool
) -> None:
    """Draw gains and phases over the frequency."""
    from mbsim_cli.io.target import PICTURE, replaced

    kind, target = _kind_and_target(picture, force)
    from mbsim_cli.report.sheet import save_bode

    with signals.shield(), replaced(target, PICTURE, force=force) as temporary:
        save_bode(lines, temporary, kind, title)
    drawn = [line.label for line in lines]
    if json:
        emit({"output": str(picture), "results": [str(path) for path in results], "responses": drawn})
    else:
        tell(f"{picture}: {', '.join(drawn)}", quiet)


def _study(
    path: Path, names: list[str], over: str | None, output: Path | None, json: bool, quiet: bool, force: bool
) -> None:
    """Draw objectives of a collected study over its parameters."""
    from mbsim_cli.io.study_file import read_study
    from mbsim_cli.io.target import PICTURE, replaced
    from mbsim_cli.study.pictures.selection import study_panels

    picture = output or Path(path.stem + ".png")
    kind, target = _kind_and_target(picture, force)
    study = read_study(path)
    rows, left_out = study_panels(study, names, over)

    from mbsim_cli.report.sheet import save_study

    with signals.shield(), replaced(target, PICTURE, force=force) as temporary:
        save_study(rows, temporary, kind, study.name or path.stem, joined=len(study.varied) == 1)
    drawn = {"objectives": [row[0].title for row in rows], "over": [panel.across_label[0] for panel in rows[0]]}
    if json:
        emit({"output": str(picture), "study": str(path)} | drawn | {"left_out": left_out})
        return
    for sentence in left_out:
        say(sentence, quiet)
    tell(
        f"{picture}: {', '.join(drawn['objectives'])} over {', '.join(drawn['over'])}, {len(study.design)} cases", quiet
    )


def _field(arguments: list[str], name: str, output: Path | None, json: bool, quiet: bool, force: bool) -> None:
    """Draw the numbers of a body's elements."""
    from mbsim_cli.io.target import PICTURE, replaced
    from mbsim_cli.study.pictures.motion import field_of

    if len(arguments) != 1:
        raise UsageError("--field draws on the mesh of one body: name its .sid.h5 file, or one result")
    path = Path(arguments[0])
    picture = output or Path(path.name.removesuffix(".h5").removesuffix(".sid") + f"-{name}.png")
    kind, target = _kind_and_target(picture, force)
    found = field_of(path, name)

    from mbsim_cli.report.sheet import save_cells

    with signals.shield(), replaced(target, PICTURE, force=force) as temporary:
        save_cells(found.points, found.faces, found.owner, found.values, name, temporary, kind)
    least, most = float(found.values.min()), float(found.values.max())
    report = {"output": str(picture), "body": str(path), "field": name, "least": least, "largest": most}
    if json:
        emit(report)
    else:
        tell(f"{picture}: {name} of {len(found.values)} elements, {least:.4g} to {most:.4g}", quiet)


def _list(contents: list[Any], json: bool) -> None:
    listed = {str(content.path): catalogue(content) for content in contents}
    if json:
        emit({"results": listed})
    else:
        print_catalogue(listed)


# The histories and gradients of a result that can be drawn: ``mbsim plot --list``.


def catalogue(content: "Content") -> dict[str, Any]:
    """Histories with kind, unit and components; objectives with gradients; parameters of sensitivities.

    Torques of inverse dynamics have some by coordinates and their rates as well.
    """
    return {
        "histories": {
            name: {
                "kind": entry.kind,
                "unit": entry.unit,
                "components": list(entry.components) if entry.column is None else [],
                "sensitivity": bool(entry.sensitivity),
            }
            for name, entry in content.entries.items()
        },
        "gradients": list(content.gradients),
        "parameters": list(content.parameters),
        "coordinates": list(content.by_coordinates),
    }


def print_catalogue(results: Mapping[str, dict[str, Any]]) -> None:
    """Print catalogues for people."""
    for path, found in results.items():
        torques = "; sensitivities of torques by coordinates and their rates too" * bool(found["coordinates"])
        tell(f"{path}: gradients {_words(found['gradients'])}; parameters {_words(found['parameters'])}{torques}")
        rows = [
            (
                name,
                entry["kind"],
                entry["unit"],
                " ".join(entry["components"] if len(entry["components"]) > 1 else ()),
                "yes" if entry["sensitivity"] else "",
            )
            for name, entry in found["histories"].items()
        ]
        show_table(plain_table(("name", "kind", "unit", "components", "sensitivity"), rows))


def _words(names: list[str]) -> str:
    return ", ".join(names) or "none"

"""``mbsim plot``: histories, sensitivities and gradients of results, as a picture."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mbsim_cli.cli import completion, options, signals
from mbsim_cli.cli.output import print_report, print_written, show_table, tell
from mbsim_cli.errors import InputOutputError, UsageError, counted

if TYPE_CHECKING:
    from mbsim_cli.io.results import ResultFile
    from mbsim_cli.report.panels import Curve
    from mbsim_cli.study.pictures.selection import Selection


RENAMED = {"--sensitivity": "--by"}
Field = Annotated[
    str | None, options.value("NAME", "Draw a field of a result or BODY.sid.h5; OBJECTIVE.NAME: derivatives.", False)
]


def command(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="RESULT.h5... [NAME...]",
            help="Results (they end in .h5), then names of sensors, components (SENSOR.x), coordinates "
            "(JOINT.coordinate[.velocity|.acceleration|.torque]) and objectives; default: all sensors and gradients. "
            "Of a frequency response: inputs and outputs. NAME,NAME share their axes.",
            show_default=False,
            autocompletion=completion.histories,
        ),
    ],
    output: Annotated[Path | None, options.output("OUT.png|svg|pdf", "Picture.", "RESULT.png here")] = None,
    over: Annotated[str | None, options.value("NAME", "Draw histories over this one, instead of time.", False)] = None,
    by: Annotated[
        str | None,
        options.value(
            "PARAM[,PARAM...]", "Draw derivatives by these parameters; of torques also by coordinates and rates.", False
        ),
    ] = None,
    gradient: Annotated[bool, typer.Option("--gradient", help="Draw the gradients of the objectives as bars.")] = False,
    field: Field = None,
    label: Annotated[list[str] | None, options.value("TEXT", "Name of a result; repeat for each.", "its file")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List what can be drawn.")] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: options.Force = False,
) -> None:
    """Draw histories and gradients of results, or a study.

    Several results are laid over each other. Of a study (study.h5) objectives are drawn over the varied parameters.
    """
    from mbsim_cli.io.results import ResultFile
    from mbsim_cli.io.study_file import is_study
    from mbsim_cli.study.pictures.selection import Chooser, labels_of, response_curves, sort_arguments

    parameters = [] if by is None else [name.strip() for name in by.split(",")]
    if not all(parameters):
        raise UsageError(f"--by must be PARAM or PARAM,PARAM, not '{by}'")
    options.once(parameters)
    stated = {"--over": over, "--by": by, "--gradient": gradient, "--label": label}
    if field is not None:
        _refuse("--field", "draws one picture of a mesh", stated | {"--list": list_})
        if len(arguments) != 1:
            raise UsageError("--field draws on the mesh of one body: name its .sid.h5 file, or one result")
        body = Path(arguments[0])
        default = Path(body.name.removesuffix(".h5").removesuffix(".sid") + f"-{field}.png")
        return _write(output or default, lambda: _field(body, field), json, quiet, force)
    results, names = sort_arguments(arguments)
    options.once(names)
    picture = output or Path(results[0].stem + ".png")
    if list_:
        _refuse("--list", "draws nothing", stated | {"--output": output, "--force": force, "NAME": names})
    try:
        contents = [ResultFile(path) for path in results]
    except InputOutputError:
        if len(results) != 1 or not is_study(results[0]):
            raise
        _refuse("a study", "is drawn as objectives over parameters", stated | {"--over": None, "--list": list_})
        return _write(picture, lambda: _study(results[0], names, over), json, quiet, force)
    if list_:
        catalogue = {str(content.path): _catalogue(content) for content in contents}
        return print_report({"results": catalogue}, json, _print_catalogue)
    labels = labels_of(results, label or [])
    if not (parameters or gradient or over) and (curves := response_curves(contents, names, labels)):
        return _write(picture, lambda: _responses(contents, curves), json, quiet, force)

    def histories() -> _Picture:
        chosen = Chooser(contents).choose(names, parameters, gradient, over)
        name = contents[0].title if len({content.title for content in contents}) == 1 else ""
        return _histories(contents, labels, chosen, labels[0] if label and len(labels) == 1 else name)

    _write(picture, histories, json, quiet, force)


def _refuse(option: str, does: str, others: dict[str, Any]) -> None:
    """Raise UsageError for options that another option excludes."""
    if given := options.given(others):
        raise UsageError(f"{option} {does}, and has no use for {given}; leave one out")


# a function that writes a file of a kind; the report that ``--json`` prints; the sentence that is printed without it
_Picture = tuple[Callable[[Path, str], None], dict[str, Any], str]


def _write(output: Path, draw: Callable[[], _Picture], json: bool, quiet: bool, force: bool) -> None:
    """Write a picture and report it; the target and the libraries are checked before ``draw`` is called."""
    from mbsim_cli.io.target import PICTURE, check_target, replaced
    from mbsim_cli.report import picture_kind, require_matplotlib

    kind, target = picture_kind(output), check_target(output, PICTURE, force=force)
    require_matplotlib()
    save, report, summary = draw()
    with signals.shield(), replaced(target, PICTURE, force=force) as temporary:
        save(temporary, kind)
    print_written({"output": str(output)} | report, json, f"{output}: {summary}", quiet, report.get("left_out", ()))


def _histories(contents: "list[ResultFile]", labels: list[str], chosen: "Selection", title: str) -> _Picture:
    """Histories and gradients of results."""
    from mbsim_cli.report.sheet import save_sheet

    histories, gradients = [panel.title for panel in chosen.panels], [bars.objective for bars in chosen.bars]
    results = [{"file": str(c.path), "label": label} for c, label in zip(contents, labels, strict=True)]
    return (
        lambda path, kind: save_sheet(chosen.panels, chosen.bars, labels, path, kind, title),
        {"results": results, "histories": histories, "gradients": gradients, "left_out": chosen.left_out},
        ", ".join(histories + gradients),
    )


def _responses(contents: "list[ResultFile]", curves: "list[Curve]") -> _Picture:
    """Gains and phases over the frequency."""
    from mbsim_cli.report.sheet import save_bode

    labels = [curve.label for curve in curves]
    return (
        lambda path, kind: save_bode(curves, path, kind, contents[0].title),
        {"results": [str(content.path) for content in contents], "responses": labels},
        ", ".join(labels),
    )


def _study(path: Path, names: list[str], over: str | None) -> _Picture:
    """Objectives of a collected study over its parameters."""
    from mbsim_cli.io.study_file import read_study
    from mbsim_cli.report.sheet import save_study
    from mbsim_cli.study.pictures.selection import study_panels

    study = read_study(path)
    rows, left_out = study_panels(study, names, over)
    title, joined = study.name or path.stem, len(study.varied) == 1
    drawn = {"objectives": [row[0].title for row in rows], "over": [panel.across_label[0] for panel in rows[0]]}
    return (
        lambda file, kind: save_study(rows, file, kind, title, joined),
        {"study": str(path), **drawn, "left_out": left_out},
        f"{', '.join(drawn['objectives'])} over {', '.join(drawn['over'])}, {counted(len(study.design), 'case')}",
    )


def _field(path: Path, name: str) -> _Picture:
    """A field, or derivatives by it, as colours of a body's elements."""
    from mbsim_cli.report.sheet import save_cells
    from mbsim_cli.study.pictures.motion import field_of

    found = field_of(path, name)
    least, largest = float(found.values.min()), float(found.values.max())
    return (
        lambda file, kind: save_cells(found, name, file, kind),
        {"body": str(path), "field": name, "least": least, "largest": largest},
        f"{name} of {len(found.values)} elements, {least:.4g} to {largest:.4g}",
    )


def _catalogue(content: "ResultFile") -> dict[str, Any]:
    """Histories with kind, unit, components; objectives with gradients; parameters, coordinates of sensitivities."""
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


def _print_catalogue(report: dict[str, Any]) -> None:
    for path, found in report["results"].items():
        torques = "; sensitivities of torques by coordinates and their rates too" * bool(found["coordinates"])
        gradients, parameters = (", ".join(found[key]) or "none" for key in ("gradients", "parameters"))
        tell(f"{path}: gradients {gradients}; parameters {parameters}{torques}")
        rows = []
        for name, entry in found["histories"].items():
            components = " ".join(entry["components"]) if len(entry["components"]) > 1 else ""
            rows.append((name, entry["kind"], entry["unit"], components, "yes" * entry["sensitivity"]))
        show_table(("name", "kind", "unit", "components", "sensitivity"), rows)

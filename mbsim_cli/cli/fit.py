"""``mbsim fit``: parameters from measurements, by least squares with exact derivatives."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mbsim_cli.cli import options
from mbsim_cli.cli.output import Terminal, digits, print_report, print_warnings, show_table, tell
from mbsim_cli.errors import MbsimError, counted, leaving

if TYPE_CHECKING:
    from mbsim_cli.study.model import Model

Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Fit of the file.", show_default="the only one")]
Save = Annotated[Path | None, options.value("OUT.yaml", "Write the model file with the estimates.", False)]
Picture = Annotated[Path | None, options.value("OUT.png|svg|pdf", "Draw readings, model and residuals.", False)]
Output = Annotated[Path | None, options.output("OUT.json", "Write findings and readings, for mbsim report.", False)]


@options.replacing(*options.ANALYSIS[:-1], "threads")
def command(
    model: options.ModelPath,
    name: Name = None,
    output: Output = None,
    save_model: Save = None,
    picture: Picture = None,
    evaluations: Annotated[int | None, options.value("N", "Evaluations at most.", min=1)] = None,
    settings: "options.Settings" = options.STATED,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: options.Force = False,
) -> None:
    """Estimate parameters from measurements.

    A fit of the model file states the parameters and the measurements.
    """
    from mbsim_cli.study.fitting.fit import fit, stated
    from mbsim_cli.study.model import Model
    from mbsim_cli.study.plan import Timing

    timing, listener = Timing(), Terminal(quiet)
    with timing.phase("load", options.begun()):
        read = Model.with_settings(model, settings, listener)
        name, _ = stated(read.file, name)
        _check(read, name, output, save_model, picture, force)
    log = Path(f"{model.stem}-{name}.evaluations")
    found = fit(read, name, evaluations=evaluations, listener=listener, timing=timing, log=log, force=force)
    report = found.report
    try:
        if output is not None:
            report["output"] = str(found.save(output, force=force))
        if picture is not None:
            report["picture"] = str(found.save_picture(picture, force=force))
        if save_model is not None:
            report["saved_model"] = str(found.save_model(save_model, force=force))
    except MbsimError as error:  # the search is over: its findings are shown all the same
        leaving(error, fit=report["fit"])
        if not json:
            _print(report, quiet)
        raise
    print_report(report, json, _print, quiet)


def _check(model: "Model", name: str, output: Path | None, save: Path | None, image: Path | None, force: bool) -> None:
    """Raise before the search where its results could not be written."""
    from mbsim_cli.io.study_file import FIT_FILE
    from mbsim_cli.io.target import PICTURE, check_target
    from mbsim_cli.report import picture_kind, require_matplotlib
    from mbsim_cli.study.fitting.findings import text_to_save
    from mbsim_cli.study.optimizing.design import variables_of
    from mbsim_cli.study.recording import guard_of

    guard = guard_of(model.file, force)
    if output is not None:
        check_target(output, FIT_FILE, **guard)
    if save is not None:
        variables = variables_of(model.file, model.file.fit[name].parameters)
        text_to_save(model, variables.parts(variables.start)[0], save, force=force)
    if image is not None:
        picture_kind(image)
        require_matplotlib()
        check_target(image, PICTURE, **guard)


def _print(report: dict[str, Any], quiet: bool) -> None:
    from mbsim_cli.study.fitting.findings import correlated

    print_warnings(report["warnings"])
    found = report["fit"]
    titles = ("parameter", "start", "estimate", "standard error", "range", "unit", "held by")
    rows = [
        (
            name,
            digits(p["start"]),
            digits(p["value"]),
            "" if p["held_by"] else f"{p['standard_error']:.2g}".replace("nan", "not determined"),
            f"{p['bounds'][0]:g} to {p['bounds'][1]:g}" * any(map(isfinite, p["bounds"])),
            p["unit"],
            p["held_by"],
        )
        for name, p in found["parameters"].items()
    ]
    show_table(titles, rows)
    heads = ("column", "sensor", "readings", "sigma", "rms of residuals", "mean", "largest", "at [s]", "unit")
    columns = [(f"{m}.{c}", s) for m, of in found["measurements"].items() for c, s in of.items()]
    columns += [(f"{m}.{c} (held out)", s) for m, of in found["hold_out"].items() for c, s in of.items()]
    rows = []
    for name, s in columns:
        sigma = f"{s['sigma']:.3g}" + (" (estimated)" if s["sigma_estimated"] else "")
        readings = f"{s['readings']}" + (f", {s['left_out']} left out" if s["left_out"] else "")
        numbers = (digits(s[key], 3) for key in ("rms", "mean", "largest", "largest_at"))
        rows.append((name, s["sensor"], readings, sigma, *numbers, s["unit"]))
    show_table(heads, rows)
    for first, second, number in correlated(found):
        tell(f"estimates of {first} and {second} are correlated by {number:.4f}")
    timing = report["timing"]
    spent = f"load {timing['load']:.2f} s, solve {timing['solve']:.2f} s"
    ended = f"converged by {found['ended']}" if found["converged"] else "not converged"
    freedom = f"chi-square {found['chi_square']:.5g} of {found['degrees_of_freedom']} degrees of freedom"
    tell(f"{found['name']}: {ended}, {counted(found['evaluations'], 'evaluation')}, {freedom} ({spent})", quiet)
    for key in ("output", "saved_model", "picture"):
        if key in report:
            tell(f"{report[key]}: written", quiet)

"""``mbsim optimize``: better values of parameters, by exact gradients."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mbsim_cli.cli import completion, options
from mbsim_cli.cli.output import Terminal, digits, print_report, print_warnings, show_table, tell
from mbsim_cli.errors import counted


@options.replacing(*options.ANALYSIS, "threads")
def command(
    model: options.ModelPath,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Optimization of the file.",
            show_default="the only one",
            autocompletion=completion.optimizations,
        ),
    ] = None,
    output: Annotated[Path | None, options.output("OUT.h5", "Result of the best design.", "MODEL-NAME.h5")] = None,
    save_model: Annotated[
        Path | None,
        typer.Option(
            "--save-model", metavar="MODEL.yaml", help="Write the model with the optimum in place.", readable=False
        ),
    ] = None,
    algorithm: Annotated[
        Literal["auto", "slsqp", "trust-constr", "ipopt", "mma"] | None, options.value(None, "Algorithm of the search.")
    ] = None,
    evaluations: Annotated[int | None, options.value("N", "Analyses at most.", min=1)] = None,
    sensitivity: Annotated[
        Literal["ddm", "adjoint", "auto"] | None,
        options.value(None, "Method of the gradients.", "as in the file, or auto"),
    ] = None,
    settings: "options.Settings" = options.STATED,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: options.Force = False,
) -> None:
    """Search for better parameters by exact gradients.

    An optimization of the model file states the objective, its variables and its limits.
    """
    from mbsim_cli.study.optimizing.optimize import Request, optimize

    request, stated = Request(name, output, evaluations, algorithm, save_model, force), options.command_line()
    report = optimize(model, request, replace(settings, method=sensitivity), Terminal(quiet), stated, options.begun())
    print_report(report, json, _print, quiet)


def _print(report: dict[str, Any], quiet: bool) -> None:
    print_warnings(report["warnings"])
    found = report["optimization"]
    titles = ("variable", "start", "optimum", "range", "unit", "held by")
    rows = []
    for name, v in found["variables"].items():
        low, high = v["bounds"]
        # in brackets the end that a variable is at though its derivative leads away
        held = v["held_by"] or (f"({v['at']})" if v["at"] else "")
        rows.append((name, digits(v["start"]), digits(v["value"]), f"{low:g} to {high:g}", v["unit"], held))
    if rows:
        show_table(titles, rows)
    for name, field in found["fields"].items():
        span = f"mean {field['start']:.4g} to {field['mean']:.4g}, now {field['least']:.4g} to {field['largest']:.4g}"
        tell(f"field {name} of {field['elements']} elements: {span}")
    if found["constraints"]:
        titles = ("constraint", "limit", "start", "optimum", "unit", "change of the optimum by 1 of the limit")
        rows = []
        for c in found["constraints"]:
            effect = digits(c["sensitivity"], 4) if c["active"] else "not active"
            rows.append((c["objective"], c["limit"], digits(c["start"]), digits(c["value"]), c["unit"], effect))
        show_table(titles, rows)
    wanted = "minimized" if "minimized" in found else "maximized"
    unit = f" {found['unit']}" if found["unit"] else ""
    tell(f"{found[wanted]} {wanted}: {digits(found['start'])} to {digits(found['value'])}{unit}")
    timing = report["timing"]
    spent = f"{found['method']}, {counted(found['analyses'], 'analysis')}, optimality {found['optimality']:.1e}"
    tell(f"{report['output']}: {spent} (load {timing['load']:.2f} s, solve {timing['solve']:.2f} s)", quiet)

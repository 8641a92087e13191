"""``mbsim optimize``: better values of parameters, by exact gradients."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mbsim_cli.cli import completion, options
from mbsim_cli.cli.output import Terminal, emit, plain_table, print_warnings, show_table, tell

if TYPE_CHECKING:
    from mbsim_cli.study.assembling import Settings


class Gradients(StrEnum):
    """Exact ways to compute gradients."""

    DDM = "ddm"
    ADJOINT = "adjoint"
    AUTO = "auto"


class Algorithm(StrEnum):
    """Ways to search."""

    AUTO = "auto"
    SLSQP = "slsqp"
    TRUST_CONSTR = "trust-constr"
    IPOPT = "ipopt"
    MMA = "mma"


Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="Optimization of the file.",
        show_default="the only one",
        autocompletion=completion.optimizations,
    ),
]
Output = Annotated[Path | None, options.output_option("OUT.h5", "Result of the best.", "MODEL-NAME.h5")]
Save = Annotated[
    Path | None,
    typer.Option(
        "--save-model", metavar="MODEL.yaml", help="Write the model with the optimum in place.", readable=False
    ),
]
Search = Annotated[Algorithm | None, typer.Option(help="How to search.", show_default="as in the file")]
Evaluations = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Analyses at most.", show_default="as in the file")
]
Sensitivity = Annotated[
    Gradients | None, typer.Option(help="Method of the gradients.", show_default="as in the file, or auto")
]


@options.replacing(*options.ANALYSIS)
def command(
    model: options.ModelPath,
    name: Name = None,
    output: Output = None,
    save_model: Save = None,
    algorithm: Search = None,
    evaluations: Evaluations = None,
    sensitivity: Sensitivity = None,
    settings: "Settings" = options.STATED,
    threads: options.Threads = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: options.Force = False,
) -> None:
    """Search for better parameters by exact gradients.

    An optimization of the model file states the objective, its variables and its limits.
    """
    begun = perf_counter()
    options.limit_threads(threads)

    from mbsim_cli.study.optimizing.optimize import optimize

    settings = replace(settings, method=sensitivity and sensitivity.value)
    report = optimize(
        model,
        name,
        output,
        settings,
        evaluations=evaluations,
        algorithm=algorithm and algorithm.value,
        command=options.command_line(),
        listener=Terminal(quiet),
        force=force,
        begun=begun,
        save_model=save_model,
    )
    if json:
        emit(report)
    else:
        _print(report, quiet)


def _print(report: dict[str, Any], quiet: bool) -> None:
    print_warnings(report["warnings"])
    found = report["optimization"]
    titles = ("variable", "start", "optimum", "range", "unit", "held by")
    rows = [
        (name, _number(v["start"]), _number(v["value"]), _span(v["bounds"]), v["unit"], _held(v))
        for name, v in found["variables"].items()
    ]
    if rows:
        show_table(plain_table(titles, rows))
    for name, field in found["fields"].items():
        span = f"mean {field['start']:.4g} to {field['mean']:.4g}, now {field['least']:.4g} to {field['largest']:.4g}"
        tell(f"field {name} of {field['elements']} elements: {span}")
    if found["constraints"]:
        titles = ("constraint", "limit", "start", "optimum", "unit", "change of the optimum by 1 of the limit")
        rows = [
            (c["objective"], c["limit"], _number(c["start"]), _number(c["value"]), c["unit"], _effect(c))
            for c in found["constraints"]
        ]
        show_table(plain_table(titles, rows))
    wanted = "minimized" if "minimized" in found else "maximized"
    unit = f" {found['unit']}" if found["unit"] else ""
    tell(f"{found[wanted]} {wanted}: {_number(found['start'])} to {_number(found['value'])}{unit}")
    timing = report["timing"]
    spent = f"{found['method']}, {found['analyses']} analyses, optimality {found['optimality']:.1e}"
    tell(f"{report['output']}: {spent} (load {timing['load']:.2f} s, solve {timing['solve']:.2f} s)", quiet)


def _held(variable: dict[str, Any]) -> str:
    """The end of its range that holds a variable, in brackets one that it is at though its derivative leads away."""
    return variable["held_by"] or (f"({variable['at']})" if variable["at"] else "")


def _number(value: float) -> str:
    return f"{value:.8g}"


def _span(bounds: list[float]) -> str:
    return f"{bounds[0]:g} to {bounds[1]:g}"


def _effect(constraint: dict[str, Any]) -> str:
    return f"{constraint['sensitivity']:.4g}" if constraint["active"] else "not active"

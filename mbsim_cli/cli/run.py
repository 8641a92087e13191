"""``mbsim run``: runs the analysis of a model file, and prints tables of its result."""

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

from mbsim_cli.cli import options
from mbsim_cli.cli.output import (
    Terminal,
    digits,
    print_modes,
    print_objectives,
    print_report,
    print_warnings,
    show_rows,
    show_table,
    tell,
)
from mbsim_cli.errors import UsageError, counted
from mbsim_cli.model.codes import INTEGRATORS


def print_influence(report: Mapping[str, Any], top: int) -> None:
    """Print how 1 % of each of the ``top`` most influential numbers, or of a zero's scale, changes the objectives."""
    objectives, entries = report["objectives"], report["influence"]
    titles = [f"{name} [{o['unit']}]" if o["unit"] else name for name, o in objectives.items()]
    rows = [("value", "", *(digits(o["value"]) for o in objectives.values()))]
    for entry in entries[:top]:
        effects = (f"{effect:+z.3g}" if isfinite(effect) else "NaN" for effect in entry["effects"].values())
        value, scale = (f"{digits(entry[key], 6)} {entry['unit']}".strip() for key in ("value", "scale"))
        rows.append((entry["number"], value if entry["value"] else f"{value}, of {scale}", *effects))
    has_zeros = any(not entry["value"] for entry in entries[:top])
    of_zeros = " (of one that is zero, 1 % of the size beside it)" * has_zeros
    shown = f"{min(top, len(entries))} of {len(entries)} numbers"
    tell(f"effects of a change of each number by 1 %{of_zeros}; {shown}, largest effects first:")
    show_table(("number", "its value", *titles), rows)
    undefined = {name: why for o in objectives.values() for name, why in o["undefined"].items()}
    if undefined:
        name, why = next(iter(undefined.items()))
        others = f" and {len(undefined) - 1} more (--json lists them)" if len(undefined) > 1 else ""
        tell(f"no derivative by {name}{others}: {why}")


AROUND = {"equilibrium": "the equilibrium", "start": "the start"}

Top = Annotated[int | None, options.value("N", "Numbers that the table of --all-numbers shows.", "20", min=1)]


@options.replacing(*options.ANALYSIS, "threads")
def command(
    model: options.ModelPath,
    output: Annotated[Path | None, options.output("OUT.h5", "Result file.", "MODEL.h5 here")] = None,
    sensitivity: Annotated[options.Method | None, options.value(None, "How to compute gradients.")] = None,
    all_numbers: options.AllNumbers = False,
    top: Top = None,
    settings: "options.Settings" = options.STATED,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: options.Force = False,
) -> None:
    """Run the analysis of a model file and write the result."""
    if top is not None and (json or not all_numbers):
        raise UsageError("--top is for the table of --all-numbers, which --json gives as a whole; leave it out")

    from mbsim_cli.study.recording import record

    report = record(
        model,
        output or Path(model.stem + ".h5"),
        replace(settings, method=sensitivity, all_numbers=all_numbers),
        command=options.command_line(),
        listener=Terminal(quiet),
        force=force,
        begun=options.begun(),
    )
    print_report(report, json, _print, quiet, top or 20)


def _print(report: dict[str, Any], quiet: bool, top: int) -> None:
    from mbsim_cli.study.diagnostics import discretisation

    print_warnings(report["warnings"])
    if "influence" in report:
        print_influence(report, top)
    if "modes" in report:
        print_modes(report["modes"], report["diagnostics"]["neutral"])
    if "frequency_response" in report:
        _print_response(report["frequency_response"])
    if report["objectives"] and "influence" not in report:
        print_objectives(report["objectives"], report["parameters"])
    elif report.get("extremes") and report["formulation"] != "linear":
        _print_extremes(report["extremes"])
    if estimates := discretisation.line(report):
        tell(estimates, quiet)
    spent = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in report["timing"].items())
    tell(f"{report['output']}: {_method(report)} ({spent})", quiet)


def _print_response(found: dict[str, Any]) -> None:
    """Print for each output and input the gain at the first frequency, and the largest gain with its frequency."""
    from mbsim_cli.model.units import quotient

    frequencies, rows = found["frequencies"], []
    first = f"gain at {frequencies[0]:g} Hz"
    for output, unit in found["outputs"].items():
        for given, of_input in found["inputs"].items():
            gains = found["gain"][output][given]
            known = [k for k, gain in enumerate(gains) if gain == gain]
            at = max(known, key=gains.__getitem__, default=0)
            numbers = gains[0], gains[at], frequencies[at], found["phase"][output][given][at]
            rows.append((output, given, quotient(unit, of_input), *map(digits, numbers)))
    show_rows(("output", "input", "unit", first, "largest gain", "at [Hz]", "phase [rad]"), rows)


def _print_extremes(extremes: dict[str, dict[str, Any]]) -> None:
    """Print minima and maxima of sensors, without components that are zero in the whole run."""
    rows = []
    for name, e in extremes.items():
        if e["least"] or e["largest"]:
            numbers = (digits(e[key]) for key in ("least", "least_at", "largest", "largest_at"))
            rows.append((f"{name} [{e['unit']}]" if e["unit"] not in ("", "1") else name, *numbers))
    show_rows(("sensor", "least", "at [s]", "largest", "at [s]"), rows)


def _method(report: dict[str, Any]) -> str:
    """Method of the analysis in words: formulation, integrator and number of steps."""
    if report["formulation"] == "statics":
        return f"{report['diagnostics']['stability']} equilibrium, {report['diagnostics']['iterations']} iterations"
    if report["formulation"] == "linear":
        found = counted(len(report["modes"]), "mode") if "modes" in report else "frequency response"
        return f"{found} about {AROUND[report['diagnostics']['about']]}"
    if report["formulation"] == "driven":
        return f"kinematics, {report['steps'] + 1} samples"
    integrator = report["integrator"]
    name = f"{report['formulation']} by {integrator}" if integrator else report["formulation"]
    if integrator and INTEGRATORS[integrator].adaptive:
        work = report["diagnostics"]["work"]
        return f"{name}, {work['steps']} steps and {work['rejected']} rejected"
    return f"{name}, {report['steps']} steps of {report['step']:g} s"

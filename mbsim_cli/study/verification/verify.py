"""What ``mbsim check`` does with one file: the file's own references, and an independent numerical derivative."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mbsim_cli.study.analyses import ANALYSES
from mbsim_cli.study.assembling import build, load
from mbsim_cli.study.automatic_step import settled
from mbsim_cli.study.listener import Asking, Listener
from mbsim_cli.study.plan import Plan
from mbsim_cli.study.run import run
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.timing import Timing
from mbsim_cli.study.verification.agreement import agreements, stepped_objectives
from mbsim_cli.study.verification.analysed import Analysed
from mbsim_cli.study.verification.comparison import Comparison
from mbsim_cli.study.verification.numerical import along_direction, missing_derivative
from mbsim_cli.study.verification.recorder import Recorder
from mbsim_cli.study.verification.references import references, references_by_elements, sensors_named


def verify(path: Path, settings: Settings, seed: int, listener: Listener) -> list[Comparison]:
    """Run a model with its gradients and compare everything that can be compared; warn of what a run warns of."""
    model_file = load(path, settings)
    parameters = list(model_file.parameters) if settings.all_numbers else _wanted_parameters(model_file)
    settings, halving = settled(model_file, settings, parameters, listener)
    assembled = build(model_file, settings, parameters)
    plan = Plan(model_file, settings, settings.method or "none", assembled, assembled, halving)
    plan.compile(listener)
    recorder = Recorder(sensors_named(model_file, assembled.sensor_rows))
    outcome = run(plan, Timing(), Asking(listener), recorder.add)
    for warning in outcome.warnings:
        listener.warn(warning if warning.startswith(f"{path}:") else f"{path}: {warning}")
    analysed = Analysed(path, model_file, settings, assembled, outcome.results)
    return [
        *references(analysed, recorder),
        *references_by_elements(analysed, listener),
        *agreements(analysed, listener),
        *_by_differences(analysed, parameters, seed),
        *ANALYSES[assembled.problem.options.analysis].verify(str(path), assembled, seed),
    ]


def _wanted_parameters(model_file: Any) -> list[str]:
    """Parameters of the file's analysis, and those that its checks name, in the file's order."""
    chosen = model_file.analysis.sensitivity.parameters
    named = {name for check in model_file.checks.values() for name in check.gradient}
    return [name for name in model_file.parameters if chosen == "all" or name in chosen or name in named]


def _by_differences(analysed: Analysed, parameters: list[str], seed: int) -> Iterator[Comparison]:
    """Compare gradients by ``parameters`` with differences of analyses, where nothing says more."""
    stepped = stepped_objectives(analysed.file)
    objectives = [name for name in analysed.results if name not in stepped]
    undefined = next(iter(analysed.results.values())).undefined if analysed.results else {}
    reasons = [undefined.get(analysed.file.parameter_label(name)) for name in parameters]
    for name, why in zip(parameters, reasons, strict=True):
        if why:
            yield missing_derivative(analysed, name, why)
    defined = [number for number, why in enumerate(reasons) if not why]
    if defined and objectives:
        yield from along_direction(analysed, objectives, [parameters[number] for number in defined], defined, seed)

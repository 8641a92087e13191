"""Sensitivity analysis of multibody systems, from a YAML model file.

    import mbsim_cli as mbsim

    model = mbsim.load("model.yaml")     # a Model, which runs at any values of its parameters
    result = model.run(L=1.2)            # a Result: histories by name, objectives with gradients
    value, gradient = model.value_and_gradient([1.2, 0.5])

``load`` gives a Model; ``run`` and ``open`` (of a result file) give a Result, as ``optimize`` does, of the best design;
``sweep`` and ``open_study`` give a Study of many cases, ``check`` rows of Comparison. ``Model.residuals`` is for least
squares.

All that goes wrong is an MbsimError: ModelError (``issues`` with line and column), AnalysisError, UsageError or
InputOutputError. Numbers have the units of the file, SI where it says nothing. See docs/python.md.
"""

TYPE_CHECKING = False  # ``typing`` takes its time, and every command begins here
if TYPE_CHECKING:
    from mbsim_cli.errors import AnalysisError, InputOutputError, MbsimError, ModelError, UsageError
    from mbsim_cli.study.interface import (
        Comparison,
        Forecast,
        Interrupted,
        Listener,
        Model,
        ObjectiveValue,
        Residuals,
        Result,
        Study,
        check,
        load,
        loads,
        open,
        open_study,
        optimize,
        run,
        sweep,
    )

__version__ = "0.1.0"
__all__ = [
    "AnalysisError",
    "Comparison",
    "Forecast",
    "InputOutputError",
    "Interrupted",
    "Listener",
    "MbsimError",
    "Model",
    "ModelError",
    "ObjectiveValue",
    "Residuals",
    "Result",
    "Study",
    "UsageError",
    "check",
    "load",
    "loads",
    "open",
    "open_study",
    "optimize",
    "run",
    "sweep",
]


if not TYPE_CHECKING:  # type checkers would take any name for one of these

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"mbsim_cli.{'errors' if name.endswith('Error') else 'study.interface'}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING"})

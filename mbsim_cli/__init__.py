"""Sensitivity analysis of multibody systems, from a YAML model file.

``import mbsim_cli as mbsim`` gives ``load``, ``run``, ``check``, ``optimize``, ``sweep``, ``open`` and ``open_study``,
and the errors that they raise; what they need is imported when they are first used. See docs/python.md.
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

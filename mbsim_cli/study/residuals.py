"""Differences of a model and measurements for least squares: values, and their Jacobian from the same run."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.errors import UsageError

if TYPE_CHECKING:
    from mbsim_cli.study.model import Model
    from mbsim_cli.study.result import Result

METHOD = "ddm"  # which differentiates histories


class _Found(NamedTuple):
    """Results of a run at some values."""

    rho: bytes
    values: np.ndarray  # (m,)
    jacobian: np.ndarray  # (m, p)


class Residuals:
    """Histories of a model minus measurements, as functions of ``rho`` (p,), its parameters ``differentiated``.

    ``residuals(rho)`` (m,) are those of all histories, one behind the other, without what was not measured (NaN), each
    over its scale; ``residuals.jacobian(rho)`` (m, p) their derivatives. Both come from one run, which is kept until
    other values are asked for. Raise what ``Model.run`` does.
    """

    def __init__(
        self,
        model: "Model",
        measured: Mapping[str, Any],
        times: Any,
        scales: Mapping[str, float] | None,
        options: Mapping[str, Any],
    ):
        """As ``Model.residuals``; raises UsageError."""
        if options.get("sensitivity", METHOD) != METHOD:
            raise UsageError(f"derivatives along time are those of sensitivity={METHOD!r}; leave sensitivity out")
        self.model = model
        self._measured = {name: np.array(values, dtype=float) for name, values in measured.items()}
        self._times = _times(self._measured, times)
        self._scales = _scales(self._measured, scales or {})
        self._options = {**options, "sensitivity": METHOD}
        self._last: _Found | None = None

    def __call__(self, rho: Sequence[float] | np.ndarray) -> np.ndarray:
        """Residuals (m,), over the scales."""
        return self._at(rho).values.copy()

    def jacobian(self, rho: Sequence[float] | np.ndarray) -> np.ndarray:
        """Its derivatives (m, p) by the parameters of the model."""
        return self._at(rho).jacobian.copy()

    def __repr__(self) -> str:
        return f"<mbsim residuals: {', '.join(self._measured)} by {', '.join(self.model.differentiated)}>"

    def _at(self, rho: Sequence[float] | np.ndarray) -> _Found:
        place, last = np.array(rho, dtype=float), self._last
        if last is None or last.rho != place.tobytes():
            every = 1 if self._times else None  # interpolated between steps, however many the file has stored
            result = self.model._recorded(place, self._options, every, second_run=False)
            parts = [self._of(result, name) for name in self._measured]
            values, jacobians = (np.concatenate(found) for found in zip(*parts, strict=True))
            self._last = last = _Found(place.tobytes(), values, jacobians)
        return last

    def _of(self, result: "Result", name: str) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of a history and their derivatives, where it was measured."""
        measured, scale, times = self._measured[name], self._scales[name], self._times.get(name)
        computed = result[name] if times is None else result.at(times, name)
        if computed.shape != measured.shape:
            raise UsageError(f"{name!r} has shape {computed.shape}, and its measurements have {measured.shape}")
        known = ~np.isnan(measured)
        return (computed - measured)[known] / scale, result.sensitivity(name, times=times)[known] / scale


def _times(measured: Mapping[str, np.ndarray], stated: Any) -> dict[str, np.ndarray]:
    """Times (M,) of each history, none where output times are meant; raises UsageError."""
    if stated is None:
        return {}
    found = stated if isinstance(stated, Mapping) else dict.fromkeys(measured, stated)
    if different := ", ".join(sorted(found.keys() ^ measured.keys())):
        raise UsageError(f"times want one array for all that was measured, or one by each name; see {different}")
    return {name: np.array(times, dtype=float) for name, times in found.items()}


def _scales(measured: Mapping[str, np.ndarray], stated: Mapping[str, float]) -> dict[str, float]:
    """The scale of each history; raises UsageError."""
    if not measured:
        raise UsageError("residuals want what was measured, as {'NAME': values}")
    if others := ", ".join(stated.keys() - measured.keys()):
        raise UsageError(f"there is a scale of {others}, which was not measured")
    found = {name: float(stated.get(name, 1.0)) for name in measured}
    for name, scale in found.items():
        if not 0.0 < scale < np.inf:
            raise UsageError(f"the scale of {name!r} wants to be positive and finite, not {scale!r}")
    return found

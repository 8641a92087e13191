"""The method of moving asymptotes, in its globally convergent form: Svanberg, SIAM J. Optim. 12 (2002) 555.

Costs and excesses are approximated by separable convex functions of 1/(U - u) and 1/(u - L). Each approximation is made
more cautious until it bounds what the analysis finds, or the design is better already. A step's cost grows linearly
with the number of variables.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbsim_cli.study.optimizing.design import FEASIBLE, Designs, Trial

INNER = 20  # trials of a step
PRICE = 1e3  # of an excess that a step cannot avoid, scaled
CLOSE, MOVE = 0.1, 0.5  # share of the way to an asymptote that a step keeps, and largest step
FIRST, LEAST, MOST = 0.5, 1e-3, 10.0  # distance of the asymptotes
APART, TOGETHER = 1.2, 0.7  # how it changes where a variable goes on, and where it turns back
ENOUGH = 0.01  # of the gain that an approximation promises
AT_FIRST, AT_LEAST = 10.0, 1e-3  # curvature of an approximation, relative to the mean slope
STILL = 1e-12


def search(designs: Designs) -> str:
    """Try designs; return why the search ended."""
    trial = designs.at(designs.variables.scaled(designs.variables.start))
    width = np.full(len(trial.u), FIRST)
    path = [trial.u, trial.u]
    caution = AT_FIRST * _mean_slopes(trial)
    while True:
        caution = np.maximum(0.1 * caution, AT_LEAST * _mean_slopes(trial))
        near = _Approximation.of(trial, width, caution)
        for _ in range(INNER):
            found = designs.at(near.optimum())
            gaps = _values(found) - near.values(found.u)
            if _good(trial, found, near) or (gaps <= 1e-12 + 1e-9 * np.abs(_values(found))).all():
                break
            near = near.more_cautious(gaps, found.u)
        caution = near.caution
        turns = (found.u - trial.u) * (path[-1] - path[-2]) if len(path) > 2 else np.zeros(len(width))
        width = np.clip(width * np.where(turns < 0, TOGETHER, np.where(turns > 0, APART, 1.0)), LEAST, MOST)
        if np.abs(found.u - trial.u).max() < STILL:
            return "the search found no better design"
        trial = found
        path.append(trial.u)


def _good(before: Trial, after: Trial, near: "_Approximation") -> bool:
    """Whether a step gains a good part of what its approximation promises, and no limit is passed by more."""
    promised = before.cost - near.values(after.u)[0]
    kept = after.violation <= max(before.violation, FEASIBLE)
    return kept and not after.failure and before.cost - after.cost >= ENOUGH * promised > 0


def _mean_slopes(trial: Trial) -> np.ndarray:
    return np.abs(np.vstack([trial.gradient, trial.slopes])).mean(1)


def _values(trial: Trial) -> np.ndarray:
    """Cost and excesses (1 + c)."""
    return np.append(trial.cost, trial.excess)


@dataclass
class _Approximation:
    """Functions (1 + c) about a design: constant + sum of p/(U - u) + q/(u - L), with p and q (1 + c, v)."""

    trial: Trial
    width: np.ndarray
    caution: np.ndarray
    p: np.ndarray
    q: np.ndarray
    constant: np.ndarray

    @classmethod
    def of(cls, trial: Trial, width: np.ndarray, caution: np.ndarray) -> "_Approximation":
        """The approximation that is tangent at a design; ``caution`` (1 + c) adds to its curvature."""
        slopes = np.vstack([trial.gradient, trial.slopes])
        rising, falling = np.maximum(slopes, 0.0), np.maximum(-slopes, 0.0)
        p = width**2 * (1.001 * rising + 0.001 * falling + caution[:, None])
        q = width**2 * (0.001 * rising + 1.001 * falling + caution[:, None])
        return cls(trial, width, caution, p, q, _values(trial) - ((p + q) / width).sum(1))

    def more_cautious(self, gaps: np.ndarray, u: np.ndarray) -> "_Approximation":
        """The same with so much curvature that it bounds what was found at a place."""
        ahead, behind = self._distances(u)
        bend = float((self.width**2 * (1 / ahead + 1 / behind - 2 / self.width)).sum())
        wanted = np.minimum(10 * self.caution, 1.1 * (self.caution + gaps / max(bend, 1e-300)))
        grown = np.where(gaps > 0, np.maximum(wanted, self.caution), self.caution)
        return _Approximation.of(self.trial, self.width, grown)

    def values(self, u: np.ndarray) -> np.ndarray:
        """Approximate cost and excesses (1 + c)."""
        ahead, behind = self._distances(u)
        return self.constant + (self.p / ahead + self.q / behind).sum(1)

    def _distances(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """To the upper and lower asymptote."""
        return self.trial.u + self.width - u, u - self.trial.u + self.width

    def optimum(self) -> np.ndarray:
        """The best design (v,) of the approximation, by its dual."""
        from scipy.optimize import minimize

        count = len(self.trial.excess)
        if not count:
            return self._at(np.zeros(0))

        def dual(y: np.ndarray) -> tuple[float, np.ndarray]:
            values = self.values(self._at(y))
            beyond = np.maximum(y - PRICE, 0.0)
            value = values[0] + y @ values[1:] - (beyond @ beyond) / 2
            return -value, -(values[1:] - beyond)

        options = {"ftol": 1e-16, "gtol": 1e-11, "maxiter": 500}
        found: Any = minimize(
            dual, np.ones(count), jac=True, method="L-BFGS-B", bounds=[(0, None)] * count, options=options
        )
        return self._at(found.x)

    def _at(self, y: np.ndarray) -> np.ndarray:
        """The design that the multipliers (c,) ask for."""
        weights = np.append(1.0, y)
        p, q = np.sqrt(weights @ self.p), np.sqrt(weights @ self.q)
        low, high = self.trial.u - self.width, self.trial.u + self.width
        reach = np.minimum((1 - CLOSE) * self.width, MOVE)
        free = (p * low + q * high) / (p + q)
        return np.clip(free, np.maximum(self.trial.u - reach, 0.0), np.minimum(self.trial.u + reach, 1.0))

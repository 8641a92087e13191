"""Design variables of an optimisation, the analyses of designs, and whether a design is optimal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError, ModelError, UsageError, one_line
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.study.evaluation import Gradient

ROUND_OFF = 1e-12  # of an end of a range


@dataclass(frozen=True)
class Variables:
    """Parameters by name, then the elements of fields, with their ranges (v,); ``log``: searched by their logarithm."""

    names: tuple[str, ...]  # of the parameters
    units: tuple[str, ...]
    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    log: np.ndarray
    fields: Mapping[str, slice] = field(default_factory=dict)  # elements of fields among all

    def parts(self, values: np.ndarray) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """Values of the parameters and of the fields (ne) by name."""
        parameters = dict(zip(self.names, map(float, values), strict=False))
        return parameters, {name: values[place] for name, place in self.fields.items()}

    def with_fields(self, fields: Mapping[str, tuple[np.ndarray, float, float]]) -> "Variables":
        """Append fields, each with its values (ne) and its bounds."""
        starts = [values for values, _, _ in fields.values()]
        lows = [np.full(len(values), low) for values, low, _ in fields.values()]
        highs = [np.full(len(values), high) for values, _, high in fields.values()]
        ends = np.cumsum([len(self.start), *map(len, starts)])
        places = {name: slice(a, b) for name, a, b in zip(fields, ends, ends[1:], strict=False)}
        start = np.concatenate([self.start, *starts])
        low, high = np.concatenate([self.low, *lows]), np.concatenate([self.high, *highs])
        log = np.concatenate([self.log, np.zeros(len(start) - len(self.start), bool)])
        return Variables(self.names, self.units, start, low, high, log, places)

    @property
    def _span(self) -> np.ndarray:
        """Lengths (v,) of the ranges of what is searched."""
        return self.searched(self.high) - self.searched(self.low)

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """Places in the ranges (v,), from 0 to 1, of values (v,)."""
        return np.clip((self.searched(values) - self.searched(self.low)) / self._span, 0.0, 1.0)

    def values(self, u: np.ndarray) -> np.ndarray:
        """Values (v,) at places in the ranges; never beyond their ends."""
        return self.found(self.searched(self.low) + np.clip(u, 0.0, 1.0) * self._span)

    def slopes(self, values: np.ndarray) -> np.ndarray:
        """Derivatives (v,) of the values by the places."""
        return self._span * np.where(self.log, values, 1.0)

    def searched(self, values: np.ndarray) -> np.ndarray:
        """Values (v,), or their logarithms where these are searched."""
        return np.where(self.log, np.log(np.where(self.log, values, 1.0)), values)

    def found(self, searched: np.ndarray) -> np.ndarray:
        """Values (v,) of what is searched; never beyond the ends of their ranges."""
        return np.clip(np.where(self.log, np.exp(np.where(self.log, searched, 0.0)), searched), self.low, self.high)


def variables_of(model_file: ModelFile, stated: str | Sequence[str] | Mapping[str, Any]) -> Variables:
    """The variables that an optimisation or a fit states: names, or ranges by name, or all whose bounds differ.

    Without bounds a range is infinite. Raises UsageError where the search would begin outside of a range.
    """
    parameters, number = model_file.parameters, model_file.expressions.value
    ranges = stated if isinstance(stated, Mapping) else {}
    scope = model_file.expressions.scope()

    def ends(name: str) -> tuple[float, float]:
        given = (ranges[name].from_, ranges[name].to) if name in ranges else parameters[name].bounds
        low, high = (-np.inf, np.inf) if given is None else (float(number(end).real) for end in given)
        return low, high

    if stated == "all":
        bounded = [name for name, parameter in parameters.items() if parameter.bounds is not None]
        stated = [name for name in bounded if np.ptp(ends(name)) > 0.0]
    low, high = np.array([ends(name) for name in stated]).reshape(-1, 2).T
    start = np.array([float(scope[name].real) for name in stated])
    for name, value, least, most in zip(stated, start, low, high, strict=True):
        if not least - ROUND_OFF * abs(least) <= value <= most + ROUND_OFF * abs(most):
            raise UsageError(f"the search begins with {name} = {value:g}, outside of its range {least:g} to {most:g}")
    units = tuple(parameters[name].unit for name in stated)
    log = np.array([name in ranges and ranges[name].scale == "log" for name in stated], dtype=bool)
    return Variables(tuple(stated), units, start, low, high, log)


ACTIVE = 1e-6  # distance from a limit or from the end of a range, scaled, at which it may hold a design


class Optimality(NamedTuple):
    """Residual of the conditions of Karush, Kuhn and Tucker, and multipliers of the limits (c,) and ranges (v,)."""

    residual: float
    multipliers: np.ndarray
    of_ranges: np.ndarray
    worst: int = 0  # variable of the residual


def optimality(
    u: np.ndarray, gradient: np.ndarray, excess: np.ndarray, slopes: np.ndarray, equal: np.ndarray
) -> Optimality:
    """Optimality of a design at places ``u`` (v,) in its ranges.

    ``gradient`` (v,) is that of the cost; ``excess`` (c,) over limits, at most zero, or zero where ``equal``,
    has ``slopes`` (c, v). The multipliers are those of the smallest residual in the mean; but for equalities they are
    not negative, and zero away from a limit.
    """
    from scipy.optimize import nnls

    v = len(u)
    active = np.flatnonzero(equal | (excess > -ACTIVE))
    both = np.flatnonzero(equal)
    lower, upper = np.flatnonzero(u < ACTIVE), np.flatnonzero(u > 1 - ACTIVE)
    unit = np.eye(v)
    columns = np.vstack([slopes[active], -slopes[both], -unit[lower], unit[upper]]).T
    found = nnls(columns, -gradient)[0] if columns.shape[1] else np.zeros(0)
    parts = np.split(found, np.cumsum([len(active), len(both), len(lower)]))
    multipliers, of_ranges = np.zeros(len(excess)), np.zeros(v)
    multipliers[active] = parts[0]
    multipliers[both] -= parts[1]
    of_ranges[lower] -= parts[2]
    of_ranges[upper] += parts[3]
    residual = gradient + (columns @ found if len(found) else 0.0)
    worst = int(np.abs(residual).argmax()) if v else 0
    return Optimality(float(np.abs(residual).max(initial=0.0)), multipliers, of_ranges, worst)


FEASIBLE = 1e-6  # scaled excess over a limit that counts as zero
KEPT = 4  # designs whose derivatives are kept
PROGRESS = 1e-5  # relative improvement of the best value that counts as progress; a halved residual does, too
FAILED = 10.0  # cost of a design whose analysis fails, over the largest cost so far


class Enough(Exception):
    """Raised to end the search; the text is the reason, empty at an optimum."""


class Limit(NamedTuple):
    """An objective that is kept at most (sign 1) or at least (-1) at a limit, or equal to it."""

    name: str
    value: float
    sign: float
    equal: bool = False
    linear: bool = False  # in the variables

    @property
    def words(self) -> str:
        """The limit as a model file states it."""
        return f"{'equals' if self.equal else 'at_most' if self.sign > 0 else 'at_least'} {self.value:g}"


@dataclass(frozen=True)
class Trial:
    """An evaluated design: places ``u`` and values (v,), the objective with its gradient, excesses (c,) with slopes."""

    u: np.ndarray
    values: np.ndarray
    found: Mapping[str, float]  # objectives as the model has them
    cost: float  # scaled, minimized
    gradient: np.ndarray
    excess: np.ndarray  # scaled, at most zero
    slopes: np.ndarray
    optimality: Optimality
    equal: np.ndarray
    linear: np.ndarray
    failure: str = ""

    @property
    def beyond(self) -> np.ndarray:
        """Scaled violation of each limit (c,), zero if it is met."""
        return np.where(self.equal, np.abs(self.excess), np.maximum(self.excess, 0.0))

    @property
    def violation(self) -> float:
        """Largest scaled excess over a limit."""
        return float(self.beyond.max(initial=0.0))

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Smaller is better: designs whose analysis works, then those within the limits, then those of least cost."""
        over = max(self.violation - FEASIBLE, 0.0)
        return bool(self.failure), over, self.cost


@dataclass
class Designs:
    """Evaluates designs and remembers them all; ``analyse`` gives all objectives at values of the variables."""

    variables: Variables
    objective: str
    sign: float  # 1: minimized, -1: maximized
    limits: Sequence[Limit]
    analyse: Callable[[np.ndarray], Mapping[str, Gradient]]
    most: int
    tolerance: float
    progress: Callable[["Designs"], None] = lambda designs: None
    patience: int = 20  # analyses that may pass without progress
    trials: list[Trial] = field(default_factory=list)
    _scales: tuple[float, np.ndarray] | None = None  # of the cost and of the excesses (c,), from the first design

    @property
    def best(self) -> Trial:
        """The best design: the one that ends the search, unless another gains more than it does beyond its limits."""
        last, best = self.trials[-1], min(self.trials, key=lambda trial: trial.rank)
        gained = np.abs(last.optimality.multipliers) @ best.beyond
        return last if self._optimal(last) and last.cost <= best.cost + gained + FEASIBLE else best

    @property
    def missed(self) -> Limit:
        """The limit that the best design misses most, or keeps least."""
        return self.limits[int(np.argmax(self.best.beyond))]

    def first(self) -> Trial:
        """The design that the search begins with."""
        return self.at(self.variables.scaled(self.variables.start))

    def at(self, u: np.ndarray) -> Trial:
        """The design at places in the ranges; raises Enough where the search may end."""
        u = np.clip(np.array(u, dtype=float), 0.0, 1.0)
        for trial in reversed(self.trials[-KEPT:]):
            if np.array_equal(trial.u, u):
                return trial
        if len(self.trials) >= self.most:
            raise Enough(f"the limit of {self.most} analyses is reached")
        trial = self._tried(u)
        self.trials.append(trial)
        # keep derivatives of the latest designs and the best only: of fields they are many
        if len(self.trials) > KEPT and (old := self.trials[-KEPT - 1]) is not self.best:
            nothing, few = np.zeros(0), old.values[: len(self.variables.names)]
            self.trials[-KEPT - 1] = replace(old, u=nothing, values=few, gradient=nothing, slopes=nothing)
        self.progress(self)
        if self._optimal(trial):
            raise Enough("")
        if self._stalls:
            raise Enough(f"the last {self.patience} analyses gained less than {PROGRESS:g} of {self.objective}")
        return trial

    @property
    def _stalls(self) -> bool:
        """Whether the last ``patience`` designs made no progress."""
        before, last = self.trials[: -self.patience], self.trials[-self.patience :]
        if not before:
            return False
        old, new = (min(trials, key=lambda trial: trial.rank) for trials in (before, last))
        (failed, over, cost), (fails, beyond, costs) = old.rank, new.rank
        better = beyond < over or (beyond == over and cost - costs > PROGRESS * abs(cost))
        nearest, near = (min(trial.optimality.residual for trial in trials) for trials in (before, last))
        return not (fails < failed or (fails == failed and better) or near < 0.5 * nearest)

    def _optimal(self, trial: Trial) -> bool:
        return trial.violation <= FEASIBLE and trial.optimality.residual <= self.tolerance

    def _tried(self, u: np.ndarray) -> Trial:
        values = self.variables.values(u)
        try:
            results = self.analyse(values)
            for name in sorted({self.objective, *(limit.name for limit in self.limits)}):
                result = results[name]
                if not (np.isfinite(result.value) and np.isfinite(result.gradient).all()):
                    why = next(iter(result.undefined.values()), "the value is not finite")
                    raise AnalysisError(f"objective {name} has no gradient to follow: {why}")
        except (AnalysisError, ModelError) as error:
            if not self.trials:
                raise
            # larger than all other costs, so that the search turns back
            last, why = self.trials[-1], one_line(error)
            worst = 1.0 + FAILED * max(abs(trial.cost) for trial in self.trials)
            nothing = dict.fromkeys(last.found, float("nan"))
            unknown = Optimality(float("inf"), np.zeros(len(self.limits)), np.zeros(len(u)))
            return replace(last, u=u, values=values, found=nothing, cost=worst, optimality=unknown, failure=why)
        return self._trial(u, values, results)

    def _trial(self, u: np.ndarray, values: np.ndarray, results: Mapping[str, Gradient]) -> Trial:
        steps = self.variables.slopes(values)
        cost, gradient = self.sign * results[self.objective].value, self.sign * results[self.objective].gradient * steps
        limits = self.limits
        excess = np.array([limit.sign * (results[limit.name].value - limit.value) for limit in limits])
        slopes = np.array([limit.sign * results[limit.name].gradient * steps for limit in limits]).reshape(-1, len(u))
        if self._scales is None:
            sizes = [_size(limit.value, s, e) for limit, s, e in zip(limits, slopes, excess, strict=True)]
            self._scales = _size(cost, gradient), np.array(sizes)
        scale, of_limits = self._scales
        cost, gradient, excess, slopes = cost / scale, gradient / scale, excess / of_limits, slopes / of_limits[:, None]
        equal = np.array([limit.equal for limit in limits], dtype=bool)
        linear = np.array([limit.linear for limit in limits], dtype=bool)
        found = {name: result.value for name, result in results.items()}
        optimal = optimality(u, gradient, excess, slopes, equal)
        if any(limit.equal and limit.name == self.objective for limit in limits):  # all that meet it are equal
            cost, gradient = 0.0, np.zeros_like(gradient)
        return Trial(u, values, found, cost, gradient, excess, slopes, optimal, equal, linear)

    def multipliers(self, trial: Trial) -> np.ndarray:
        """By how much the optimal objective changes with each limit (c,), in their units."""
        assert self._scales is not None  # as a design has been tried
        scale, of_limits = self._scales
        signs = np.array([limit.sign for limit in self.limits])
        return -self.sign * signs * trial.optimality.multipliers * scale / of_limits


def _size(*numbers: Any) -> float:
    """The magnitude of a quantity."""
    size = max(float(np.abs(number).max(initial=0.0)) for number in map(np.asarray, numbers))
    return size if size > 0 else 1.0

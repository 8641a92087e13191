"""Nonlinear least squares: the search, the noise, and what the data say of the parameters.

Sources: Nocedal and Wright, Numerical Optimization, chapter 10; Seber and Wild, Nonlinear Regression, sections 2.1 and
5.8 (standard errors); Belsley, Kuh and Welsch, Regression Diagnostics, chapter 3 (scaled singular values).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError, ModelError, one_line
from mbsim_cli.study.fitting.readings import Computed
from mbsim_cli.study.optimizing.design import Variables

NOISE_ROUNDS = 20  # searches at most until estimated noise changes no more
NOISE_CHANGE = 1e-3  # relative change of the noise that ends them
LEAST_NOISE = 1e-9  # of the readings of a column: what rounding and interpolation leave
UNDETERMINED = 1e-8  # singular value over the largest, of columns of length 1, that counts as zero
NORMAL_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation
AT_END = 1e-3  # of a range, within which an end may hold a parameter
SHORT = 0.1  # standard errors that a linearised model is from its optimum where a search has ended before it
_ENDED = {1: "gradient", 2: "sum of squares", 3: "parameters", 4: "sum of squares and parameters"}


Compute = Callable[[np.ndarray], Computed]  # the readings of the model at values (p,)


class Group(NamedTuple):
    """Residuals of one column: where they stand among all, their noise, None where it is estimated."""

    place: slice
    sigma: float | None
    size: float  # of the readings


@dataclass(frozen=True)
class Problem:
    """A fit of p variables to readings (m,) in groups; ``compute`` gives the readings of the model at values (p,)."""

    variables: Variables
    readings: np.ndarray
    groups: Sequence[Group]
    compute: Compute
    loss: str
    loss_scale: float
    tolerance: float
    most: int  # evaluations


class Direction(NamedTuple):
    """A combination (p,) of parameters and its singular value relative to the largest."""

    singular_value: float
    combination: np.ndarray  # in the units of the parameters
    effect: np.ndarray  # sizes of the changes of the residuals by its parts


@dataclass(frozen=True)
class Estimate:
    """Result of the search: values (p,), noise by group, and statistics from the Jacobian there."""

    values: np.ndarray
    computed: Computed
    sigma: np.ndarray  # (m,)
    sigmas: np.ndarray  # by group
    covariance: np.ndarray  # (p, p), NaN for what is held or undetermined
    directions: tuple[Direction, ...]
    held: np.ndarray  # (p,) -1 at the lower end of its range, 1 at the upper one, else 0
    evaluations: int
    cost: float
    ended: str
    converged: bool

    @property
    def errors(self) -> np.ndarray:
        """Standard errors (p,)."""
        return np.sqrt(np.diag(self.covariance))


class _OutOfEvaluations(Exception):
    """No evaluation is left."""


class _Search:
    """Evaluates residuals over their noise; counts, and keeps the last evaluation and the best one."""

    def __init__(self, problem: Problem, progress: Callable[[int, float], None]):
        self.problem, self._progress = problem, progress
        self.sigma = np.ones(len(problem.readings))
        self.evaluations = 0
        self.failure = ""  # why the latest analysis failed that did
        self._last: tuple[bytes, Computed] | None = None
        self._best: tuple[float, np.ndarray, Computed] | None = None

    def computed(self, values: np.ndarray) -> Computed:
        """The readings of the model, computed once; raises the exceptions of the model."""
        if self._last is None or self._last[0] != values.tobytes():
            if self._best is not None and np.array_equal(self._best[1], values):
                return self._best[2]
            if self.evaluations >= self.problem.most:
                raise _OutOfEvaluations
            self.evaluations += 1
            self._last = values.tobytes(), self.problem.compute(values)
        return self._last[1]

    def residuals(self, values: np.ndarray) -> np.ndarray:
        """Residuals over their noise (m,); infinite where the analysis fails, so that the search turns back."""
        try:
            computed = self.computed(values)
        except (AnalysisError, ModelError) as error:
            self.failure = one_line(error)
            return np.full(len(self.problem.readings), np.inf)
        found = (computed.values - self.problem.readings) / self.sigma
        cost = cost_of(self.problem, found)
        if self._best is None or cost < self._best[0]:
            self._best = cost, values, computed
            self._progress(self.evaluations, cost)
        return found

    def over(self, free: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, str, bool]:
        """Values where scipy's trust-region method ends, moving ``free`` ones (p,), why, and whether at an optimum."""
        from scipy.optimize import least_squares

        problem, variables = self.problem, self.problem.variables
        self._best = None
        start, low, high = map(variables.searched, (values, variables.low, variables.high))

        def valued(u: np.ndarray) -> np.ndarray:
            moved = start.copy()
            moved[free] = u
            return np.where(free, variables.found(moved), values)

        def jacobian(u: np.ndarray) -> np.ndarray:
            there = valued(u)
            slopes = np.where(variables.log, there, 1.0)[free]
            return self.computed(there).jacobian[:, free] * slopes / self.sigma[:, None]

        try:
            found: Any = least_squares(
                lambda u: self.residuals(valued(u)),
                start[free],
                jacobian,
                bounds=(low[free], high[free]),
                method="trf",
                loss=problem.loss,
                f_scale=problem.loss_scale,
                x_scale="jac",
                **dict.fromkeys(("ftol", "xtol", "gtol"), problem.tolerance),
                max_nfev=problem.most + 1,
            )
        except _OutOfEvaluations:
            best = values if self._best is None else self._best[1]
            return best, f"the limit of {problem.most} evaluations is reached", False
        return valued(found.x), _ENDED.get(found.status, str(found.message)), found.status > 0


def estimate(
    problem: Problem,
    progress: Callable[[int, float], None] = lambda count, cost: None,
    inspect: Callable[[Computed], None] = lambda first: None,
) -> Estimate:
    """Fit; raises what the model does at the start.

    ``progress`` is called with the number of evaluations and the cost of each better estimate, ``inspect`` with what
    the model computes at the start.
    """
    search, variables = _Search(problem, progress), problem.variables
    values = np.clip(variables.start, variables.low, variables.high)
    computed = search.computed(values)
    inspect(computed)
    sigmas = _noise(problem, computed, 0.0)
    held, everything = np.zeros(len(values), dtype=int), np.ones(len(values), dtype=bool)
    # noise that is estimated matters where several columns are weighed, or a loss is robust
    unknown = any(group.sigma is None for group in problem.groups)
    matters = unknown and (len(problem.groups) > 1 or problem.loss != "linear")
    for _ in range(NOISE_ROUNDS if matters else 1):
        search.sigma = by_reading(problem, sigmas)
        values, ended, converged = search.over(everything, values)
        computed = search.computed(values)
        held = _held(problem, computed, values, search.sigma)
        if converged and held.any() and not held.all():  # at the ends themselves, which the search does not reach
            values = np.where(held < 0, variables.low, np.where(held > 0, variables.high, values))
            values, ended, converged = search.over(held == 0, values)
            computed = search.computed(values)
        before, sigmas = sigmas, _noise(problem, computed, min(len(values) / len(problem.readings), 0.99))
        if not converged or np.all(np.abs(sigmas - before) <= NOISE_CHANGE * sigmas):
            break
    sigma = by_reading(problem, sigmas)
    if converged and search.failure and _left(problem, computed, sigma, held) > SHORT:
        ended, converged = f"a better fit lies where analyses fail: {search.failure}", False
    covariance, directions = _statistics(problem, computed, sigma, held)
    cost = cost_of(problem, (computed.values - problem.readings) / sigma)
    return Estimate(
        values, computed, sigma, sigmas, covariance, directions, held, search.evaluations, cost, ended, converged
    )


def cost_of(problem: Problem, residuals: np.ndarray) -> float:
    """The cost that is minimized: half of the sum of losses."""
    return 0.5 * float(_rho(problem, residuals)[0].sum())


def _rho(problem: Problem, residuals: np.ndarray) -> np.ndarray:
    """A loss, its first derivative by the squares of residuals, and half of its second by residuals: (3, m)."""
    c2 = problem.loss_scale**2
    z = residuals**2 / c2
    if problem.loss == "soft_l1":
        rho, slope, second = 2.0 * (np.sqrt(1.0 + z) - 1.0), 1.0 / np.sqrt(1.0 + z), (1.0 + z) ** -1.5
    elif problem.loss == "huber":
        root = np.sqrt(np.maximum(z, 1.0))
        rho, slope, second = np.where(z <= 1.0, z, 2.0 * root - 1.0), 1.0 / root, np.where(z <= 1.0, 1.0, 0.0)
    elif problem.loss == "cauchy":
        rho, slope, second = np.log1p(z), 1.0 / (1.0 + z), (1.0 - z) / (1.0 + z) ** 2
    elif problem.loss == "arctan":
        rho, slope, second = np.arctan(z), 1.0 / (1.0 + z**2), (1.0 - 3.0 * z**2) / (1.0 + z**2) ** 2
    else:
        rho, slope, second = z, np.ones_like(z), np.ones_like(z)
    return np.stack([c2 * rho, slope, second])


def _noise(problem: Problem, computed: Computed, share: float) -> np.ndarray:
    """Noise by group at an estimate; parameters take their share of the degrees of freedom."""
    sigmas = []
    for group in problem.groups:
        residuals = (computed.values - problem.readings)[group.place]
        if problem.loss == "linear":
            found = np.sqrt(np.mean(residuals**2) / (1.0 - share))
        else:  # outliers do not count
            found = NORMAL_MAD * np.median(np.abs(residuals)) / np.sqrt(1.0 - share)
        estimated = float(max(found, LEAST_NOISE * group.size, np.finfo(float).tiny))
        sigmas.append(estimated if group.sigma is None else group.sigma)
    return np.array(sigmas)


def by_reading(problem: Problem, numbers: Sequence[float] | np.ndarray) -> np.ndarray:
    """Numbers of the groups for each of their readings (m,)."""
    found = np.ones(len(problem.readings))
    for group, number in zip(problem.groups, numbers, strict=True):
        found[group.place] = number
    return found


def _held(problem: Problem, computed: Computed, values: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Ends of their ranges that hold parameters (p,): they are near, and a Newton step of one alone leads beyond."""
    residuals = (computed.values - problem.readings) / sigma
    weights, jacobian = _rho(problem, residuals)[1], computed.jacobian / sigma[:, None]
    curvature = np.sum(weights[:, None] * jacobian**2, axis=0)
    step = -(jacobian.T @ (weights * residuals)) / np.where(curvature > 0.0, curvature, 1.0)
    low, high = problem.variables.low, problem.variables.high
    span = np.where(np.isfinite(high - low), high - low, np.abs(values) + 1.0)
    at_low = (values - low <= AT_END * span) & (values + step <= low) & (step < 0.0)
    at_high = (high - values <= AT_END * span) & (values + step >= high) & (step > 0.0)
    return at_high.astype(int) - at_low


def _left(problem: Problem, computed: Computed, sigma: np.ndarray, held: np.ndarray) -> float:
    """Length of the step to the optimum of the linearised model, in standard errors; held parameters stay.

    Source: Bates and Watts, A relative offset orthogonality convergence criterion, Technometrics 23, 1981.
    """
    residuals = (computed.values - problem.readings) / sigma
    weights = np.sqrt(_rho(problem, residuals)[1])
    jacobian = computed.jacobian[:, held == 0] * (weights / sigma)[:, None]
    lengths = np.linalg.norm(jacobian, axis=0)
    axes, singular, _ = np.linalg.svd(jacobian / np.where(lengths > 0.0, lengths, 1.0), full_matrices=False)
    return float(np.linalg.norm((weights * residuals) @ axes[:, singular > UNDETERMINED * singular.max(initial=0.0)]))


def _statistics(
    problem: Problem, computed: Computed, sigma: np.ndarray, held: np.ndarray
) -> tuple[np.ndarray, tuple[Direction, ...]]:
    """Covariance (p, p) of the estimates, and directions by their singular values, the best determined first.

    Columns of the Jacobian are scaled to length 1, so that units do not matter. Of a robust loss the covariance is the
    sandwich of Huber. Held parameters count as known.
    """
    free, count = np.flatnonzero(held == 0), len(held)
    covariance = np.full((count, count), np.nan)
    if not len(free):
        return covariance, ()
    residuals = (computed.values - problem.readings) / sigma
    _, weights, second = _rho(problem, residuals)
    jacobian = computed.jacobian[:, free] / sigma[:, None]
    weighted = jacobian * np.sqrt(weights)[:, None]
    lengths = np.linalg.norm(weighted, axis=0)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    _, singular, rows = np.linalg.svd(weighted / lengths, full_matrices=len(weighted) < len(free))
    singular = np.pad(singular, (0, len(free) - len(singular)))
    relative = singular / singular[0]
    directions = []
    for value, row in zip(relative, rows, strict=True):
        combination, effect = np.zeros(count), np.zeros(count)
        combination[free], effect[free] = row / lengths, np.abs(row)
        directions.append(Direction(float(value), combination, effect))
    known = relative > UNDETERMINED
    unknown = rows[~known]
    root = rows[known].T / singular[known]
    inverse = root @ root.T
    if problem.loss != "linear":  # only by the determined directions
        scaled = jacobian / lengths
        curvature = rows[known] @ (scaled.T @ (second[:, None] * scaled)) @ rows[known].T
        moments, axes = np.linalg.eigh(curvature)
        firm = moments > UNDETERMINED * moments.max(initial=0.0)  # not where all readings are outliers
        axes = rows[known].T @ axes
        unknown = np.vstack([unknown, axes[:, ~firm].T])
        inverse = axes[:, firm] / moments[firm] @ axes[:, firm].T
        scores = scaled * (weights * residuals)[:, None]
        correction = len(residuals) / max(len(residuals) - len(free), 1)
        inverse = correction * inverse @ (scores.T @ scores) @ inverse
    lost = np.abs(unknown).max(axis=0, initial=0.0) > np.sqrt(UNDETERMINED)
    inverse[lost, :] = inverse[:, lost] = np.nan
    covariance[np.ix_(free, free)] = inverse / np.outer(lengths, lengths)
    return covariance, tuple(directions)

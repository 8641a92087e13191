"""Methods of optimization: those of scipy, Ipopt, and the method of moving asymptotes."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any
from warnings import catch_warnings, filterwarnings

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.study.optimizing.design import FEASIBLE, Designs, Enough, Trial

# The method of moving asymptotes with curvatures from two designs, safeguarded by conservative steps.
#
# Costs and excesses are approximated by separable convex functions of 1/(U - u) and 1/(u - L): Svanberg, Int. J. Numer.
# Methods Eng. 24 (1987) 359. Where a slope grew more between two designs than the asymptotes explain, the approximation
# has it right at both: Bruyneel, Duysinx, Fleury, Struct. Multidisc. Optim. 24 (2002) 263. A step that gains nothing is
# taken back, and the next one more cautious until it bounds what the analysis finds: Svanberg, SIAM J. Optim. 12 (2002)
# 555. Limits that are linear stay so. A step's cost grows linearly with the number of variables.

Array = np.ndarray
INNER = 20  # trials of a step
PRICE = 1e3  # of an excess that a step cannot avoid, scaled
CLOSE, MOVE = 0.1, 0.5  # share of the way to an asymptote that a step keeps, and largest step
FIRST, LEAST, MOST = 0.5, 1e-3, 10.0  # distance of the asymptotes
APART, TOGETHER = 1.2, 0.7  # how it changes where a variable continues in its direction, and where it turns back
ENOUGH = 0.01  # share of the predicted gain, above which a step is accepted
AT_LEAST = 1e-3  # caution, relative to the mean slope
FADING, GROWING = 0.7, 10.0  # change of caution from step to step, and most by which a trial raises it
FORGOTTEN = 0.1  # the same of caution that all variables share
APPRECIABLE, INSIDE = 1e-4, 0.98  # steps of a variable that tell its curvature: least; of the way to an asymptote, most
STILL = 1e-12
NEWTON, SAME = 60, 1e-14


def moving_asymptotes(designs: Designs) -> str:
    """Try designs; return why the search ended."""
    trial = designs.first()
    width = np.full(len(trial.u), FIRST)
    before, path = trial, [trial.u, trial.u]
    caution, shared = np.zeros_like(_slopes(trial)), np.zeros((1 + len(trial.excess), 1))
    while True:
        least = AT_LEAST * np.abs(_slopes(trial)).mean(1, keepdims=True)
        near = _Approximation.of(trial, width, np.maximum(FADING * caution, least), FORGOTTEN * shared)
        near = near.with_slopes_of(before)
        for _ in range(INNER):
            found = designs.at(near.optimum())
            gaps = _values(found) - near.values(found.u)
            still = np.abs(found.u - trial.u).max() < STILL
            # a step is accepted that reaches enough of the predicted gain, and does not violate limits by more
            promised, gained = trial.cost - near.values(found.u)[0], trial.cost - found.cost
            feasible = found.violation <= max(trial.violation, FEASIBLE) and not found.failure
            accepted = feasible and gained >= ENOUGH * promised > 0
            if still or accepted or (gaps <= 1e-12 + 1e-9 * np.abs(_values(found))).all():
                break
            near = near.with_slopes_of(found).above(found)
        caution, shared = near.caution, near.shared
        turns = (found.u - trial.u) * (path[-1] - path[-2]) if len(path) > 2 else np.zeros(len(width))
        width = np.clip(width * np.where(turns < 0, TOGETHER, np.where(turns > 0, APART, 1.0)), LEAST, MOST)
        if np.abs(found.u - trial.u).max() < STILL:
            return NO_BETTER
        before, trial = trial, found
        path.append(trial.u)


def _slopes(trial: Trial) -> np.ndarray:
    """Gradients (1 + c, v) of cost and excesses."""
    return np.vstack([trial.gradient, trial.slopes])


def _values(trial: Trial) -> np.ndarray:
    """Cost and excesses (1 + c)."""
    return np.append(trial.cost, trial.excess)


@dataclass
class _Approximation:
    """Functions (1 + c) about a design: constant + sum p/(U - u) + q/(u - L) + straight u, coefficients (1 + c, v)."""

    trial: Trial
    width: np.ndarray
    caution: np.ndarray
    shared: np.ndarray  # (1 + c, 1), caution for all variables
    p: np.ndarray
    q: np.ndarray
    straight: np.ndarray
    constant: np.ndarray

    @classmethod
    def of(cls, trial: Trial, width: np.ndarray, caution: np.ndarray, shared: np.ndarray) -> "_Approximation":
        """The approximation that is tangent at a design; caution adds to its curvatures."""
        slopes, linear = _slopes(trial), np.append(False, trial.linear)[:, None]
        rising, falling = np.maximum(slopes, 0.0), np.maximum(-slopes, 0.0)
        p = np.where(linear, 0.0, width**2 * (1.001 * rising + 0.001 * falling + caution + shared))
        q = np.where(linear, 0.0, width**2 * (0.001 * rising + 1.001 * falling + caution + shared))
        straight = np.where(linear, slopes, 0.0)
        constant = _values(trial) - ((p + q) / width).sum(1) - straight @ trial.u
        return cls(trial, width, caution, shared, p, q, straight, constant)

    def with_slopes_of(self, other: Trial) -> "_Approximation":
        """Increase the curvature until slopes at another design are those found there, if these are steeper."""
        if other.failure:
            return self
        step, slopes = other.u - self.trial.u, _slopes(self.trial)
        appreciable = (np.abs(step) > APPRECIABLE) & (np.abs(step) < INSIDE * self.width)
        step = np.where(appreciable, step, APPRECIABLE * self.width)
        ahead, behind = (self.width / (self.width - step)) ** 2, (self.width / (self.width + step)) ** 2
        own = np.where(slopes > 0, ahead, behind) * slopes
        needed = np.where(appreciable, (_slopes(other) - own) / (ahead - behind), 0.0)
        caution = np.maximum(self.caution, np.minimum(needed, GROWING * (self.caution + np.abs(slopes))))
        return _Approximation.of(self.trial, self.width, caution, self.shared)

    def above(self, found: Trial) -> "_Approximation":
        """Increase all curvatures until the approximation bounds the values that were found at a design."""
        gaps = np.maximum(_values(found) - self.values(found.u), 0.0)
        ahead, behind = self._distances(found.u)
        bend = float((self.width**2 * (1 / ahead + 1 / behind - 2 / self.width)).sum())
        most = GROWING * (self.shared + self.caution.mean(1, keepdims=True))
        shared = self.shared + 1.1 * gaps[:, None] / max(bend, STILL**2)  # of no step but round-off, too
        return _Approximation.of(self.trial, self.width, self.caution, np.minimum(shared, most))

    def values(self, u: np.ndarray) -> np.ndarray:
        """Approximate cost and excesses (1 + c)."""
        ahead, behind = self._distances(u)
        return self.constant + (self.p / ahead + self.q / behind).sum(1) + self.straight @ u

    def _distances(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distances from the upper and the lower asymptote."""
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

        options, bounds = {"ftol": 1e-16, "gtol": 1e-11, "maxiter": 500}, [(0, None)] * count
        found: Any = minimize(dual, np.ones(count), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        return self._at(found.x)

    def _at(self, y: np.ndarray) -> np.ndarray:
        """The design that the multipliers (c,) ask for."""
        weights = np.append(1.0, y)
        p, q, straight = weights @ self.p, weights @ self.q, weights @ self.straight
        low, high = self.trial.u - self.width, self.trial.u + self.width
        reach = np.minimum((1 - CLOSE) * self.width, MOVE)
        least, most = np.maximum(self.trial.u - reach, 0.0), np.minimum(self.trial.u + reach, 1.0)
        if straight.any():
            return _level(p, q, straight, low, high, least, most)
        P, Q = np.sqrt(p), np.sqrt(q)
        return np.clip((P * low + Q * high) / (P + Q), least, most)


def _level(p: Array, q: Array, straight: Array, low: Array, high: Array, least: Array, most: Array) -> Array:
    """Root of p/(high - u)^2 - q/(u - low)^2 + straight by Newton's method, or the nearest end of the range."""
    u = (least + most) / 2
    for _ in range(NEWTON):
        slope = p / (high - u) ** 2 - q / (u - low) ** 2 + straight
        least, most = np.where(slope < 0, u, least), np.where(slope < 0, most, u)
        there = u - slope / (2 * p / (high - u) ** 3 + 2 * q / (u - low) ** 3)
        there = np.where((there > least) & (there < most), there, (least + most) / 2)
        if np.abs(there - u).max() < SAME:
            return there
        u = there
    return u


ALGORITHMS = ("auto", "slsqp", "trust-constr", "ipopt", "mma")
FEW = 20  # variables above which equalities are kept sooner by Ipopt, where it is installed
MANY = 100  # variables above which a dense approximation of the Hessian does not pay
# analyses that may pass without progress: mma takes small steps, interior points and trust regions come from outside
PATIENCE = {"slsqp": 20, "trust-constr": 200, "ipopt": 200, "mma": 100}
NO_BETTER = "the search found no better design"
WHY = {  # by the status of SLSQP
    0: "its steps change nothing but round-off",
    4: "near the best one the limits contradict each other",
    8: "along its last step the objective does not follow its derivatives",
}
CURVED = 10.0  # second derivative of the scaled cost along the first step, above which SLSQP needs a weight
HISTORY = 30  # gradients that Ipopt remembers for its Hessian
PRECISION = 1e-15  # tolerance of the library's own stopping tests, which ``Designs`` replaces


def method_for(stated: str, variables: int, equalities: bool = False) -> str:
    """The method that is used; raises UsageError for one that is not installed."""
    installed = find_spec("cyipopt") is not None
    if stated == "ipopt" and not installed:
        raise UsageError("ipopt is not installed: pip install 'mbsim-cli[ipopt]' brings it; or choose slsqp")
    if stated != "auto":
        return stated
    if equalities:
        return "ipopt" if installed and variables > FEW else "slsqp"
    return "mma" if variables > MANY else "slsqp"


def search(method: str, designs: Designs) -> str:
    """Try designs until one is optimal; return why the search ended otherwise, or nothing."""
    designs.patience = PATIENCE[method]
    searches: dict[str, Callable[[Designs], str]] = {"slsqp": _slsqp, "mma": moving_asymptotes}
    searches |= {"trust-constr": _trust_constr, "ipopt": _ipopt}
    try:
        return searches[method](designs)
    except Enough as enough:
        return str(enough)


def _ended(message: str) -> str:
    """Why a library ended a search before an optimum."""
    return f"{NO_BETTER}: {' '.join(message.split()).rstrip('.').lower()}"


class _Curved(Exception):
    """Raised at the second design of a search whose cost is curved far more than its Hessian begins with."""


def _slsqp(designs: Designs) -> str:
    """Kraft, A software package for sequential quadratic programming, DFVLR-FB 88-28 (1988).

    The Hessian begins as a unit matrix. Where the first step shows a much larger curvature, the search starts again
    with the cost over this curvature; otherwise every variable would take steps of its own to find it.
    """
    start = designs.first()
    try:
        return _quadratic_programs(designs, start, 1.0)
    except _Curved:
        return _quadratic_programs(designs, start, 1.0 / _curvature(*designs.trials[:2]))


def _curvature(first: Trial, second: Trial) -> float:
    """Second derivative of the cost along the step from the first design to the second."""
    step = second.u - first.u
    return float((second.gradient - first.gradient) @ step / (step @ step))


def _quadratic_programs(designs: Designs, start: Trial, weight: float) -> str:
    """Search from a start, the cost multiplied by a weight."""
    from scipy.optimize import minimize

    def at(u: Array) -> Trial:
        known = len(designs.trials)
        trial = designs.at(u)
        if known == 1 and len(designs.trials) == 2 and not trial.failure and _curvature(start, trial) > CURVED:
            raise _Curved
        return trial

    constraints = [
        {"type": kind, "fun": lambda u, of=of: -at(u).excess[of], "jac": lambda u, of=of: -at(u).slopes[of]}
        for kind, of in (("eq", start.equal), ("ineq", ~start.equal))
        if of.any()
    ]
    found: Any = minimize(
        lambda u: weight * at(u).cost,
        start.u,
        jac=lambda u: weight * at(u).gradient,
        bounds=[(0.0, 1.0)] * len(start.u),
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": designs.most, "ftol": weight * PRECISION},
    )
    return _ended(WHY.get(found.status, str(found.message)))


def _bounds(designs: Designs) -> tuple[Array, Array]:
    """Limits of the excesses (c,): zero above, and below where they are equalities."""
    equal = designs.trials[-1].equal
    return np.where(equal, 0.0, -np.inf), np.zeros(len(equal))


def _trust_constr(designs: Designs) -> str:
    """Byrd, Hribar, Nocedal, SIAM J. Optim. 9 (1999); Hessians by BFGS."""
    from scipy.optimize import BFGS, NonlinearConstraint, minimize

    start = designs.first()
    low, high = _bounds(designs)
    # more equalities than variables need another factorisation
    other = "SVDFactorization" if np.count_nonzero(start.equal) > len(start.u) else None
    # iterations outnumber analyses; the barrier's own conditions hold at a distance from limits, too
    options = {"maxiter": 10 * designs.most, "gtol": 0.0, "xtol": PRECISION, "factorization_method": other}
    at = designs.at
    limits = NonlinearConstraint(lambda u: at(u).excess, low, high, jac=lambda u: at(u).slopes, hess=BFGS())
    with catch_warnings():
        filterwarnings("ignore", "delta_grad == 0.0")  # of limits that are linear, as those of volumes
        filterwarnings("ignore", "Singular Jacobian matrix")  # of equalities that depend on each other
        found: Any = minimize(
            lambda u: at(u).cost,
            start.u,
            jac=lambda u: at(u).gradient,
            hess=BFGS(),
            bounds=[(0.0, 1.0)] * len(start.u),
            constraints=[limits] if len(high) else [],
            method="trust-constr",
            options=options,
        )
    return _ended(str(found.message))


def _ipopt(designs: Designs) -> str:
    """Waechter, Biegler, Math. Program. 106 (2006), with a limited memory of the Hessian."""
    import cyipopt

    start = designs.first()
    low, high = _bounds(designs)
    stopped: list[BaseException] = []

    def at(u: Array) -> Trial:
        """The design; what ends the search is kept, as Ipopt's code in C does not hand exceptions on."""
        try:
            return designs.at(u)
        except BaseException as stop:
            stopped.append(stop)
            return designs.trials[-1]

    asked = SimpleNamespace(
        objective=lambda u: at(u).cost,
        gradient=lambda u: at(u).gradient,
        constraints=lambda u: at(u).excess,
        jacobian=lambda u: at(u).slopes.ravel(),
        intermediate=lambda *_: not stopped,  # after an iteration: whether to go on
    )
    n = len(start.u)
    problem = cyipopt.Problem(n=n, m=len(high), problem_obj=asked, lb=[0.0] * n, ub=[1.0] * n, cl=low, cu=high)
    options: dict[str, Any] = {
        "print_level": 0, "sb": "yes", "hessian_approximation": "limited-memory", "limited_memory_max_history": HISTORY,
        "max_iter": designs.most, "tol": 1e-3 * designs.tolerance, "bound_relax_factor": 0.0,
    }  # fmt: skip
    for name, value in options.items():
        problem.add_option(name, value)
    _, info = problem.solve(start.u)
    if stopped:
        raise stopped[0]
    message = info["status_msg"]
    return _ended(message.decode() if isinstance(message, bytes) else str(message))

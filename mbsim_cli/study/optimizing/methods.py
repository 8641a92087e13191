"""Methods that search for a better design: quadratic programming, trust regions, interior points, moving asymptotes."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from mbsim_cli.errors import UsageError
from mbsim_cli.study.optimizing import moving_asymptotes
from mbsim_cli.study.optimizing.design import Designs, Enough

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
HISTORY = 30  # gradients that Ipopt remembers for its Hessian
PRECISION = 1e-15  # relative change that ends a search which nothing else ends


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
    searches: dict[str, Callable[[Designs], str]] = {"slsqp": _slsqp, "mma": moving_asymptotes.search}
    searches |= {"trust-constr": _trust_constr, "ipopt": _ipopt}
    try:
        return searches[method](designs)
    except Enough as enough:
        return str(enough)


def _slsqp(designs: Designs) -> str:
    """Kraft, A software package for sequential quadratic programming, DFVLR-FB 88-28 (1988)."""
    from scipy.optimize import minimize

    start = designs.at(designs.variables.scaled(designs.variables.start))
    kinds = [("eq", start.equal), ("ineq", ~start.equal)]
    constraints = [
        {
            "type": kind,
            "fun": lambda u, of=of: -designs.at(u).excess[of],
            "jac": lambda u, of=of: -designs.at(u).slopes[of],
        }
        for kind, of in kinds
        if of.any()
    ]
    found: Any = minimize(
        lambda u: designs.at(u).cost,
        start.u,
        jac=lambda u: designs.at(u).gradient,
        bounds=[(0.0, 1.0)] * len(start.u),
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": designs.most, "ftol": PRECISION},
    )
    why = WHY.get(found.status, " ".join(str(found.message).split()).rstrip(".").lower())
    return f"{NO_BETTER}: {why}"


def _bounds(designs: Designs) -> Any:
    """Limits of the excesses (c,): zero above, and below where they are equalities."""
    import numpy as np

    equal = designs.trials[-1].equal
    return np.where(equal, 0.0, -np.inf), np.zeros(len(equal))


def _trust_constr(designs: Designs) -> str:
    """Byrd, Hribar, Nocedal, SIAM J. Optim. 9 (1999); Hessians by BFGS."""
    from scipy.optimize import BFGS, NonlinearConstraint, minimize

    start = designs.at(designs.variables.scaled(designs.variables.start))
    low, high = _bounds(designs)
    limits = NonlinearConstraint(
        lambda u: designs.at(u).excess, low, high, jac=lambda u: designs.at(u).slopes, hess=BFGS()
    )
    found: Any = minimize(
        lambda u: designs.at(u).cost,
        start.u,
        jac=lambda u: designs.at(u).gradient,
        hess=BFGS(),
        bounds=[(0.0, 1.0)] * len(start.u),
        constraints=[limits] if len(high) else [],
        method="trust-constr",
        options={"maxiter": designs.most, "gtol": 1e-3 * designs.tolerance, "xtol": PRECISION},
    )
    return f"{NO_BETTER}: {' '.join(str(found.message).split()).rstrip('.').lower()}"


class _Problem:
    """The callbacks of Ipopt."""

    def __init__(self, designs: Designs):
        self._designs = designs
        self.stopped: BaseException | None = None

    def _at(self, u: Any) -> Any:
        """The design; what ends the search is kept, as Ipopt's code in C does not hand exceptions on."""
        try:
            return self._designs.at(u)
        except BaseException as stop:
            self.stopped = self.stopped or stop
            return self._designs.trials[-1]

    def objective(self, u: Any) -> float:
        return self._at(u).cost

    def gradient(self, u: Any) -> Any:
        return self._at(u).gradient

    def constraints(self, u: Any) -> Any:
        return self._at(u).excess

    def jacobian(self, u: Any) -> Any:
        return self._at(u).slopes.ravel()

    def intermediate(self, *_: Any) -> bool:
        return self.stopped is None


def _ipopt(designs: Designs) -> str:
    """Waechter, Biegler, Math. Program. 106 (2006), with a limited memory of the Hessian."""
    import cyipopt

    start = designs.at(designs.variables.scaled(designs.variables.start))
    low, high = _bounds(designs)
    n, asked = len(start.u), _Problem(designs)
    problem = cyipopt.Problem(n=n, m=len(high), problem_obj=asked, lb=[0.0] * n, ub=[1.0] * n, cl=low, cu=high)
    options: dict[str, Any] = {
        "print_level": 0, "sb": "yes", "hessian_approximation": "limited-memory", "limited_memory_max_history": HISTORY,
        "max_iter": designs.most, "tol": 1e-3 * designs.tolerance, "bound_relax_factor": 0.0,
    }  # fmt: skip
    for name, value in options.items():
        problem.add_option(name, value)
    _, info = problem.solve(start.u)
    if asked.stopped is not None:
        raise asked.stopped
    message = info["status_msg"]
    text = message.decode() if isinstance(message, bytes) else str(message)
    return f"{NO_BETTER}: {' '.join(text.split()).rstrip('.').lower()}"

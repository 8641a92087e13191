"""Methods that search for a better design: sequential quadratic programming, and moving asymptotes."""

from collections.abc import Callable
from typing import Any

from mbsim_cli.study.optimizing import moving_asymptotes
from mbsim_cli.study.optimizing.design import Designs, Enough

ALGORITHMS = ("auto", "slsqp", "mma")
MANY = 100  # variables above which a dense approximation of the Hessian does not pay
PATIENCE = {"slsqp": 20, "mma": 100}  # analyses that may pass without progress: mma follows valleys by small steps
NO_BETTER = "the search found no better design"
WHY = {  # by the status of SLSQP
    0: "its steps change nothing but round-off",
    4: "near the best one the limits contradict each other",
    8: "along its last step the objective does not follow its derivatives",
}
PRECISION = 1e-15  # relative change that ends a search which nothing else ends


def method_for(stated: str, variables: int) -> str:
    """The method that is used."""
    return ("mma" if variables > MANY else "slsqp") if stated == "auto" else stated


def search(method: str, designs: Designs) -> str:
    """Try designs until one is optimal; return why the search ended otherwise, or nothing."""
    designs.patience = PATIENCE[method]
    searches: dict[str, Callable[[Designs], str]] = {"slsqp": _slsqp, "mma": moving_asymptotes.search}
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

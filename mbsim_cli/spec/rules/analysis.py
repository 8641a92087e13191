"""Analysis: times and tolerances that make sense, parameters that exist."""

from typing import Any

from mbsim_cli.model.codes import AUTO_INTEGRATOR, DEFAULT_INTEGRATOR, INTEGRATORS, MOST_STEPS
from mbsim_cli.spec import analysis as kinds
from mbsim_cli.spec.review import Review
from mbsim_cli.spec.rules.bodies import with_densities_of

_BELOW_ONE = ("accuracy", "tolerance", "gradient_tolerance")  # relative errors
_OF_ITERATIONS = ("max_iterations", "gradient_tolerance")
_OF_ERROR_CONTROL = ("tolerance", "absolute_tolerance", "error_control", "max_steps")
_ADAPTIVE = " and ".join(name for name, integrator in INTEGRATORS.items() if integrator.adaptive)
_IMPLICIT = " and ".join(name for name, integrator in INTEGRATORS.items() if integrator.implicit)


def check(review: Review) -> None:
    """Report what no analysis can run with, and bounds that a parameter lies outside of."""
    analysis, sensors = review.model.analysis, review.model.sensors
    if review.lost("analysis"):
        return
    for key in _BELOW_ONE:
        if (value := review.value(getattr(analysis, key, None))) is not None and value >= 1:
            review.report(("analysis", key), f"must be less than one, is {value:g}")
    for key in ("hold", "drives", "inputs", "outputs"):
        review.each_once(("analysis", key), getattr(analysis, key, ()))
    if isinstance(analysis, kinds.InverseDynamics):
        _inverse(review, analysis)
    else:
        for name in (name for name, sensor in sensors.items() if sensor.type in ("torque", "torques")):
            hint = "a force sensor shows what a force element gives, a reaction what a joint or motion does"
            review.report(("sensors", name), "torques are results of the analysis inverse_dynamics alone", hint)
    if isinstance(analysis, kinds.Analysis):
        _times(review, analysis)
        if analysis.accuracy is not None and analysis.step != "auto":
            hint = "write step: auto, or leave accuracy out"
            review.report(("analysis", "accuracy"), "only step: auto keeps to an accuracy", hint, key=True)
        _integrator(review, analysis)
    if isinstance(analysis, kinds.SmallMotions) and analysis.start is not None and analysis.at != "start":
        message = "the equilibrium has positions of its own"
        review.report(("analysis", "start"), message, "add at: start, or leave start out", key=True)
    if isinstance(analysis, kinds.FrequencyResponse):
        _response(review, analysis)
    if isinstance(analysis, kinds.Kinematics):
        _kinematics(review, analysis)
    elif not isinstance(analysis, kinds.InverseDynamics):
        declared = getattr(analysis, "at", "start") == "start" and not isinstance(analysis, kinds.Equilibrium)
        if analysis.hold and declared and getattr(analysis, "start", None) != "equilibrium":
            message = "only a static equilibrium holds coordinates"
            review.report(("analysis", "hold"), message, "add start: equilibrium", key=True)
    _sensitivity(review, analysis)
    _bounds(review)
    _states(review)


def _sensitivity(review: Review, analysis: Any) -> None:
    """Report parameters and fields that there are no gradients by, gradients by nothing, and an adjoint that is not."""
    given, path = analysis.sensitivity, ("analysis", "sensitivity")
    stated = given.parameters if isinstance(given.parameters, tuple) else ()
    review.each_once((*path, "parameters"), stated)
    review.each_once((*path, "fields"), given.fields)
    if given.fields and given.method != "adjoint":
        hint = "write method: adjoint, or leave fields out"
        message = f"the adjoint alone gives gradients by fields, not {given.method}"
        review.report((*path, "fields"), message, hint, key=True)
    for index, name in enumerate(given.fields):
        if name in review.names("fields") and not with_densities_of(review, name):
            review.report((*path, "fields", index), f"no body has its densities from field {name!r}")
    if given.method != "none" and given.parameters == () and not given.fields:
        hint = "name parameters, or write method: none"
        review.report((*path, "parameters"), "gradients by nothing are wanted", hint, key=True)
    if given.method == "adjoint" and (lacking := kinds.lacks_adjoint(analysis)):
        other = "" if isinstance(analysis, kinds.SmallMotions) else f"{kinds.WITH_ADJOINT}; "
        review.report((*path, "method"), f"{lacking} has no adjoint", f"{other}ddm is exact too")


def _states(review: Review) -> None:
    """Report analyses that know no states."""
    states = [name for name, joint in review.model.joints.items() if joint.stands_for == "state"]
    analysis = review.model.analysis
    declared = isinstance(analysis, kinds.Analysis) and analysis.start == "declared"
    declared |= isinstance(analysis, kinds.SmallMotions) and analysis.at == "start" and analysis.start != "equilibrium"
    if not states or declared:
        return
    shown, hint = ", ".join(states[:4]) + (", ..." if len(states) > 4 else ""), None
    if isinstance(analysis, kinds.InverseDynamics | kinds.Kinematics):
        kind, path = analysis.type.replace("_", " "), ("analysis", "type")
        message = f"{kind} has no states, and this model has {shown}"
    else:
        message = f"the search for an equilibrium does not solve for states, and this model has {shown}"
        hint = "begin at declared positions, and let the states settle"
        hint = "at: start takes the declared positions" if isinstance(analysis, kinds.SmallMotions) else hint
        path = ("analysis", "start" if isinstance(analysis, kinds.Analysis) else "type")
    review.report(path, message, hint)


def _inverse(review: Review, analysis: kinds.InverseDynamics) -> None:
    for name, sensor in review.model.sensors.items():
        if sensor.type == "multiplier":
            hint = "a torque sensor shows what a coordinate takes, a reaction what a joint does"
            review.report(("sensors", name), "inverse dynamics has no multipliers", hint)
    table = analysis.motion.table
    for coordinate in analysis.motion.laws:
        if table is not None and coordinate in table.columns:
            path = ("analysis", "motion", "table", "columns", coordinate)
            review.report(path, f"a law gives {coordinate!r} already", "leave out the law or the column", key=True)
    _sampling(review, analysis)


def _kinematics(review: Review, analysis: kinds.Kinematics) -> None:
    """Report a missing sampling time, and ranges with other counts than the first."""
    if not analysis.sweep and review.intact("analysis", "sweep"):
        for key in ("sampling", "duration"):
            if getattr(analysis, key) is None and review.intact("analysis", key):
                review.report(("analysis",), f"{key} is missing", "or give a sweep: a range of coordinates", key=True)
    elif analysis.sweep and analysis.sampling is not None:
        review.report(("analysis", "sampling"), "a sweep has its samples by count", "leave sampling out", key=True)
    counts = {name: each.count for name, each in analysis.sweep.items()}
    for name, count in counts.items():
        first, expected = next(iter(counts.items()))
        if count != expected:
            message = f"{count} samples, and {first} has {expected}: ranges have the same count"
            review.report(("analysis", "sweep", name, "count"), message, f"write count: {expected}")
    _sampling(review, analysis)


def _sampling(review: Review, analysis: kinds.InverseDynamics | kinds.Kinematics) -> None:
    """Report samples that are longer than the duration, or too many."""
    sampling, duration = review.value(analysis.sampling), review.value(analysis.duration)
    if sampling is None or duration is None or sampling <= 0 or duration <= 0:
        return
    _count(review, "sampling", f"sampling time {sampling:g} s", duration, sampling)


def _count(review: Review, key: str, what: str, duration: float, step: float) -> None:
    """Report a step or sampling time that is longer than the duration, or of which that has too many."""
    if step > duration * (1 + 1e-9):
        review.report(("analysis", key), f"the {what} is longer than the duration {duration:g} s")
    elif duration / step > MOST_STEPS:
        review.report(("analysis", key), f"{duration / step:.3g} steps are more than {MOST_STEPS:.0e}")


def _response(review: Review, analysis: kinds.FrequencyResponse) -> None:
    """Inputs and outputs that are not there, and frequencies that are none."""
    model = review.model
    for index, name in enumerate(analysis.outputs):
        whole, _, component = name.rpartition(".")
        known = name in model.shown or (whole in model.shown and bool(component))
        if not known and not review.lost("sensors"):
            near = review.suggest(name, model.shown)
            review.report(("analysis", "outputs", index), f"unknown sensor {name!r}", near)
    given, path = analysis.frequencies, ("analysis", "frequencies")
    if given == ():
        review.report(path, "there are no frequencies")
    elif not isinstance(given, tuple):
        low, high = review.value(given.from_), review.value(given.to)
        if low is not None and high is not None and 0 < high <= low:
            review.report((*path, "to"), f"the last frequency, {high:g} Hz, is not above the first, {low:g} Hz")


def _times(review: Review, analysis: kinds.Analysis) -> None:
    step, duration, interval = map(review.value, (analysis.step, analysis.duration, analysis.output_interval))
    if duration is None or duration <= 0:
        return
    if step is None:
        if interval is not None and interval > 0 and duration / interval > MOST_STEPS:
            count = f"{duration / interval:.3g}"
            message = f"a step is no longer than this interval: {count} are more than {MOST_STEPS:.0e}"
            review.report(("analysis", "output_interval"), message)
        return
    if step <= 0:
        return
    _count(review, "step", f"step {step:g} s", duration, step)
    if interval is not None and 0 < interval < step * (1 - 1e-9):
        message = f"the output interval {interval:g} s is shorter than the step {step:g} s"
        review.report(("analysis", "output_interval"), message)
    elif interval is not None and interval / step > MOST_STEPS:
        message = f"an output interval of {interval / step:.3g} steps is more than {MOST_STEPS:.0e}"
        review.report(("analysis", "output_interval"), message)


def _integrator(review: Review, analysis: kinds.Analysis) -> None:
    """Settings that the chosen formulation and integrator do not have."""

    def refuse(keys: tuple[str, ...], message: str, hint: str | None = None) -> None:
        for key in keys:
            if key in analysis.model_fields_set:
                review.report(("analysis", key), f"{message} {key}", hint, key=True)

    formulation = analysis.formulation
    if formulation not in kinds.INTEGRATED:
        hint = f"those that Runge-Kutta methods integrate have one: {', '.join(kinds.INTEGRATED)}"
        refuse(kinds.OF_INTEGRATED, f"{formulation} has no setting", hint)
        return
    refuse(kinds.OF_CONSTRAINTS, f"{formulation} has no setting", "the ali3p formulations have one")
    name = analysis.integrator or DEFAULT_INTEGRATOR
    if name == AUTO_INTEGRATOR:
        return
    if not INTEGRATORS[name].adaptive:
        refuse(_OF_ERROR_CONTROL, f"{name} takes fixed steps, and has no", f"{_ADAPTIVE} choose their steps by it")
    if not INTEGRATORS[name].implicit:
        refuse(_OF_ITERATIONS, f"{name} is explicit, and has no", f"{_IMPLICIT} iterates")


def _bounds(review: Review) -> None:
    for name, parameter in review.model.parameters.items():
        bounds, value = review.vector(parameter.bounds), review.value(parameter.value)
        if bounds is None:
            continue
        if bounds[0] > bounds[1]:
            review.report(("parameters", name, "bounds"), "the lower bound is greater than the upper bound")
        elif value is not None and not bounds[0] <= value <= bounds[1]:
            message = f"{value:g} lies outside the bounds {bounds[0]:g} and {bounds[1]:g}"
            review.report(("parameters", name, "value"), message)

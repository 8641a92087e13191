"""Reactions: what they are read of exists, joins the body that they act on, and has the axes that they ask for."""

from mbsim_cli.spec.constraints import COUPLINGS
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.sensors import Reaction


def check(review: Review) -> None:
    """Report reactions of nothing, on bodies that are not joined, or in axes that there are none of."""
    for name, sensor in review.model.sensors.items():
        if isinstance(sensor, Reaction) and _exists(review, ("sensors", name), sensor):
            _fits(review, ("sensors", name), sensor)


def _exists(review: Review, path: Path, sensor: Reaction) -> bool:
    """Whether the joint and the constraint can be judged further."""
    model, whole = review.model, True
    if sensor.joint is not None:
        whole = review.known((*path, "joint"), sensor.joint, "joints", "joint") and sensor.joint in model.joints
    if sensor.constraint is None:
        return whole
    if sensor.constraint in review.names("joints"):
        hint = f"write joint: {sensor.constraint}"
        review.report((*path, "constraint"), f"{sensor.constraint!r} is a joint, not a constraint", hint)
        return False
    known = review.known((*path, "constraint"), sensor.constraint, "constraints", "constraint")
    return known and whole and sensor.constraint in model.constraints


def _fits(review: Review, path: Path, sensor: Reaction) -> None:
    spec = review.model.constraints[sensor.constraint] if sensor.constraint else None
    kind = spec.type if spec else ""
    if spec and kind in COUPLINGS:
        joints = list(dict.fromkeys(name.partition(".")[0] for name in spec.factors))
        if sensor.joint not in joints:
            hint = "name one of " + ", ".join(joints) + " as joint"
            review.report(path, f"the coupling {sensor.constraint!r} acts through several joints", hint)
            return
    elif spec and sensor.joint is not None:
        message = f"{sensor.constraint!r} is no coupling, and acts through no joint that could be named"
        review.report((*path, "joint"), message, "name a joint or a constraint")
        return
    if sensor.axes == "joint" and spec and kind not in (*COUPLINGS, "motion"):
        message = f"the constraint {sensor.constraint!r} has no axes of its own"
        review.report((*path, "axes"), message, "take ground or body")
    bodies = sensor.bodies(review.model)
    if sensor.on is not None and bodies and sensor.on not in bodies:
        what = f"constraint {sensor.constraint!r}" if spec else f"joint {sensor.joint!r}"
        hint = f"it joins {bodies[0]} and {bodies[1]}"
        review.report((*path, "on"), f"{what} exerts nothing on body {sensor.on!r}", hint)

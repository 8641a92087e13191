"""From states to coordinates of unit inertia: a state s is the rate of ``s.integral``, and its rate a force there.

The coordinate slides a body without mass along an axis of the ground. So integrators, derivatives and results know
nothing of states. Whoever reads a state reads the sensor of its name.
"""

from mbsim_cli.spec.bodies import Body
from mbsim_cli.spec.expressions.moving import Expression
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.forces import Drive
from mbsim_cli.spec.joints import DisplacementInitial
from mbsim_cli.spec.judging.review import GROUND, Review
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.sensors import CoordinateSensor
from mbsim_cli.spec.states import INTEGRAL, State, StateJoint

_MADE = {"bodies": "a body", "joints": "a joint", "forces": "a force", "sensors": "a sensor"}


def expand_states(review: Review) -> None:
    """Add to a model what its states stand for."""
    for name, state in review.model.states.items():
        maker = Maker(review, ("states", name))
        maker.state(name, state)
        review.source.stands_at[("forces", name, "value")] = ("states", name, "rate")


class Maker:
    """Adds to a model what something at a path of the file is short for."""

    def __init__(self, review: Review, path: Path):
        self.review, self._path = review, tuple(path)

    def report(self, key: str, message: str, hint: str | None = None) -> None:
        """Add an issue at a key of what stands in the file."""
        self.review.report((*self._path, key), message, hint)

    def positive(self, **numbers: Number | None) -> bool:
        """Whether the numbers of some keys, where they are known, are greater than zero; reports those that are not."""
        fits = True
        for key, number in numbers.items():
            value = self.review.value(number)
            if value is not None and value <= 0.0:
                self.report(key, f"must be greater than zero, is {value:g}")
                fits = False
        return fits

    def state(self, name: str, state: State) -> None:
        """Add a state."""
        model, axis = self.review.model, f"{name} axis"
        if self._is_taken(name, tuple(_MADE)):
            return
        along = [Number(0.0), Number(0.0), Number(1.0)]
        model._made.add(("vectors", axis))
        model.vectors[axis] = {GROUND: along, name: along}
        model.bodies[name] = Body.model_construct()
        model.joints[name] = StateJoint.model_validate(
            {
                "type": "prismatic", "bodies": [GROUND, name], "point": "origin", "axis": axis, "unit": state.unit,
                "armature": Number(1.0),
                "initial": DisplacementInitial(displacement=Number(0.0), velocity=state.initial),
            }
        )  # fmt: skip
        coordinate = f"{name}.{INTEGRAL}"
        model.forces[name] = Drive.model_validate({"type": "drive", "coordinate": coordinate, "value": state.rate})
        model.sensors[name] = CoordinateSensor.model_validate(
            {"type": "coordinate", "coordinate": coordinate, "derivative": 1}
        )

    def drive(self, name: str, coordinate: str, value: str) -> None:
        """Add a force or torque on a coordinate by an expression."""
        if not self._is_taken(name, ("forces",)):
            self.review.model.forces[name] = Drive.model_validate(
                {"type": "drive", "coordinate": coordinate, "value": Expression(value)}
            )

    def is_readable(self, coordinate: str) -> bool:
        """Whether expressions can read a coordinate; reports where its name does not let them."""
        if "-" in coordinate:
            hint = "letters, digits and _"
            self.review.report(self._path, f"{coordinate!r} cannot be used in expressions", hint)
        return "-" not in coordinate

    def _is_taken(self, name: str, sections: tuple[str, ...]) -> bool:
        """Whether something has the name already, which is reported; else where it stands is noted."""
        model = self.review.model
        taken = [section for section in sections if name in getattr(model, section)]
        for section in taken:
            message = f"{name!r} is also {_MADE[section]}"
            self.review.report(self._path, message, "give one of them another name", key=True)
        for section in () if taken else sections:
            model._made.add((section, name))
            self.review.source.stands_at[(section, name)] = self._path
        return bool(taken)

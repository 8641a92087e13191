"""Tables of sensors and reactions from the sensors of the model file: kind, unit and rows in the record of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.elements.forces import NATURAL_VALUE, ForceTable
from mbsim_cli.assembly.elements.measures import ConstraintTable, Identity, MeasureTable
from mbsim_cli.assembly.parameters.numbers import table
from mbsim_cli.assembly.tree.elastic import ShapeRow
from mbsim_cli.assembly.tree.joints import joint_frames
from mbsim_cli.assembly.tree.system import System, integrated, unit_of
from mbsim_cli.assembly.tree.topology import PairTable
from mbsim_cli.model import codes
from mbsim_cli.model.codes import TYRES, BushingQuantity, ContactQuantity, Force, Sensor, TyreQuantity
from mbsim_cli.model.layout import NONE, Constraints, Curves, Followers, Laws, Model, Reactions, Sensors, freeze
from mbsim_cli.model.problem import Gap, Reacting
from mbsim_cli.model.units import RATES, force_on
from mbsim_cli.solve.breakpoints import terms_of
from mbsim_cli.spec import sensors
from mbsim_cli.spec.geometry import IDENTITY, ZERO, Geometry, Matrix, Vector, flat, split
from mbsim_cli.spec.geometry import unit as unit_vector
from mbsim_cli.spec.sensors import UNITS, ExpressionSensor

if TYPE_CHECKING:
    from mbsim_cli.spec import special_sensors

PARTS = {"force": "N", "moment": "N m"}  # of reactions


class ReactionTable:
    """Collects reactions. Their equations are numbered from 0: the constraints, then the identities."""

    def __init__(self, system: System, pairs: PairTable, constraints: ConstraintTable, identities: Sequence[Identity]):
        self._system, self._pairs, self._identities = system, pairs, identities
        measures = [constraints.measures.rows[measure].pair for measure in constraints.measure]
        self._pair = [*measures, *(identity.pair for identity in identities)]  # of each equation, NONE of coordinates
        self._equations: dict[str, list[int]] = {}
        for number, name in enumerate([*constraints.names, *(identity.name for identity in identities)]):
            self._equations.setdefault(name.partition(".")[0], []).append(number)
        self._motions: dict[str, list[str]] = {}  # of each joint
        for name, spec in system.model_file.constraints.items():
            if spec.type == "motion":
                self._motions.setdefault(split(spec.coordinate)[0], []).append(name)
        self._rows: list[tuple[int, int, int, int, int, int]] = []
        self._first = [0]
        self._equation: list[int] = []
        self._sign: list[int] = []

    def add(self, spec: Any) -> None:
        """Add a reaction of the model file."""
        system, file = self._system, self._system.model_file
        bodies, joint = spec.bodies(file), spec.joint_of(file)
        on = spec.on or bodies[1]
        joints = system.topology.joints
        column_body = joints.index(joint) if joint in joints else NONE  # a tree joint carries the body of its number
        whole = column_body if spec.constraint is None else NONE
        sign = 1 if column_body != NONE and system.topology.index[on] == column_body else -1
        names = [spec.constraint] if spec.constraint else []
        if not names and whole == NONE:  # a cut joint, with what moves its coordinates
            names = [joint, *self._motions.get(joint, ())]
        for name in names:
            for number in self._equations.get(name, ()):
                pair = self._pair[number]
                on_first = pair != NONE and self._pairs.bodies(pair)[1] != system.topology.index[on]
                self._equation.append(number)
                self._sign.append(-1 if on_first else 1)
        self._first.append(len(self._equation))
        axes_body, axes = self._axes(spec, joint, on, bodies)
        point_body, point = self._point(spec, joint, bodies)
        block = system.theta.add(lambda: (*point(system.geometry), *flat(axes(system.geometry))))
        index = system.topology.index
        self._rows.append((whole, column_body, sign, index[point_body], index[axes_body], block))

    def table(self, model: Model) -> Reacting | None:
        """The reactions as arrays, and the model with identities as further equations."""
        if not self._rows:
            return None
        joint, column_body, sign, point_body, axes_body, theta = zip(*self._rows, strict=True)
        reactions = table(
            Reactions, joint=joint, column_body=column_body, sign=sign, first=self._first, equation=self._equation,
            equation_sign=self._sign, point_body=point_body, axes_body=axes_body, theta=theta,
        )  # fmt: skip
        for array in reactions:
            array.flags.writeable = False
        whole = freeze(_with(model, self._identities)) if self._identities else model
        return Reacting(whole, reactions, len(self._identities))

    def _axes(
        self, spec: sensors.Reaction, joint: str | None, on: str, bodies: tuple[str, str]
    ) -> tuple[str, Callable[[Geometry], Matrix]]:
        """Body that carries the axes of the components, and the axes."""
        if spec.axes == "joint" and joint is not None:
            between = self._system.joints[joint]
            return bodies[0], lambda geometry: joint_frames(geometry, between).R_a
        return (on if spec.axes == "body" else "ground"), lambda geometry: IDENTITY

    def _point(self, spec: Any, joint: str | None, bodies: tuple[str, str]) -> tuple[str, Callable[[Geometry], Vector]]:
        """The joint's point on its second body, or that of the constraint."""
        if joint is not None:
            between = self._system.joints[joint]
            return bodies[1], lambda geometry: joint_frames(geometry, between).p_b
        constraint = self._system.model_file.constraints[spec.constraint]
        place = constraint.points[1] if constraint.type == "distance" else getattr(constraint, "point", None)
        if place is None:
            return bodies[1], lambda geometry: ZERO  # a couple is the same about every point
        body, point = split(place)
        return body, lambda geometry: geometry.point(body, point)


def _with(model: Model, identities: Sequence[Identity]) -> Model:
    """The model with equations that do not depend on coordinates."""
    _, kind, pair, block, target, *_ = zip(*identities, strict=True)
    kept, constraints, count = model.measures, model.constraints, len(identities)
    none, curves, followers = np.full(count, NONE), kept.curves, constraints.followers
    if isinstance(curves, Curves):
        curves = curves._replace(law=np.append(curves.law, none))
    if isinstance(followers, Followers):
        followers = Followers(np.append(followers.column, none))
    measures = kept._replace(
        kind=np.append(kept.kind, kind), pair=np.append(kept.pair, pair), theta=np.append(kept.theta, block),
        first=np.append(kept.first, np.full(count, kept.first[-1])), curves=curves,
    )  # fmt: skip
    more = np.append(constraints.measure, len(kept.kind) + np.arange(count)), np.append(constraints.theta, target)
    constraints = Constraints(*more, np.append(constraints.law, none), followers)
    return model._replace(measures=measures, constraints=constraints)


_COLUMNS = ("kind", "body", "index", "order", "theta")
COMPONENTS = {1: ("value",), 3: ("x", "y", "z")}  # labels by width


@dataclass(frozen=True)
class Entry:
    """A row of ``model.layout.Sensors``, and the unit of its numbers; unused fields keep their defaults."""

    kind: Sensor
    unit: str | tuple[str, ...]
    body: int = NONE
    index: int = NONE
    order: int = 0
    theta: int = 0


class Contact(NamedTuple):
    """Rows of the record with the load and position of a tyre, or of a sphere on a road, for diagnostics."""

    name: str
    rolls: bool  # whether it is a tyre
    load: int  # normal
    place: int  # x of the centre
    road: int  # law of the road


class SensorTable:
    """Collects sensors; ``rows`` gives the rows of the record that each sensor fills.

    Order of the rows: sensors that kernels evaluate, with hidden ones (gaps, tyres) last; reactions; torques; sensors
    that are expressions. ``add_behind`` is called last.
    """

    def __init__(self, system: System, measures: MeasureTable, forces: ForceTable, constraints: ConstraintTable):
        self._system, self._measures, self._forces = system, measures, forces
        self._constraints, self._constraint_units = constraints.names, constraints.units
        self._force_number = {name: number for number, name in enumerate(forces.names)}
        for name, parts in forces.parts.items():
            if parts > 1:
                self._force_number[name] = self._force_number[f"{name}.1"]
        self.equations: dict[str, list[int]] = {}  # by name, and by that of the constraint or cut joint
        for number, name in enumerate(self._constraints):
            for known in dict.fromkeys((name, name.partition(".")[0])):
                self.equations.setdefault(known, []).append(number)
        self.names: list[str] = []
        self.units: list[str | tuple[str, ...]] = []  # one for all components, or one for each
        self.components: list[tuple[str, ...]] = []  # labels
        self.rows: dict[str, slice] = {}
        self._entries: list[Entry] = []
        self._first = [0]
        self.contacts: list[Contact] = []
        self.turns: dict[str, slice] = {}  # rows of the rotation vectors of bushings, by name
        self.gaps: list[Gap] = []
        self._reactions: list[tuple[str, Any]] = []
        self._torques: list[tuple[str, list[str]]] = []
        self.torque_rows: list[tuple[int, float]] = []  # column and sign of each row behind those of the table

    def table(self) -> Sensors:
        """The sensors as arrays."""
        columns = {name: [int(getattr(entry, name)) for entry in self._entries] for name in _COLUMNS}
        return table(Sensors, **columns, first=self._first)

    def add(self, name: str, spec: Any) -> None:
        """Add a sensor of the model file; ``add_behind`` adds those with rows after the table."""
        match spec.type:
            case "reaction":
                self._reactions.append((name, spec))
            case "torque":
                self._torques.append((name, [spec.coordinate]))
            case "torques":
                every = [f"{joint}.{column.coordinate}" for joint, column in self._system.coordinates]
                self._torques.append((name, every if spec.coordinates == "all" else spec.coordinates))
            case "expression":
                pass
            case "deformation":
                self._append(name, self._deformation(spec))
            case "bushing":
                number, first = self._force_number[spec.bushing], BushingQuantity[spec.quantity.upper()]
                unit = UNITS[spec.quantity]
                entries = [Entry(Sensor.TYRE, unit, index=number, order=first + k) for k in range(3)]
                self._append(name, entries)
            case _:
                self._append(name, [self.entry(name, spec)])

    def _append(self, name: str, entries: list[Entry]) -> None:
        """A sensor of some entries in one unit."""
        rows = slice(min(map(self.add_unseen, entries)), self._first[-1])
        self._show(name, entries[0].unit, COMPONENTS[rows.stop - rows.start], rows)

    def _show(self, name: str, unit: str | tuple[str, ...], components: tuple[str, ...], rows: slice) -> None:
        self.names.append(name)
        self.units.append(unit)
        self.components.append(components)
        self.rows[name] = rows

    def add_call(self, force: str) -> None:
        """Add a hidden sensor of the value of a law that objectives or sensors call: x of a force on the ground."""
        row = self.add_unseen(self.entry(force, sensors.ForceSensor(type="force", force=force)))
        self.rows[force] = slice(row, row + 1)

    def add_gaps(self, laws: Laws) -> None:
        """Add hidden sensors of the gaps of stops, contacts and tyres, which the detection of grazing reads."""
        for number, (kind, measure, _, _, law, theta) in enumerate(self._forces.rows):
            row = self._first[-1]
            if kind in (*TYRES, *codes.CONTACTS):
                entry = Entry(Sensor.TYRE, "m", index=number, order=TyreQuantity.DEFLECTION)
                found = [Gap(number, row, 1)]
            else:
                entry = Entry(Sensor.MEASURE, "", index=measure)
                found = [
                    Gap(number, row, 0, (int(laws.theta[term]), theta + NATURAL_VALUE))
                    for term in terms_of(laws, law[1] if kind == Force.ALONG_MEASURE else NONE)
                    if laws.kind[term] == codes.Law.ONE_SIDED and laws.window[term] == NONE
                ]
            if found:
                self.add_unseen(entry)
                self.gaps += found

    def add_unseen(self, entry: Entry) -> int:
        """Add a hidden sensor, which results do not store; return its first row."""
        row = self._first[-1]
        self._entries.append(entry)
        self._first.append(row + codes.SENSOR_WIDTH[entry.kind])
        return row

    def gaps_at(self, theta: np.ndarray) -> tuple[Gap, ...]:
        """All gaps at the numbers theta; the side of a stop follows from the sign of its onset."""
        sides = (gap.side or (1 if theta[gap.begins[0] + 1].real > 0.0 else -1) for gap in self.gaps)
        return tuple(gap._replace(side=side) for gap, side in zip(self.gaps, sides, strict=True))

    def add_contacts(self) -> None:
        """Add hidden sensors for diagnostics: load and position of tyres and spheres on roads, turns of bushings."""
        forces = zip(self._forces.names, self._forces.rows, strict=True)
        for number, (name, (kind, _, pair, _, laws, theta)) in enumerate(forces):
            if kind == Force.BUSHING:
                first = BushingQuantity.ROTATION
                rows = [self.add_unseen(Entry(Sensor.TYRE, "rad", index=number, order=first + k)) for k in range(3)]
                self.turns[name] = slice(rows[0], rows[-1] + 1)
            if kind not in (*TYRES, Force.SPHERE_ON_ROAD):
                continue
            load = self.add_unseen(Entry(Sensor.TYRE, "N", index=number, order=TyreQuantity.NORMAL_LOAD))
            body = self._measures.pairs.bodies(pair)[1]
            place = self.add_unseen(Entry(Sensor.POSITION, "m", body, theta=theta))  # the centre is its first numbers
            self.contacts.append(Contact(name, kind in TYRES, load, place, laws[0]))

    def add_behind(self, reactions: ReactionTable) -> None:
        """Add sensors with rows after those of the table: parts of reactions, then torques, then expressions."""
        system, file = self._system, self._system.model_file
        behind: list[tuple[str, str | tuple[str, ...], tuple[str, ...]]] = []  # name, unit, components
        for name, spec in self._reactions:
            with system.at(f"sensors.{name}"):
                reactions.add(spec)
            behind += [(f"{name}.{part}", unit, COMPONENTS[3]) for part, unit in PARTS.items()]
        for name, names in self._torques:
            found = [system.coordinate(coordinate) for coordinate in names]
            self.torque_rows += [(system.number_of(coordinate), float(coordinate.sign)) for coordinate in found]
            units = tuple(force_on(unit_of(coordinate.name)) for coordinate in found)
            behind.append((name, units, tuple(names) if len(found) > 1 else COMPONENTS[1]))
        for name in file.formulas:
            spec = file.sensors[name]
            assert isinstance(spec, ExpressionSensor)
            behind.append((name, spec.unit, COMPONENTS[file.width_of(name)]))
        row = self._first[-1]
        for name, unit, components in behind:
            self._show(name, unit, components, slice(row, row + len(components)))
            row += len(components)

    def entry(self, name: str, spec: Any) -> Entry:
        """The row of the table for a sensor that has exactly one."""
        kind, path, index = spec.type, f"sensors.{name}", self._system.topology.index
        geometry, theta = self._system.geometry, self._system.theta
        match kind:
            case "position" | "velocity" | "acceleration":
                body, point = split(spec.point)
                offset = theta.add(lambda: geometry.point(body, point))
                return Entry(Sensor[kind.upper()], UNITS[kind], index[body], theta=offset)
            case "direction":
                body, vector = split(spec.vector)
                offset = theta.add(lambda: geometry.vector(body, vector))
                return Entry(Sensor.DIRECTION, UNITS[kind], index[body], theta=offset)
            case "velocity_along" | "acceleration_along":
                (body, point), (carrier, vector) = split(spec.point), split(spec.vector)
                offset = theta.add(
                    lambda: (*geometry.point(body, point), *unit_vector(geometry.vector(carrier, vector)))
                )
                order = 1 if kind == "velocity_along" else 2
                return Entry(Sensor.ALONG, UNITS[kind], index[body], index[carrier], order, offset)
            case "angular_velocity" | "angular_acceleration":
                return Entry(Sensor[kind.upper()], UNITS[kind], index[spec.body])
            case "roll" | "pitch" | "yaw":
                unit = UNITS[kind] + RATES[spec.derivative]
                return Entry(Sensor.ATTITUDE, unit, index[spec.body], codes.Attitude[kind.upper()], spec.derivative)
            case "kinetic_energy" | "potential_energy":
                return Entry(Sensor[kind.upper()], UNITS[kind])
            case "strain_energy":
                number = [deforming.name for deforming in self._system.elastic].index(spec.body)
                return Entry(Sensor.STRAIN_ENERGY, UNITS[kind], index=number)
            case "elastic_coordinate":
                return self._elastic(spec, path)
            case "force":  # along a measure, or on a body; of a contact that of all its parts
                number = self._force_number[spec.force]
                code = Sensor.FORCE if self._forces.rows[number][0] in codes.ALONG else Sensor.FORCE_ON_BODY
                return Entry(code, self._forces.units[number], self._forces.parts.get(spec.force, 0) - 1, number)
            case "tyre":
                number, quantity = self._force_number[spec.tyre], TyreQuantity[spec.quantity.upper()]
                return Entry(Sensor.TYRE, UNITS[spec.quantity], index=number, order=quantity)
            case "contact":
                return self._contact(spec, path)
            case "multiplier":
                number = self._equation(spec.constraint, path)
                unit = force_on(self._constraint_units[number]) if self._constraint_units else "N"
                return Entry(Sensor.MULTIPLIER, unit, index=number)
        return self._of_measure(spec, path)

    def _contact(self, spec: "special_sensors.ContactSensor", path: str) -> Entry:
        """A quantity of a contact, of one of its parts or of all."""
        number, read = self._force_number[spec.contact], ContactQuantity[spec.quantity.upper()]
        parts = self._forces.parts[spec.contact]
        if spec.part is not None and spec.part > parts:
            self._system.issue(f"{path}.part", f"contact {spec.contact!r} has {parts} parts")
        elif spec.part is not None:
            return Entry(Sensor.TYRE, UNITS[spec.quantity], index=number + spec.part - 1, order=read)
        elif parts > 1 and read not in (ContactQuantity.NORMAL_FORCE, ContactQuantity.FRICTION):
            message = f"contact {spec.contact!r} has {parts} parts, each with a {spec.quantity} of its own"
            self._system.issue(f"{path}.quantity", message, "name one by its number, as part: 1")
        return Entry(Sensor.TYRE, UNITS[spec.quantity], parts - 1, number, read)

    def _elastic(self, spec: "special_sensors.ElasticCoordinate", path: str) -> Entry:
        """An elastic coordinate, or a time derivative of it."""
        columns = self._system.elastic_columns(spec.body)
        if spec.number > len(columns):
            message = f"body {spec.body!r} has {len(columns)} elastic coordinates"
            self._system.issue(f"{path}.number", message)
            return Entry(Sensor.COORDINATE, "", index=0)
        unit = "1" + RATES[spec.derivative]
        return Entry(Sensor.COORDINATE, unit, index=columns[spec.number - 1], order=spec.derivative)

    def _deformation(self, spec: "special_sensors.Deformation") -> list[Entry]:
        """Three displacements of a node: weighted sums of elastic coordinates, or columns that their products move."""
        body, node = split(spec.point)
        number = [deforming.name for deforming in self._system.elastic].index(body)
        deforming, columns = self._system.elastic[number], self._system.elastic_columns(body)
        place, entries, unit = deforming.node(node), [], "m" + RATES[spec.derivative]
        assert place is not None  # ``unfolded_system`` has reported it
        bent = self._system.bent_columns(f"{body}:{node}")
        for axis in range(3):
            if axis in bent:
                column, sign = bent[axis]
                measure = self._measures.combination([column], partial(lambda sign: (sign,), sign))
            else:
                shapes = partial(
                    lambda node, axis: deforming.current().nodes[node].phi.M0[:, axis].tolist(), place, axis
                )
                measure = self._measures.combination(columns, shapes)
                row = ShapeRow(deforming, place, axis, self._measures.rows[measure].offset, 1.0)
                self._system.shape_rows.append(row)
            entries.append(Entry(Sensor.MEASURE, unit, index=measure, order=spec.derivative))
        return entries

    def _of_measure(self, spec: Any, path: str) -> Entry:
        """A coordinate, distance or angle, or a time derivative of it."""
        measures, order, unit = self._measures, spec.derivative, UNITS.get(spec.type, "")
        match spec.type:
            case "distance":
                measure = measures.distance(spec.points)
            case "angle":
                measure = measures.angle(spec.vectors, spec.axis, path)
            case "displacement":
                (carrier, origin), (_, direction) = split(spec.points[0]), split(spec.direction)
                measure = measures.projection(carrier, direction, origin, spec.points[1])
            case _:
                coordinate = self._system.coordinate(spec.coordinate)
                joint = self._system.joints[coordinate.joint]
                unit = unit_of(coordinate.name)
                if joint.stands_for == "state":
                    shown = (joint.unit or "1") + RATES[order - 1] if order else integrated(joint.unit)
                    return Entry(Sensor.COORDINATE, shown, index=coordinate.column, order=order)
                if coordinate.column != NONE and coordinate.sign > 0:
                    return Entry(Sensor.COORDINATE, unit + RATES[order], index=coordinate.column, order=order)
                measure = measures.coordinate(spec.coordinate, f"{path}.coordinate")
        return Entry(Sensor.MEASURE, unit + RATES[order], index=measure, order=order)

    def _equation(self, name: str, path: str) -> int:
        """Number of a constraint equation."""
        matches = self.equations.get(name, [])
        if len(matches) == 1:
            return matches[0]
        message = f"{name!r} has {len(matches)} constraint equations; a sensor reads one"
        known = ", ".join(self._constraints[i] for i in matches) or ", ".join(self._constraints) or "there are none"
        self._system.issue(path, message, f"equations: {known}")
        return 0

"""The base of points and vectors that carries each body, chosen once; bodies follow one another as in the tree.

A body takes over the points and vectors that earlier bodies share with it. It completes its base by points of its own
that later bodies will share, or by unit vectors. A body whose axis keeps its direction needs two points only, the
second in a plane.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from mbsim_cli.model.layout import GROUND, R_C
from mbsim_cli.solve.natural.joints import Shared, TreeJoint, is_product_constant
from mbsim_cli.solve.natural.plan import Base, Fields, Group, Local, Plan, Rigid, axis, given

SLANTED = 0.5  # sine of the angle from the axis of a body above which a point serves to turn it
FLAT = 0.1  # sine of the angle from the plane of earlier vectors below which a vector is not one of the base


@dataclass
class _Vector:
    """A candidate for a base."""

    name: str
    field: Callable[[Fields], np.ndarray]
    local: Local
    way: bool = False  # from the origin to a point, m; else a vector without a unit


class Planner:
    """Chooses bases, and places bodies in ``fields`` as it goes."""

    def __init__(self, fields: Fields, joints: Sequence[TreeJoint], shared: Sequence[Shared], names: Sequence[str]):
        self.fields, self.joints, self.names = fields, joints, names
        self.shared = [*(s for joint in joints for s in joint.shared()), *shared]
        self.plan = Plan()
        for joint in joints:
            self._add(joint)

    def _add(self, joint: TreeJoint) -> None:
        body = joint.child
        known = [s for s in self.shared if body in (s.a, s.b) and s.other(body) in self.fields.poses]
        later = [s for s in self.shared if body in (s.a, s.b) and s.other(body) not in self.fields.poses and s.point]
        points = sorted((s for s in known if s.point), key=lambda s: s.name != joint.name)
        if points:  # a known point; else one that slides along a constant direction, or a new one
            origin, at = _field_of(points[0], body), points[0].on(body)
        else:
            at = joint.points[1]
            origin = self._sliding(joint) or self._group(joint.name, body, at, True, _global_axes)
        chosen: list[_Vector] = []
        vectors = [_Vector(s.name, _field_of(s, body), s.on(body)) for s in known if not s.point]
        vectors += [_Vector(s.name, _less(_field_of(s, body), origin), _less(s.on(body), at), True) for s in points]
        for vector in vectors:
            if self._adds(chosen, vector.local):
                chosen.append(vector)
        flat = [v for v in chosen if self.fields.is_constant(v.field(self.fields))]
        if len(chosen) < 3 and flat:  # the body turns about u only
            u = flat[0]
            if all(v is u for v in chosen):
                chosen.append(self._across(body, u, later, origin, at))
            chosen.append(_product(u, next(v for v in chosen if v is not u)))
        while len(chosen) < 3:
            self._own(body, joint, chosen, later, origin, at)
        ways = [v.local for v in chosen if v.way]
        base = Base(body, origin, [v.field for v in chosen], [at, *(v.local for v in chosen)], ways)
        base.place(self.fields)
        self.plan.bases.append(base)
        self._keep_rigid(body, chosen)

    def _sizes(self, local: Local) -> np.ndarray:
        return local(self.fields.theta)[0].real

    def _adds(self, chosen: list[_Vector], local: Local) -> bool:
        """Whether a vector is linearly independent of those of a base, which needs three."""
        x = self._sizes(local)
        return len(chosen) < 3 and bool(np.linalg.norm(self._beside(chosen, x)) > FLAT * np.linalg.norm(x))

    def _sliding(self, joint: TreeJoint) -> Callable[[Fields], np.ndarray] | None:
        """The child's point of a joint that slides in a direction that stays, or normal to one; None for others."""
        parent, slides, turned, (on_parent, on_child) = joint.parent, joint.slides, set(joint.turns), joint.points
        if joint.spherical or len(turned) > 1 or len(slides) not in (1, 2):
            return None
        in_plane = len(slides) == 2
        kept = 3 - sum(slides) if in_plane else slides[0]  # the plane's normal, or the axis
        if not turned <= {kept} or not self.fields.is_constant(self.fields.vector(parent, joint.axis_of(True, kept))):
            return None

        def direction(fields: Fields) -> np.ndarray:
            return fields.vector(parent, joint.axis_of(True, kept))[:, :, 0]

        along = self._plane(direction) if in_plane else lambda fields: direction(fields)[:, None]
        labels = ("s1", "s2") if in_plane else ("s",)
        return self._group(
            joint.name, joint.child, on_child, True, along, lambda fields: fields.point(parent, on_parent), labels
        )

    def _plane(self, normal: Callable[[Fields], np.ndarray]) -> Callable[[Fields], np.ndarray]:
        """Two vectors normal to one (T, 3) that keeps its direction, and to each other."""
        n = normal(self.fields)[0].real
        reference = np.eye(3)[np.argmin(np.abs(n))]

        def along(fields: Fields) -> np.ndarray:
            n = normal(fields)
            n = n / np.sqrt((n * n).sum(axis=1))[:, None]
            e = reference - (n @ reference)[:, None] * n
            e = e / np.sqrt((e * e).sum(axis=1))[:, None]
            return np.stack([e, np.cross(n, e)], axis=1)

        return along

    def _group(
        self, name: str, body: int, local: Local, point: bool, along: Callable, origin: Callable | None = None,
        labels: tuple[str, ...] = ("x", "y", "z"), arm: float = np.inf,
    ) -> Callable[[Fields], np.ndarray]:  # fmt: skip
        """New coordinates, and the field that they give."""
        columns, arm = self.plan.new(len(labels)), arm if point else 1.0
        name = f"{self.names[body]}.{name}"
        self.plan.groups.append(Group(name, body, local, point, columns, along, origin, labels, arm))

        def made(fields: Fields) -> np.ndarray:
            own = fields.coordinates(columns, along(fields))
            return own if origin is None else own + origin(fields)

        return made

    def _across(self, body: int, u: _Vector, later: list[Shared], origin: Callable, at: Local) -> _Vector:
        """A way to a point that others will share, or an axis of the body, across u: two coordinates in a plane."""
        n = self._sizes(u.local) / np.linalg.norm(self._sizes(u.local))
        along = self._plane(lambda fields: u.field(fields)[:, :, 0])
        for s in later:
            way = _less(s.on(body), at)
            x = self._sizes(way)
            if np.linalg.norm(np.cross(n, x)) > SLANTED * np.linalg.norm(x):
                arm = float(np.linalg.norm(np.cross(n, x)))
                height = partial(_height, u, way, origin)
                point = self._group(s.name, body, s.on(body), True, along, height, ("1", "2"), arm)
                return _Vector(s.name, _less(point, origin), way, True)
        k = int(np.argmin(np.abs(n)))
        local = given(np.eye(3)[k])
        name, height = f"axis_{'xyz'[k]}", partial(_height, u, local, None)
        return _Vector(name, self._group(name, body, local, False, along, height, ("1", "2")), local)

    def _own(
        self, body: int, joint: TreeJoint, chosen: list[_Vector], later: list[Shared], origin: Callable, at: Local
    ) -> None:
        """A further vector of the base: the way to a point that others will share, or a unit vector."""
        for s in later:
            way = _less(s.on(body), at)
            if self._adds(chosen, way):
                point = self._group(s.name, body, s.on(body), True, _global_axes)
                chosen.append(_Vector(s.name, _less(point, origin), way, True))
                return
        axes = [axis(joint.offset + R_C, k) for k in range(3)]
        local = max(axes, key=lambda local: float(np.linalg.norm(self._beside(chosen, self._sizes(local)))))
        name = f"axis_{len(chosen) + 1}"
        vector = self._group(name, body, local, False, _global_axes)
        chosen.append(_Vector(name, vector, local))

    def _beside(self, chosen: list[_Vector], x: np.ndarray) -> np.ndarray:
        """The part of x normal to vectors of the base."""
        if not chosen:
            return x
        units = [self._sizes(v.local) / np.linalg.norm(self._sizes(v.local)) for v in chosen]
        q, _ = np.linalg.qr(np.array(units).T)
        return x - q @ (q.T @ x)

    def _keep_rigid(self, body: int, chosen: list[_Vector]) -> None:
        """Equations of rigidity that do not follow from earlier ones."""
        fields = self.fields
        kept = [v for v in chosen if v.name != "cross"]
        made = [v.field(fields) for v in kept]
        beside = {s.other(body) for s in self.shared if body in (s.a, s.b)}
        holders = [GROUND, *(h for h in beside if h not in (body, GROUND) and h in fields.poses)]
        carried = [{h for h in holders if fields.carried(h, x, point=False)} for x in made]
        for i in range(len(kept)):
            for j in range(i, len(kept)):
                pair = made[i], made[j]
                follows = any(fields.is_constant(x) and is_product_constant(x, y) for x, y in (pair, pair[::-1]))
                if carried[i] & carried[j] or follows:
                    continue
                a, b = kept[i], kept[j]
                scale = float(np.linalg.norm(self._sizes(a.local)) * np.linalg.norm(self._sizes(b.local)))
                name = f"{self.names[body]}.{a.name}" + ("" if i == j else f".{b.name}")
                self.plan.rigid.append(Rigid(name, body, a.local, b.local, scale))


def _product(u: _Vector, x: _Vector) -> _Vector:
    """The cross product of a vector that keeps its direction with another one."""
    return _Vector(
        "cross",
        lambda fields: np.cross(u.field(fields)[:, :, :1], x.field(fields), axis=1),
        lambda theta: np.cross(u.local(theta), x.local(theta)),
    )


def _global_axes(fields: Fields) -> np.ndarray:
    return np.broadcast_to(np.eye(3), (len(fields.theta), 3, 3))


def _height(u: _Vector, local: Local, origin: Callable | None, fields: Fields) -> np.ndarray:
    """The part along u, which keeps its direction, of a vector of a body, or of the point that it leads to."""
    own, n = local(fields.theta), u.local(fields.theta)
    field = u.field(fields)
    found = ((n * own).sum(axis=1) / (n * n).sum(axis=1))[:, None, None] * field
    if origin is None:
        return found
    e = field[:, :, 0] / np.sqrt((field[:, :, 0] ** 2).sum(axis=1))[:, None]
    return found + e[:, :, None] * np.einsum("ta,tac->tc", e, origin(fields))[:, None]


def _less(x: Callable, y: Callable) -> Callable:
    """The difference of two points or vectors, as functions of theta or of fields."""
    return lambda at: x(at) - y(at)


def _field_of(s: Shared, body: int) -> Callable[[Fields], np.ndarray]:
    """The shared point or vector as the other body carries it."""
    other = s.other(body)
    return lambda fields: (fields.point if s.point else fields.vector)(other, s.on(other))

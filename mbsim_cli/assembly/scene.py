"""Drawings of a mechanism: solids, outlines, and their motion."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.elements.laws import LawTable, RoadTable
from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.tree.body_blocks import tree_table, with_elastic
from mbsim_cli.assembly.tree.elastic import ElasticBody, Source
from mbsim_cli.assembly.tree.joints import both
from mbsim_cli.assembly.tree.kinematics import poses
from mbsim_cli.assembly.tree.system import System, held_as_in_run, unfolded_system
from mbsim_cli.assembly.tree.topology import PairTable
from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.model.layout import GROUND, FlexibleTree, Laws, Tree
from mbsim_cli.model.pictures import Line, Scene, Solid, Surface
from mbsim_cli.reduction.mesh import ShapedMesh, drawn_edges, read_surface
from mbsim_cli.solve.natural.system import NaturalSystem
from mbsim_cli.spec.geometry import AXES, carries, frame, mass_properties, shape_center, split
from mbsim_cli.spec.model_file import ModelFile

FLAT = 1e-6  # extent across, relative to the largest, below which points lie in a plane or on a line
FOLD = 1 - 1e-6  # cosine above which two facets are one face

Edges = list[tuple[int, int]]


def outline(points: np.ndarray) -> tuple[Edges, Edges]:
    """Edges of the hull of distinct points (k, 3), and edges from the points inside it to the nearest corners."""
    if len(points) < 2:
        return [], []
    centred = points - points.mean(axis=0)
    _, extents, axes = np.linalg.svd(centred, full_matrices=False)
    rank = int((extents > FLAT * extents[0]).sum())
    if rank == 1:
        order = np.argsort(centred @ axes[0], kind="stable")
        return [(int(a), int(b)) for a, b in pairwise(order)], []
    if rank == 2:
        from scipy.spatial import ConvexHull

        around = ConvexHull(centred @ axes[:2].T).vertices.tolist()
        hull = list(zip(around, around[1:] + around[:1], strict=True))
    else:
        hull = _faces(centred)
    corners = sorted({corner for edge in hull for corner in edge})
    inside = [k for k in range(len(points)) if k not in corners]
    return hull, [(k, min(corners, key=lambda c: float(np.linalg.norm(points[c] - points[k])))) for k in inside]


def _faces(points: np.ndarray) -> Edges:
    """Edges of the hull where it has a fold; without the diagonals that split plane faces."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    facets: dict[tuple[int, int], list[np.ndarray]] = {}
    for corners, plane in zip(hull.simplices, hull.equations, strict=True):
        for a, b in combinations(sorted(map(int, corners)), 2):
            facets.setdefault((a, b), []).append(plane[:3])
    return sorted(edge for edge, normals in facets.items() if float(normals[0] @ normals[-1]) < FOLD)


AROUND = 36  # chords of a circle
RIM = 0.6  # radius, of the tread's
TREAD = 0.6  # width over radius: tyres have a radius only


def wire_frame(numbers: Numbers, shape: Any) -> list[np.ndarray]:
    """Polylines (k, 3) of a shape in its body's axes; none of a point mass."""
    center = np.array(shape_center(numbers, shape), dtype=float)
    if shape.type in ("rod", "cylinder"):
        axis = AXES[shape.axis or "x"]
        half = 0.5 * float(numbers(shape.length)) * np.eye(3)[axis]
        if shape.type == "rod":
            return [np.array([center - half, center + half])]
        circle, quarters = _circle(radius := float(numbers(shape.radius)), axis), range(0, AROUND, AROUND // 4)
        ends = [center - half + circle, center + half + circle]
        if np.linalg.norm(half) > radius:  # along a long one four lines
            return ends + [np.array([center - half + circle[k], center + half + circle[k]]) for k in quarters]
        # across a wheel two diameters that show how it turns
        return ends + [center + np.array([circle[k], circle[k + AROUND // 2]]) for k in quarters[:2]]
    if shape.type == "box":
        half = 0.5 * np.array(numbers.vector(shape.size), dtype=float)
        corners = [np.array(signs) for signs in product((-1.0, 1.0), repeat=3)]
        edges = ((a, b) for a in corners for b in corners if (b - a).sum() == 2 and np.count_nonzero(b - a) == 1)
        return [center + half * np.array(edge) for edge in edges]
    if shape.type == "sphere":
        return [center + _circle(float(numbers(shape.radius)), axis) for axis in range(3)]
    return []


def solid(numbers: Numbers, shape: Any, body: int) -> Solid | None:
    """The solid of a shape; None of one without a thickness."""
    center = np.array(shape_center(numbers, shape), dtype=float)
    if shape.type == "box":
        return Solid("box", body, center, np.eye(3), np.array(numbers.vector(shape.size), dtype=float))
    if shape.type == "sphere":
        return Solid("sphere", body, center, np.eye(3), np.full(3, 2.0 * float(numbers(shape.radius))))
    if shape.type == "cylinder":
        across, length = 2.0 * float(numbers(shape.radius)), float(numbers(shape.length))
        axes = np.roll(np.eye(3), 2 - AXES[shape.axis or "x"], axis=1)  # its z is the axis
        return Solid("cylinder", body, center, axes, np.array([across, across, length]))
    return None


def wheel(center: np.ndarray, axis: np.ndarray, radius: float) -> list[np.ndarray]:
    """Polylines (k, 3) of a tyre about an axis: tread, rim, and two diameters that show how it turns."""
    turn = np.array(frame(tuple(axis)), dtype=float)  # its z is the axis
    tread = _circle(radius, 2) @ turn.T
    rim = RIM * tread
    return [center + line for line in (tread, rim, rim[:: AROUND // 2][:2], rim[AROUND // 4 :: AROUND // 2][:2])]


def _circle(radius: float, axis: int) -> np.ndarray:
    """A closed circle about the origin, across an axis."""
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND + 1)
    points = np.zeros((AROUND + 1, 3))
    points[:, (axis + 1) % 3], points[:, (axis + 2) % 3] = radius * np.cos(angle), radius * np.sin(angle)
    return points


SAME = 1e-9  # m: points nearer than this are one
AT_JOINTS = {"spring_damper": "spring", "rotational_spring_damper": "spiral"}  # forces along a coordinate, as lines
SLIDERS = ("prismatic", "cylindrical")


class RoadBelow(NamedTuple):
    """A road, and the tyres on it."""

    law: int  # height along x, m
    centers: tuple[int, ...]  # points of the scene
    radius: float  # of the largest tyre, m


class Deforming(NamedTuple):
    """Points of the scene (m,) on a mesh, their displacements (n, m, 3) by its body's coordinates, numbered (n,)."""

    points: np.ndarray
    shapes: np.ndarray
    coordinates: np.ndarray


@dataclass(frozen=True)
class MovingScene:
    """A scene with the tree that moves it; meshes are drawn deformed ``exaggeration`` times as much as they are."""

    scene: Scene
    coordinates: tuple[str, ...]  # names as results store them
    tree: Tree | FlexibleTree
    theta: np.ndarray
    deforming: tuple[Deforming, ...] = ()
    exaggeration: float = 1.0
    meshes: Mapping[str, ShapedMesh] = field(default_factory=dict)  # by body
    roads: tuple[RoadBelow, ...] = ()
    laws: Laws | None = None  # of the roads
    system: NaturalSystem | None = None  # of natural coordinates, where these move it

    def heights(self, road: RoadBelow, x: np.ndarray) -> np.ndarray:
        """Heights (k,) of a road at places x (k,), m."""
        assert self.laws is not None
        return np.array([law_value(self.laws, self.theta, road.law, place)[0].real for place in x.tolist()])

    def deformed(self, body: str, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Global places, as they are drawn, and displacements (N, 3) of the points of a mesh at coordinates z (n,)."""
        (origins, rotations), mesh = self.poses(z), self.meshes[body]
        number = self.scene.bodies.index(body)
        own = dict(zip(self.meshes, self.deforming, strict=True))[body].coordinates
        R: np.ndarray = np.array(rotations[number])
        displaced = np.tensordot(self.of_tree(z)[own], mesh.shapes, 1) @ R.T
        return mesh.points @ R.T + np.array(origins[number]) + self.exaggeration * displaced, displaced

    def positions(self, z: np.ndarray) -> np.ndarray:
        """Global positions (P, 3) of the scene's points at coordinates z (n,)."""
        local = self.scene.local
        if self.deforming:
            local, bent = local.copy(), self.of_tree(z)
            for mesh in self.deforming:
                local[mesh.points] += self.exaggeration * np.tensordot(bent[mesh.coordinates], mesh.shapes, 1)
        found = local.copy()
        for body, (r, R) in enumerate(zip(*self.poses(z), strict=True)):
            mine = self.scene.body == body
            found[mine] = found[mine] @ np.array(R).T + np.array(r)
        return found

    def poses(self, z: np.ndarray) -> tuple[Any, Any]:
        """Origins and rotation matrices of all bodies; also between two time points those of rigid ones."""
        if self.system is not None:
            return self.system.poses(z)
        at = poses(self.tree, self.theta.tolist(), z.tolist())
        return at.r, at.R

    def of_tree(self, z: np.ndarray) -> np.ndarray:
        """Elastic coordinates at their places among those of the tree."""
        if self.system is None:
            return z
        ours, theirs = self.system.elastic
        found = np.zeros(len(self.system.problem.names.coordinates))
        found[theirs] = z[ours]
        return found


def in_natural_coordinates(moving: MovingScene, system: NaturalSystem) -> MovingScene:
    """A scene as natural coordinates move it."""
    return replace(moving, coordinates=system.coordinate_names, system=system)


def moving_scene(
    model_file: ModelFile, standard_input: Source | None = None, exaggeration: float = 1.0,
    coordinates: Sequence[str] | None = None,
) -> MovingScene:  # fmt: skip
    """The scene of a model: its bodies, joints, springs and ground points.

    ``standard_input`` gives the data of bodies that deform, whose meshes are drawn deformed ``exaggeration`` times. No
    constraint holds points of joints along axes that are not among the ``coordinates`` of a run, if these are known.
    """
    if coordinates is not None:
        model_file = held_as_in_run(model_file, coordinates)
    system = unfolded_system(model_file, standard_input)
    rigid = tree_table(system)
    tree = with_elastic(system, rigid, PairTable(rigid.parent.tolist(), rigid.first_column.tolist()))
    drawing = _Drawing(system)
    scene = drawing.scene()
    laws = LawTable(system)
    roads = tuple(drawing.roads(RoadTable(system, laws)))
    names, theta = system.coordinate_names(), system.theta.values()
    deforming = tuple(drawing.deforming)
    return MovingScene(scene, names, tree, theta, deforming, exaggeration, drawing.meshes, roads, laws.table())


class _Drawing:
    """Collects points and lines."""

    def __init__(self, system: System):
        self._system, self._geometry, self._numbers = system, system.geometry, system.theta.numbers
        self._index = system.topology.index
        self._local: list[np.ndarray] = []
        self._body: list[int] = []
        self._names: dict[str, int] = {}
        self._lines: list[Line] = []
        self._solids: list[Solid] = []
        self._surfaces: list[Surface] = []
        self._left_out: list[str] = []
        self._elastic = {body.name: body for body in system.elastic}
        self._places = {name: f"{joint.body.name}.{joint.node.name}" for name, joint in system.node_joints()}
        self.deforming: list[Deforming] = []
        self.meshes: dict[str, ShapedMesh] = {}

    def scene(self) -> Scene:
        model = self._system.model_file
        holding = [spec for spec in model.joints.values() if spec.type != "floating" and not spec.stands_for]
        joints = [self._ends(spec)[0] for spec in holding]
        for kind, specs in (("spring", model.forces), ("rod", model.constraints)):
            for spec in specs.values():
                if (points := getattr(spec, "points", None)) is not None:
                    line = Line(kind, GROUND, tuple(self._named(*split(reference)) for reference in points))
                    self._lines += [line] if line not in self._lines else []
        self._lines += self._at_joints(model)
        for name in self._index:
            for point, given in model.points.items():
                if carries(given, name):
                    self._named(name, point)
        for name in self._places:
            self._named(name, "origin")
        ground = tuple(k for k, body in enumerate(self._body) if body == GROUND)
        for name, body in model.bodies.items():
            if name in self._elastic:
                self._draw_mesh(self._index[name], self._elastic[name])
            elif name not in self._places and not getattr(model.joints.get(name), "stands_for", ""):
                self._draw(self._index[name], name, body)
                self._draw_visuals(self._index[name], name, body.visuals)
        gravity = np.array(self._numbers.vector(model.gravity), dtype=float)
        vertical = int(np.argmax(np.abs(gravity))) if gravity.any() else 2  # z upwards without gravity
        return Scene(
            bodies=self._system.topology.bodies,
            local=np.array(self._local, dtype=float).reshape(-1, 3),
            body=np.array(self._body, dtype=int),
            names=self._names,
            lines=tuple(self._lines),
            joints=tuple(joints),
            ground=ground,
            up=(vertical, 1 if gravity[vertical] <= 0 else -1),
            solids=tuple(self._solids),
            surfaces=tuple(self._surfaces),
            left_out=tuple(self._left_out),
        )

    def roads(self, table: RoadTable) -> Iterator[RoadBelow]:
        """Roads, each with the centres of its tyres."""
        found: dict[int, list[Any]] = {}
        for name, spec in self._system.model_file.forces.items():
            if spec.type == "tyre":
                found.setdefault(table.number(spec.road, f"forces.{name}.road"), []).append(spec)
        for law, tyres in found.items():
            centers = tuple(self._named(*split(tyre.center)) for tyre in tyres)
            yield RoadBelow(law, centers, max(float(self._numbers(tyre.radius)) for tyre in tyres))

    def _at_joints(self, model: Any) -> Iterator[Line]:
        """Springs along coordinates of joints, and guides between the two points of each other slider."""
        sprung = set()
        for spec in model.forces.values():
            joint, kind = (getattr(spec, "coordinate", None) or "").rpartition(".")[0], AT_JOINTS.get(spec.type)
            if kind and joint in model.joints and joint not in sprung:
                sprung.add(joint)
                yield Line(kind, GROUND, self._ends(model.joints[joint]))
        for name, spec in model.joints.items():
            if spec.type in SLIDERS and name not in sprung and not spec.stands_for:
                yield Line("slide", GROUND, self._ends(spec))

    def _ends(self, joint: Any) -> tuple[int, ...]:
        """Points of a joint on both of its bodies."""
        return tuple(self._named(*place) for place in zip(joint.bodies, both(joint.point), strict=True))

    def _draw(self, number: int, name: str, spec: Any) -> None:
        """Add the lines of a body: its shape, and the outline of its points."""
        corners = self._distinct(number)
        frame = [] if spec.shape is None else wire_frame(self._numbers, spec.shape)
        if len(corners) > 1 and _is_shown_by_points(spec):
            frame = []
        shaped = None if spec.shape is None else solid(self._numbers, spec.shape, number)
        self._solids += [] if shaped is None else [shaped]
        frame += self._wheels(number, name)
        for reserve in ("center_of_mass", "origin"):
            named = self._named(name, reserve)
            if len(corners) < 2 and not frame and not self._near(named, corners):
                corners.append(named)
        if len(corners) < 2 and not frame:
            centre = self._local[self._named(name, "center_of_mass")]
            mass, _, inertia = mass_properties(self._numbers, self._geometry, name)
            size = float(np.sqrt(sum(inertia[:3]) / (2.0 * mass))) if mass else 0.0  # the radius of gyration
            frame = [np.array([centre - end, centre + end]) for end in size * np.eye(3)]
        for polyline in frame:
            self._lines.append(Line("shape", number, tuple(self._add(number, point) for point in polyline)))
        for kind, edges in zip(("body", "shape"), outline(np.array([self._local[k] for k in corners])), strict=True):
            self._lines += [Line(kind, number, (corners[a], corners[b])) for a, b in edges]

    def _draw_visuals(self, number: int, name: str, visuals: Any) -> None:
        """Add the surfaces of a body; one whose file cannot be read is skipped, as the motion does not need it."""
        for at, visual in enumerate(visuals):
            try:
                path = self._system.model_file.source.file_at(f"bodies.{name}.visuals[{at}]", visual.mesh)
                given, triangles = read_surface(path)
            except (InputOutputError, UsageError) as error:
                self._left_out.append(f"{name} is drawn without its surface: {error}")
                continue
            scale, place = (
                np.full(3, default) if stated is None else np.array(self._numbers.vector(stated), dtype=float)
                for stated, default in ((visual.scale, 1.0), (visual.position, 0.0))
            )
            turn = np.eye(3) if visual.orientation is None else np.array(self._geometry.rotation(visual.orientation))
            points = place + (given * scale) @ turn.astype(float).T
            edges = drawn_edges(points, triangles, "triangle")
            self._surfaces.append(Surface(number, points, triangles, edges))
            self._add_edges(number, points, edges)

    def _draw_mesh(self, number: int, body: ElasticBody) -> None:
        """Add the edges of a body's mesh; of one without, lines from its frame to its nodes."""
        mesh = body.mesh()
        if mesh is None:
            origin = self._named(body.name, "origin")
            nodes = (joint.place() for _, joint in self._system.node_joints() if joint.body is body)
            self._lines += [Line("body", number, (origin, self._add(number, place))) for place in nodes]
            return
        self.meshes[body.name] = mesh
        used, places = self._add_edges(number, mesh.points, drawn_edges(mesh.points, mesh.cells, mesh.kind))
        own = [i for i, (owner, _) in enumerate(self._system.coordinates) if owner == body.name]
        self.deforming.append(Deforming(places, mesh.shapes[:, used], np.array(own)))

    def _add_edges(self, number: int, points: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Add lines (e, 2) between points (k, 3); return the points used, and their numbers in the scene."""
        used, ends = np.unique(edges, return_inverse=True)
        places = np.array([self._add(number, point) for point in points[used]])
        self._lines += [Line("mesh", number, (a, b)) for a, b in places[ends.reshape(edges.shape)].tolist()]
        return used, places

    def _wheels(self, number: int, name: str) -> list[np.ndarray]:
        """Polylines of the tyres on a body, whose solids are added."""
        found: list[np.ndarray] = []
        for spec in self._system.model_file.forces.values():
            if spec.type == "tyre" and split(spec.center)[0] == name:
                center = self._geometry.point(name, split(spec.center)[1])
                axis = self._geometry.vector(name, split(spec.axis)[1])
                radius = float(self._numbers(spec.radius))
                found += wheel(np.array(center), np.array(axis), radius)
                turn = np.array(frame(tuple(axis)), dtype=float)
                size = radius * np.array([2.0, 2.0, TREAD])
                self._solids.append(Solid("wheel", number, np.array(center, dtype=float), turn, size))
        return found

    def _distinct(self, body: int) -> list[int]:
        """Points of a body, one for each place."""
        found: list[int] = []
        for k, carrier in enumerate(self._body):
            if carrier == body and not self._near(k, found):
                found.append(k)
        return found

    def _near(self, point: int, others: list[int]) -> bool:
        return any(np.abs(self._local[point] - self._local[k]).max() < SAME for k in others)

    def _named(self, body: str, point: str) -> int:
        """Number of a point of a body; a place on a body that deforms is called as the file calls it."""
        name = self._places[body] if point == "origin" and body in self._places else f"{body}.{point}"
        if name not in self._names:
            self._names[name] = self._add(self._index[body], self._geometry.point(body, point))
        return self._names[name]

    def _add(self, body: int, local: Any) -> int:
        self._body.append(body)
        self._local.append(np.array(local, dtype=float))
        return len(self._body) - 1


def _is_shown_by_points(spec: Any) -> bool:
    """Whether a body is a rod; one whose length nothing else uses is there to be drawn."""
    if spec.shape is None or spec.shape.type != "rod":
        return False
    return spec.inertia is None or (spec.center_of_mass is None and spec.shape.center is None)

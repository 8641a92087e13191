"""A motion as pictures show it: films, pages, fields of elements, tables of poses."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import numpy as np

from mbsim_cli import spec
from mbsim_cli.assembly.problem import Assembled
from mbsim_cli.assembly.scene import MovingScene, RoadBelow, in_natural_coordinates, moving_scene
from mbsim_cli.assembly.tree.joints import both
from mbsim_cli.errors import InputOutputError, MbsimError, ModelError, UsageError
from mbsim_cli.io.findings import fields_of, shape_of
from mbsim_cli.io.results import ResultFile
from mbsim_cli.io.sid_file import read_shaped_mesh
from mbsim_cli.io.tables import Column
from mbsim_cli.io.target import is_result, is_vtk
from mbsim_cli.model.layout import GROUND
from mbsim_cli.model.pictures import Line, Scene
from mbsim_cli.model.units import quotient
from mbsim_cli.reduction.mesh import drawn_edges, skin, write_vtu
from mbsim_cli.reduction.reduce import ShapedMesh
from mbsim_cli.report.camera import view_of
from mbsim_cli.report.panels import Cells
from mbsim_cli.spec.geometry import split
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.study.assembling import Settings, build
from mbsim_cli.study.pictures.selection import hint
from mbsim_cli.study.reduced_bodies import flexible_bodies, standard_input
from mbsim_cli.study.result import Poses, Result, interpolated
from mbsim_cli.system import cached_property

if TYPE_CHECKING:
    from mbsim_cli.report.stage import Film


MOST_FRAMES = 1_000_000
FINE = 8  # places of a trace for each frame
ROAD_POINTS = 200
NO_BODIES = "the model has no bodies to draw"


class MovingModel:
    """A mechanism at F times: the scene that moves, its model file, its coordinates ``z`` (F, n) at ``time`` (F,)."""

    path: Path
    file: ModelFile
    moving: MovingScene
    time: np.ndarray
    z: np.ndarray

    @cached_property
    def positions(self) -> np.ndarray:
        """Places (F, P, 3) of the scene's points."""
        return np.array([self.moving.positions(row) for row in self.z])

    @property
    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Origins (F, bodies, 3) of the bodies, and their quaternions (F, bodies, 4), the scalar last."""
        from scipy.spatial.transform import Rotation

        poses = [self.moving.poses(z) for z in self.z]
        shape = len(poses), len(self.moving.scene.bodies)
        origins = np.array([r for r, _ in poses], dtype=float).reshape(*shape, 3)
        rotations = np.array([R for _, R in poses], dtype=float).reshape(-1, 3, 3)
        turned = Rotation.from_matrix(rotations).as_quat() if len(rotations) else np.zeros((0, 4))
        return origins, turned.reshape(*shape, 4)

    def below(self, road: RoadBelow) -> tuple[np.ndarray, np.ndarray]:
        """Ends along x and along y of the part of a road below the tyres that roll on it and a little further."""
        low, high = (np.array(end(self.positions[:, road.centers], axis=(0, 1))) for end in (np.min, np.max))
        x, y = (np.array([low[k] - far * road.radius, high[k] + far * road.radius]) for k, far in ((0, 2.0), (1, 1.0)))
        return x, y


class StartModel(MovingModel):
    """An assembled model at t = 0, its loops closed and its bodies not deformed."""

    def __init__(self, path: Path, file: ModelFile, assembled: Assembled):
        self.path, self.file, self.time = path, file, np.zeros(1)
        self.moving = moving_scene(file, standard_input, coordinates=assembled.equations.problem.names.coordinates)
        closed = assembled.closing.z
        self.z = np.append(closed, np.zeros(len(self.moving.coordinates) - len(closed)))[None]


class ResultModel(MovingModel):
    """The mechanism of a result, whose stored model is read again."""

    def __init__(self, content: ResultFile, exaggeration: float | None = None):
        """``exaggeration`` is how many times larger deformations are drawn; None: as they are."""
        self.path = content.path
        if not len(content.time):
            raise InputOutputError(f"{content.path} holds no time points to draw")
        self.time, self.z = content.time, content.motion()[0]
        model, self.title = content.model, content.title
        try:
            file = spec.load(model.file, model.overrides, model.texts)
            if exaggeration is not None and not flexible_bodies(file):
                raise UsageError(f"--exaggerate is for bodies that deform; {content.path} has none")
            fields = fields_of(content.path, checked=True).items()  # those of an optimum differ from the model's text
            stored = {name: found.values for name, found in fields if name in file.fields}
            self.file = file = file.with_fields(stored) if stored else file
            larger = 1.0 if exaggeration is None else exaggeration
            self.moving = moving_scene(file, standard_input, larger)
            if list(self.moving.coordinates) != content.coordinates:
                released = moving_scene(file, standard_input, larger, content.coordinates)
                is_alike = list(released.coordinates) == content.coordinates
                self.moving = released if is_alike else _natural(self.moving, file, content)
        except ModelError as error:
            raise InputOutputError(f"{content.path}: the model stored with it is invalid: {error.issues[0]}") from error
        if list(self.moving.coordinates) != content.coordinates:
            raise InputOutputError(f"{content.path}: its coordinates are not those of the model stored with it")


class FilmedModel(ResultModel):
    """The mechanism of a result at the time points of a film, whose motion lasts ``duration``."""

    duration: float

    def __init__(self, content: ResultFile, exaggeration: float | None = None):
        super().__init__(content, exaggeration)
        if not self.moving.scene.names:
            raise InputOutputError(f"{content.path}: {NO_BODIES}")

    def _coordinates(self, times: np.ndarray) -> np.ndarray:
        """Coordinates (F, n) at times of the film."""
        raise NotImplementedError

    def film(
        self, traces: Sequence[str], view: str | None, follow: str | None, size: tuple[int, int], title: str
    ) -> "Film":
        """The film with its points by name; raises UsageError for names that are not in the model."""
        from mbsim_cli.report.stage import Film

        scene = self.moving.scene
        bodies = [body for body in scene.bodies if f"{body}.origin" in scene.names]
        if follow is not None and follow not in bodies:
            raise UsageError(f"--follow: there is no body {follow!r}{hint(follow, bodies)}")
        for name in traces:
            if name not in scene.names:
                raise UsageError(f"--trace: there is no point {name!r}{hint(name, scene.names)}")
        tracing = [scene.names[name] for name in traces]
        between = np.linspace(0, len(self.time) - 1, 1 + (len(self.time) - 1) * FINE) if tracing else np.zeros(0)
        moments = np.interp(between, np.arange(len(self.time)), self.time)
        paths = [self.moving.positions(z)[tracing] for z in self._coordinates(moments)] if tracing else []
        return Film(
            scene=scene,
            time=self.time,
            positions=self.positions,
            view=view_of(view, scene.up, self.positions),
            traces=tracing,
            traced=(moments, np.array(paths).reshape(len(moments), len(tracing), 3)),
            roads=[line for road in self.moving.roads for line in self._road(road)],
            follow=None if follow is None else scene.names[f"{follow}.origin"],
            size=size,
            title=title,
        )

    def _road(self, road: RoadBelow) -> list[np.ndarray]:
        """Lines (k, 3) along a road and across it."""
        x, y = self.below(road)
        along = np.linspace(x[0], x[1], ROAD_POINTS)
        across = np.arange(np.ceil(x[0] / road.radius), np.floor(x[1] / road.radius) + 1) * road.radius
        across = across[:: 1 + len(across) // ROAD_POINTS]
        ahead = np.stack([along, np.zeros_like(along), self.moving.heights(road, along)], axis=1)
        lines = [ahead + [0.0, side, 0.0] for side in np.linspace(y[0], y[1], 5)]
        heights = self.moving.heights(road, across)
        return lines + [np.array([[a, side, z] for side in y]) for a, z in zip(across, heights, strict=True)]


class RunFilm(FilmedModel):
    """The motion of a result at the time points of a film."""

    def __init__(self, content: ResultFile, speed: float, fps: float, exaggeration: float | None = None):
        super().__init__(content, exaggeration)
        start = float(content.time[0])
        self.duration = float(content.time[-1]) - start
        frames = self.duration / speed * fps * (1 + 1e-9)
        if not frames < MOST_FRAMES:
            raise UsageError(f"the film would have {frames:.3g} frames; --speed and --fps make it shorter")
        self.time = start + np.arange(int(np.floor(frames)) + 1) * speed / fps
        self._rows, self._stored = content.time, content.motion()
        if not np.isfinite(self._stored[0]).all():
            raise InputOutputError(f"{content.path} holds positions that are not finite numbers, which cannot be drawn")
        if not all(np.isfinite(rates).all() for rates in self._stored):
            self._stored = self._stored[:1]
        self.z = self._coordinates(self.time)

    def _coordinates(self, times: np.ndarray) -> np.ndarray:
        """Coordinates (F, n), between rows as their rates say."""
        return interpolated(self._rows, times, self._stored)


class ModeFilm(FilmedModel):
    """A mode of a result about the position that it belongs to: one oscillation that neither grows nor decays."""

    PERIOD = 2.0  # s of the film, whatever the frequency
    EXTENT = 0.1  # of the mechanism, that points move by at most
    SMALL = 1e-4  # amplitude at which points move in proportion

    def __init__(self, content: ResultFile, mode: int, speed: float, fps: float, exaggeration: float | None):
        """``exaggeration`` is a factor on the amplitude. Raises UsageError for a mode that is not there."""
        super().__init__(content)
        shape, frequency = shape_of(content.path, mode)
        self._rest, places = self.z[0], self.moving.positions(self.z[0])
        apart = [self.moving.positions(self._rest + self.SMALL * part) - places for part in (shape.real, shape.imag)]
        moves = float(np.linalg.norm(np.hypot(*apart), axis=1).max()) / self.SMALL
        size = float(np.ptp(places, axis=0).max()) or 1.0
        self._shape = self.EXTENT * size / (moves or 1.0) * (1.0 if exaggeration is None else exaggeration) * shape
        self.title = f"{self.title or content.path.stem}: mode {mode}, {frequency:.4g} Hz"
        self.duration = self.PERIOD / speed
        self.time = np.arange(max(2, round(self.duration * fps))) / fps
        self.z = self._coordinates(self.time)

    def _coordinates(self, times: np.ndarray) -> np.ndarray:
        turn = np.exp(2j * np.pi * times / self.duration)
        return self._rest + np.real(turn[:, None] * self._shape)


def _natural(moving: MovingScene, file: ModelFile, content: ResultFile) -> MovingScene:
    """The scene in natural coordinates, where those of the result are such (with its parameters or none); or as is."""
    with suppress(MbsimError):  # of an analysis that has no formulations
        for parameters in ([name for name in content.parameters if name in file.parameters], []):
            system = build(file, Settings(formulation="ali3p-natural", method="ddm"), parameters).problem.system
            if list(system.coordinate_names) == content.coordinates:
                return in_natural_coordinates(moving, system)
    return moving


MOST_POSED_FRAMES, FRAMES_EACH_SECOND = 600, 60
MOST_POSES = 40_000  # bodies times frames: 1.1 MB
MOST_FACES = 20_000  # of a mesh; one with more is drawn by its edges
ROAD_SAMPLES = 400
Array = np.ndarray


def page_film(content: ResultFile) -> RunFilm:
    """A result at as many times as a page holds; raises InputOutputError where it cannot be drawn."""
    duration = float(content.time[-1] - content.time[0]) if len(content.time) else 0.0
    bodies = max(1, len(content.coordinates))  # about as many
    count = max(2.0, min(MOST_POSED_FRAMES, MOST_POSES / bodies, max(200.0, FRAMES_EACH_SECOND * duration)))
    return RunFilm(content, speed=1.0, fps=count / duration if duration > 0.0 else 1.0)


def motion_of(filming: MovingModel) -> dict[str, Any]:
    """Data of the scene at F times: ``position`` (F, bodies, 3) and ``rotation`` (F, bodies, 4; w last) of bodies."""
    moving = filming.moving
    scene, (origins, turned) = moving.scene, filming.poses
    lines, points = _lines(scene)
    number = {old: new for new, old in enumerate(points)}
    names = {name: number[k] for name, k in scene.names.items()}
    view = view_of(None, scene.up, filming.positions)
    surfaces = [  # which do not deform
        _drawn(one.body, one.points, one.triangles, one.edges, np.zeros((0, len(one.points), 3)), np.zeros((1, 0)))
        for one in scene.surfaces
    ]
    return {
        "bodies": scene.bodies,
        "up": scene.up,
        "plane": view.plane,
        "basis": view.basis,
        "time": filming.time,
        "position": origins,
        "rotation": turned,
        "points": scene.local[points],
        "of": scene.body[points].tolist(),
        "names": names,
        "lines": [(line.kind, line.body, [number[k] for k in line.points]) for line in lines],
        "solids": [(s.kind, s.body, s.center, s.axes, s.size) for s in scene.solids],
        "joints": [number[k] for k in scene.joints],
        "ground": [number[k] for k in scene.ground],
        "meshes": [*(_mesh(filming, name) for name in moving.meshes), *surfaces],
        "roads": [_road(filming, road) for road in moving.roads],
        "arrows": list(_arrows(filming.file, scene.bodies, names)),
    }


def _lines(scene: Scene) -> tuple[list[Line], list[int]]:
    """Lines that are drawn, and the points that are used: solids and meshes take the place of some."""
    named, surfaced = set(scene.names.values()), {one.body for one in scene.surfaces}
    solid = surfaced | {one.body for one in scene.solids}
    lines = [
        line
        for line in scene.lines
        if line.kind != "mesh"
        and not (line.kind == "body" and line.body in surfaced)
        and not (line.kind == "shape" and line.body in solid and not named & set(line.points))
    ]
    used = {k for line in lines for k in line.points} | set(scene.joints) | set(scene.ground) | named
    return lines, sorted(used)


def _mesh(filming: MovingModel, name: str) -> dict[str, Any]:
    """A mesh by its points, triangles and edges, its shapes (n, N, 3), and their coordinates (F, n)."""
    moving, mesh = filming.moving, filming.moving.meshes[name]
    faces, edges = skin(mesh.cells, mesh.kind)[0], drawn_edges(mesh.points, mesh.cells, mesh.kind)
    triangles = [faces[:, [0, k, k + 1]] for k in range(1, faces.shape[1] - 1)]
    own = dict(zip(moving.meshes, moving.deforming, strict=True))[name].coordinates
    shown = np.concatenate(triangles) if triangles else np.zeros((0, 3), int)
    coordinates = np.array([moving.of_tree(z)[own] for z in filming.z])
    return _drawn(moving.scene.bodies.index(name), mesh.points, shown, edges, mesh.shapes, coordinates)


def _drawn(body: int, points: Array, triangles: Array, edges: Array, shapes: Array, z: Array) -> dict[str, Any]:
    """A mesh by the points that its triangles, if not too many, and edges use, and coordinates ``z`` of its shapes."""
    shown = triangles if len(triangles) <= MOST_FACES else triangles[:0]
    used, places = np.unique(np.concatenate([shown.ravel(), edges.ravel()]), return_inverse=True)
    return {
        "body": body,
        "points": points[used],
        "triangles": places[: shown.size].reshape(shown.shape),
        "edges": places[shown.size :].reshape(edges.shape),
        "shapes": shapes[:, used],
        "coordinates": z,
    }


def _road(filming: MovingModel, road: RoadBelow) -> dict[str, Any]:
    (first, last), across = filming.below(road)
    x = np.linspace(first, last, ROAD_SAMPLES)
    return {"x": x, "z": filming.moving.heights(road, x), "y": across.tolist()}


def _arrows(file: ModelFile, bodies: Sequence[str], names: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Forces that sensors show, and where they act: along global or a body's axes, between two points, or upwards."""
    for name, sensor in file.sensors.items():
        if sensor.type == "reaction" and sensor.joint in file.joints and sensor.axes != "joint":
            joint = file.joints[sensor.joint]
            on = sensor.on or joint.bodies[1]
            points = dict(zip(joint.bodies, both(joint.point), strict=True))
            at = names.get(f"{on}.{points.get(on)}")
            if at is not None:
                body = bodies.index(on) if sensor.axes == "body" and on in bodies else GROUND
                for kind, part in (("vector", "force"), ("moment", "moment")):
                    yield {"kind": kind, "history": f"{name}.{part}", "at": at, "body": body, "sign": 1}
        elif sensor.type == "force":
            force = file.forces.get(sensor.force)
            ends = [names.get(f"{body}.{point}") for body, point in map(split, getattr(force, "points", None) or ())]
            if force is not None and force.type == "spring_damper" and len(ends) == 2 and None not in ends:
                yield {"kind": "between", "history": name, "ends": ends}
        elif sensor.type == "tyre" and sensor.quantity == "normal_load":
            tyre = file.forces.get(sensor.tyre)
            if tyre is not None and tyre.type == "tyre" and (at := names.get(tyre.center)) is not None:
                radius = float(file.expressions.value(tyre.radius).real)
                yield {"kind": "upwards", "history": name, "at": at, "below": radius}


def field_of(path: Path, name: str) -> Cells:
    """A field of a reduced body's file, or of a result (OBJECTIVE.FIELD: derivatives by it); UsageError for others."""
    fields: dict[str, tuple[Any, np.ndarray]]  # with their meshes
    if is_result(path):
        fields = {label: (found, found.values) for label, found in fields_of(path).items()}
    else:
        shaped = read_shaped_mesh(path)
        if shaped is None:
            raise UsageError(f"{path} has no mesh; mbsim reduce writes one with bodies that have elements")
        fields = {label: (shaped, values) for label, values in shaped.fields.items()}
    if name not in fields:
        known = ", ".join(fields) or "none"
        raise UsageError(f"{path} has no field {name!r}, it has {known}{hint(name, fields)}")
    mesh, values = fields[name]
    return Cells(mesh.points, *skin(mesh.cells, mesh.kind), values)


def folder_of(target: Path) -> Path:
    """The folder beside a .pvd file that holds its meshes; raises InputOutputError where it holds anything else."""
    folder = target.with_name(f"{target.stem}_vtu")
    if folder.exists() and not (folder.is_dir() and all(map(is_vtk, folder.iterdir()))):
        raise InputOutputError(f"{folder} is there and is no folder of meshes; name another output with -o")
    return folder


def write_collection(filming: RunFilm, folder: Path, progress: Callable[[int], None]) -> str:
    """Write meshes, a .vtu file a body and time point, into a folder; return the text of the .pvd file of all."""
    moving = filming.moving
    if not moving.meshes:
        raise UsageError(f"{filming.path} has no body with a mesh that a .pvd file could show")
    fields = {name: _fields(filming.path, mesh) for name, mesh in moving.meshes.items()}
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    rows = []
    try:
        for number, (time, z) in enumerate(zip(filming.time, filming.z, strict=True)):
            for part, (name, mesh) in enumerate(moving.meshes.items()):
                file = f"{name}-{number:05d}.vtu"
                places, displacements = moving.deformed(name, z)
                write_vtu(temporary / file, mesh, places, {"displacement": displacements}, fields[name])
                place = quoteattr(f"{folder.name}/{file}")
                rows.append(f'<DataSet timestep="{float(time)!r}" part="{part}" name={quoteattr(name)} file={place}/>')
            progress(number + 1)
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    head = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1">\n<Collection>\n'
    return head + "\n".join(rows) + "\n</Collection>\n</VTKFile>\n"


def _fields(path: Path, mesh: ShapedMesh) -> dict[str, Any]:
    """Numbers of the cells: the body's field, filtered too, and derivatives of objectives by it, as OBJECTIVE.FIELD."""
    gradients = {
        label: found.values
        for label, found in fields_of(path, checked=True).items()
        if label.rpartition(".")[2] in mesh.fields and len(found.values) == len(mesh.cells)
    }
    return {**mesh.fields, **gradients}


PLACE, TURN = ("x", "y", "z"), ("e0", "e1", "e2", "e3")


def table_of(content: ResultFile, names: Sequence[str], derivatives: bool, poses: bool) -> list[Column]:
    """The time, and the histories of some names (all without) with one column a component.

    With ``derivatives`` those of each history by the parameters follow it, as ``d NAME/d PARAMETER``; with ``poses``
    ``BODY.position.x`` to ``z`` and Euler parameters ``BODY.orientation.e0`` (scalar) to ``e3`` come last.
    A column whose name an earlier one has, as a sensor ``time``, is called ``time_``, or ``time__`` beside a history
    ``time_``; its derivatives have that name, too. Raises UsageError.
    """
    for name in names:
        if name not in content.entries:
            raise UsageError(f"{content.path} holds no history {name!r}{hint(name, content.entries)}")
    if derivatives and not any(entry.sensitivity for entry in content.entries.values()):
        raise UsageError(f"{content.path} holds no derivatives of histories; mbsim run --sensitivity ddm computes them")
    found = [Column("time", "s", content.time)]
    selected = [content.history(name) for name in names or content.entries]
    stated = {label for series in selected for label in series.labels}
    used: set[str] = {"time"}
    for series in selected:
        labels = [_unused(label, used, stated) for label in series.labels]
        found += [Column(*of) for of in zip(labels, series.units, series.values.T, strict=True)]
        if derivatives and content.entries[series.name].sensitivity:
            derived = np.moveaxis(content.derivatives(series.name), 2, 0)
            for parameter, number in zip(content.parameters, derived, strict=True):
                unit = content.parameters[parameter]["unit"]
                for label, own, values in zip(labels, series.units, number.T, strict=True):
                    found.append(Column(f"d {label}/d {parameter}", quotient(own, unit), values))
    if poses:
        posed = _poses_of(content)
        named = [(f"position.{axis}", "m") for axis in PLACE] + [(f"orientation.{name}", "1") for name in TURN]
        every = np.concatenate([posed.position, posed.orientation], axis=2)
        for number, body in enumerate(posed.bodies):
            for (name, unit), values in zip(named, every[:, number].T, strict=True):
                found.append(Column(_unused(f"{body}.{name}", used, stated), unit, values))
    return found


def _unused(label: str, used: set[str], stated: set[str]) -> str:
    """A label, which becomes ``used``; underscores follow one in use, until it is none of the ``stated`` either."""
    while label in used:
        label += "_"
        while label in stated:
            label += "_"
    used.add(label)
    return label


def _poses_of(content: ResultFile) -> Poses:
    """Poses (N, bodies, ...) with Euler parameters without jumps of sign, of which the first scalar is not negative."""
    moved = ResultModel(content)
    places, turned = moved.poses
    turned = turned[:, :, [3, 0, 1, 2]]
    steps = np.where((turned[1:] * turned[:-1]).sum(axis=2) < 0.0, -1.0, 1.0)
    first = np.where(turned[:1, :, 0] < 0.0, -1.0, 1.0)
    signs = np.cumprod(np.concatenate([first, steps]), axis=0)
    return Poses(tuple(moved.moving.scene.bodies), places, turned * signs[:, :, None])


def poses_of(result: Result) -> Poses:
    """The poses of a result, by the model that its file holds."""
    with TemporaryDirectory() as folder:
        return _poses_of(ResultFile(result.save(Path(folder) / "result.h5")))

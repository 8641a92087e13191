"""From a result to a film: the stored model is read again, and moved along the stored coordinates."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbsim_cli.errors import InputOutputError, MbsimError, ModelError, UsageError
from mbsim_cli.io.results import Content
from mbsim_cli.study.pictures.selection import hint
from mbsim_cli.study.result import interpolated
from mbsim_cli.system import cached_property

if TYPE_CHECKING:
    from mbsim_cli.assembly.drawing.scene import MovingScene, RoadBelow

MOST_FRAMES = 1_000_000
FINE = 8  # places of a trace for each frame
ROAD_POINTS = 200


class Posed:
    """A mechanism at F times: the scene that moves, its model file, its coordinates ``z`` (F, n) at ``time`` (F,)."""

    path: Path
    file: Any
    moving: "MovingScene"
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

    def below(self, road: "RoadBelow") -> tuple[np.ndarray, np.ndarray]:
        """Ends along x and along y of the part of a road below the tyres that roll on it and a little further."""
        low, high = (np.array(end(self.positions[:, road.centers], axis=(0, 1))) for end in (np.min, np.max))
        x, y = (np.array([low[k] - far * road.radius, high[k] + far * road.radius]) for k, far in ((0, 2.0), (1, 1.0)))
        return x, y


class Standing(Posed):
    """An assembled model at t = 0, its loops closed and its bodies not deformed."""

    def __init__(self, path: Path, file: Any, assembled: Any):
        from mbsim_cli.assembly.drawing.scene import moving_scene
        from mbsim_cli.study.reduced_bodies import standard_input

        self.path, self.file, self.time = path, file, np.zeros(1)
        self.moving = moving_scene(file, standard_input)
        closed = assembled.closing.z
        self.z = np.append(closed, np.zeros(len(self.moving.coordinates) - len(closed)))[None]


class Moved(Posed):
    """The mechanism of a result, whose stored model is read again."""

    def __init__(self, content: Content, exaggeration: float | None = None):
        """``exaggeration`` is how many times larger deformations are drawn; None: as they are."""
        from mbsim_cli import spec
        from mbsim_cli.assembly.drawing.scene import moving_scene
        from mbsim_cli.study.reduced_bodies import flexible_bodies, standard_input

        self.path = content.path
        if not len(content.time):
            raise InputOutputError(f"{content.path} holds no instants to draw")
        self.time, self.z = content.time, content.motion()[0]
        model, self.title = content.model, content.title
        try:
            file = spec.load(model.file, model.overrides, model.texts)
            if exaggeration is not None and not flexible_bodies(file):
                raise UsageError(f"--exaggerate is for bodies that deform; {content.path} has none")
            self.file = file = _with_stored_fields(file, content.path)
            larger = 1.0 if exaggeration is None else exaggeration
            self.moving = moving_scene(file, standard_input, larger)
            if list(self.moving.coordinates) != content.coordinates:
                self.moving = _natural(self.moving, file, content)
        except ModelError as error:
            raise InputOutputError(f"{content.path}: the model stored with it is invalid: {error.issues[0]}") from error
        if list(self.moving.coordinates) != content.coordinates:
            raise InputOutputError(f"{content.path}: its coordinates are not those of the model stored with it")


class Filmed(Moved):
    """The mechanism of a result at the instants of a film, whose motion lasts ``duration``."""

    duration: float

    def _coordinates(self, times: np.ndarray) -> np.ndarray:
        """Coordinates (F, n) at times of the film."""
        raise NotImplementedError

    def film(
        self, traces: Sequence[str], view: str | None, follow: str | None, size: tuple[int, int], title: str
    ) -> Any:
        """The film with its points by name; raises UsageError for names that are not in the model."""
        from mbsim_cli.report.camera import view_of
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

    def _road(self, road: "RoadBelow") -> list[np.ndarray]:
        """Lines (k, 3) along a road and across it."""
        x, y = self.below(road)
        along = np.linspace(x[0], x[1], ROAD_POINTS)
        across = np.arange(np.ceil(x[0] / road.radius), np.floor(x[1] / road.radius) + 1) * road.radius
        across = across[:: 1 + len(across) // ROAD_POINTS]
        ahead = np.stack([along, np.zeros_like(along), self.moving.heights(road, along)], axis=1)
        lines = [ahead + [0.0, side, 0.0] for side in np.linspace(y[0], y[1], 5)]
        heights = self.moving.heights(road, across)
        return lines + [np.array([[a, side, z] for side in y]) for a, z in zip(across, heights, strict=True)]


class Filming(Filmed):
    """The motion of a result at the instants of a film."""

    def __init__(self, content: Content, speed: float, fps: float, exaggeration: float | None = None):
        """``exaggeration`` is how many times larger deformations are drawn; None: as they are."""
        super().__init__(content, exaggeration)
        start, end = float(content.time[0]), float(content.time[-1])
        self.duration = end - start
        frames = (end - start) / speed * fps * (1 + 1e-9)
        if not frames < MOST_FRAMES:
            raise UsageError(f"the film would have {frames:.3g} frames; --speed and --fps make it shorter")
        count = int(np.floor(frames)) + 1
        self.time = start + np.arange(count) * speed / fps
        self._rows, self._stored = content.time, content.motion()
        if not np.isfinite(self._stored[0]).all():
            raise InputOutputError(f"{content.path} holds positions that are not finite numbers, which cannot be drawn")
        if not all(np.isfinite(rates).all() for rates in self._stored):
            self._stored = self._stored[:1]
        self.z = self._coordinates(self.time)

    def _coordinates(self, times: np.ndarray) -> np.ndarray:
        """Coordinates (F, n), between rows as their rates say."""
        return interpolated(self._rows, times, self._stored)


class Swinging(Filmed):
    """A mode of a result about the position that it belongs to: one oscillation that neither grows nor decays."""

    PERIOD = 2.0  # s of the film, whatever the frequency
    EXTENT = 0.1  # of the mechanism, that points move by at most
    SMALL = 1e-4  # amplitude at which points move in proportion

    def __init__(self, content: Content, mode: int, speed: float, fps: float, exaggeration: float | None = None):
        """``exaggeration`` is a factor on the amplitude. Raises UsageError for a mode that is not there."""
        from mbsim_cli.io.linear_results import shape_of

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


def _with_stored_fields(file: Any, path: Path) -> Any:
    """The model with the fields that a checked result holds: an optimisation's are not those that its text states."""
    from mbsim_cli.io.facts import fields_of
    from mbsim_cli.spec.parameters import with_fields

    stored = {name: found.values for name, found in fields_of(path, known=True).items() if name in file.fields}
    return with_fields(file, stored) if stored else file


def _natural(moving: "MovingScene", file: Any, content: Content) -> "MovingScene":
    """The scene as natural coordinates move it, where those of the result are such; else as it was.

    Which there are may depend on the parameters that gradients were wanted for.
    """
    from mbsim_cli.assembly.drawing.scene import in_natural_coordinates
    from mbsim_cli.study.assembling import Settings, build

    with suppress(MbsimError):  # of an analysis that has no formulations
        for parameters in ([name for name in content.parameters if name in file.parameters], []):
            system = build(file, Settings(formulation="ali3p-natural", method="ddm"), parameters).problem.system
            if list(system.coordinate_names) == content.coordinates:
                return in_natural_coordinates(moving, system)
    return moving

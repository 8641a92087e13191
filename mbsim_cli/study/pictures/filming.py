"""From a result to a film: the stored model is read again, and moved along the stored coordinates."""

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbsim_cli.errors import InputOutputError, MbsimError, ModelError, UsageError
from mbsim_cli.io.content import Content
from mbsim_cli.study.pictures.selection import hint

if TYPE_CHECKING:
    from mbsim_cli.assembly.drawing.scene import MovingScene

MOST_FRAMES = 1_000_000


class Filming:
    """The motion of a result at the instants of a film."""

    def __init__(self, content: Content, speed: float, fps: float, exaggeration: float | None = None):
        """``exaggeration`` is how many times larger deformations are drawn; None: as they are."""
        from mbsim_cli import spec
        from mbsim_cli.assembly.drawing.scene import moving_scene
        from mbsim_cli.study.reducing import flexible_bodies, standard_input

        self.path = content.path
        if not len(content.time):
            raise InputOutputError(f"{content.path} holds no instants to draw")
        model, self.title = content.model, content.title
        try:
            file = spec.load(model.file, model.overrides, model.texts)
            if exaggeration is not None and not flexible_bodies(file):
                raise UsageError(f"--exaggerate is for bodies that deform; {content.path} has none")
            file = _with_stored_fields(file, content.path)
            larger = 1.0 if exaggeration is None else exaggeration
            self.moving: MovingScene = moving_scene(file, standard_input, larger)
            if list(self.moving.coordinates) != content.coordinates:
                self.moving = _natural(self.moving, file, content)
        except ModelError as error:
            raise InputOutputError(f"{content.path}: the model stored with it is invalid: {error.issues[0]}") from error
        if list(self.moving.coordinates) != content.coordinates:
            raise InputOutputError(f"{content.path}: its coordinates are not those of the model stored with it")
        start, end = float(content.time[0]), float(content.time[-1])
        self.duration = end - start
        frames = (end - start) / speed * fps * (1 + 1e-9)
        if not frames < MOST_FRAMES:
            raise UsageError(f"the film would have {frames:.3g} frames; --speed and --fps make it shorter")
        count = int(np.floor(frames)) + 1
        self.time = start + np.arange(count) * speed / fps
        stored = content.motion()
        if not np.isfinite(stored).all():
            raise InputOutputError(f"{content.path} holds positions that are not finite numbers, which cannot be drawn")
        columns = [np.interp(self.time, content.time, column) for column in stored.T]
        self.z = np.array(columns).T.reshape(count, stored.shape[1])

    @cached_property
    def positions(self) -> np.ndarray:
        """Places (F, P, 3) of the scene's points."""
        return np.array([self.moving.positions(row) for row in self.z])

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
        return Film(
            scene=scene,
            time=self.time,
            positions=self.positions,
            view=view_of(view, scene.up, self.positions),
            traces=[scene.names[name] for name in traces],
            follow=None if follow is None else scene.names[f"{follow}.origin"],
            size=size,
            title=title,
        )


def _with_stored_fields(file: Any, path: Path) -> Any:
    """The model with the fields that a result holds: an optimisation's are not those that its text states."""
    from mbsim_cli.io.field_results import fields_of
    from mbsim_cli.spec.moved import with_fields

    stored = {name: found.values for name, found in fields_of(path).items() if name in file.fields}
    return with_fields(file, stored) if stored else file


def _natural(moving: "MovingScene", file: Any, content: Content) -> "MovingScene":
    """The scene as natural coordinates move it, where those of the result are such; else as it was.

    Which there are may depend on the parameters that gradients were wanted for.
    """
    from mbsim_cli.assembly.drawing.scene import in_natural_coordinates
    from mbsim_cli.study.assembling import build
    from mbsim_cli.study.settings import Settings

    with suppress(MbsimError):  # of an analysis that has no formulations
        for parameters in ([name for name in content.parameters if name in file.parameters], []):
            system = build(file, Settings(formulation="ali3p-natural", method="ddm"), parameters).problem.system
            if list(system.coordinate_names) == content.coordinates:
                return in_natural_coordinates(moving, system)
    return moving

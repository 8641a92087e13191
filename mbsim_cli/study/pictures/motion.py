"""The motion of a mechanism as data that a page draws in space: poses, points, lines, solids, meshes, roads, arrows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mbsim_cli.assembly.tree.geometry import split
from mbsim_cli.assembly.tree.joints import both
from mbsim_cli.io.results import Content
from mbsim_cli.model.layout import GROUND
from mbsim_cli.reduction.mesh import drawn_edges, skin
from mbsim_cli.report.camera import view_of
from mbsim_cli.study.pictures.filming import Filming, Posed

MOST_FRAMES, FRAMES_EACH_SECOND = 600, 60
MOST_POSES = 40_000  # bodies times frames: 1.1 MB
MOST_FACES = 20_000  # of a mesh; one with more is drawn by its edges
ROAD_POINTS = 400


def filmed(content: Content) -> Filming:
    """A result at as many times as a page holds; raises InputOutputError where it cannot be drawn."""
    duration = float(content.time[-1] - content.time[0]) if len(content.time) else 0.0
    bodies = max(1, len(content.coordinates))  # about as many
    count = max(2.0, min(MOST_FRAMES, MOST_POSES / bodies, max(200.0, FRAMES_EACH_SECOND * duration)))
    return Filming(content, speed=1.0, fps=count / duration if duration > 0.0 else 1.0)


def motion_of(filming: Posed) -> dict[str, Any]:
    """Data of the scene at F times: ``position`` (F, bodies, 3) and ``rotation`` (F, bodies, 4; w last) of bodies."""
    moving = filming.moving
    scene, (origins, turned) = moving.scene, filming.poses
    lines, points = _lines(scene, set(moving.meshes))
    number = {old: new for new, old in enumerate(points)}
    names = {name: number[k] for name, k in scene.names.items()}
    view = view_of(None, scene.up, filming.positions)
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
        "meshes": [*(_mesh(filming, name) for name in moving.meshes), *map(_surface, scene.surfaces)],
        "roads": [_road(filming, road) for road in moving.roads],
        "arrows": list(_arrows(filming.file, scene.bodies, names)),
    }


def _lines(scene: Any, deforming: set[str]) -> tuple[list[Any], list[int]]:
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


def _mesh(filming: Posed, name: str) -> dict[str, Any]:
    """A mesh by its points, triangles and edges, its shapes (n, N, 3), and their coordinates (F, n)."""
    moving, mesh = filming.moving, filming.moving.meshes[name]
    faces, edges = skin(mesh.cells, mesh.kind)[0], drawn_edges(mesh.points, mesh.cells, mesh.kind)
    triangles = [faces[:, [0, k, k + 1]] for k in range(1, faces.shape[1] - 1)]
    shown = (
        np.concatenate(triangles) if triangles and len(faces) * len(triangles) <= MOST_FACES else np.zeros((0, 3), int)
    )
    used, places = np.unique(np.concatenate([shown.ravel(), edges.ravel()]), return_inverse=True)
    own = dict(zip(moving.meshes, moving.deforming, strict=True))[name].coordinates
    return {
        "body": moving.scene.bodies.index(name),
        "points": mesh.points[used],
        "triangles": places[: shown.size].reshape(shown.shape),
        "edges": places[shown.size :].reshape(edges.shape),
        "shapes": mesh.shapes[:, used],
        "coordinates": np.array([moving.of_tree(z)[own] for z in filming.z]),
    }


def _surface(surface: Any) -> dict[str, Any]:
    """A mesh that does not deform."""
    used, places = np.unique(np.concatenate([surface.triangles.ravel(), surface.edges.ravel()]), return_inverse=True)
    shown = surface.triangles if len(surface.triangles) <= MOST_FACES else surface.triangles[:0]
    if len(shown) < len(surface.triangles):
        used, places = np.unique(surface.edges, return_inverse=True)
    return {
        "body": surface.body,
        "points": surface.points[used],
        "triangles": places.ravel()[: shown.size].reshape(shown.shape),
        "edges": places.ravel()[shown.size :].reshape(surface.edges.shape),
        "shapes": np.zeros((0, len(used), 3)),
        "coordinates": np.zeros((1, 0)),
    }


def _road(filming: Posed, road: Any) -> dict[str, Any]:
    (first, last), across = filming.below(road)
    x = np.linspace(first, last, ROAD_POINTS)
    return {"x": x, "z": filming.moving.heights(road, x), "y": across.tolist()}


def _arrows(file: Any, bodies: Sequence[str], names: Mapping[str, int]) -> Iterator[dict[str, Any]]:
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
            at = names.get(tyre.center) if tyre is not None else None
            if at is not None:
                yield {
                    "kind": "upwards",
                    "history": name,
                    "at": at,
                    "below": float(file.expressions.value(tyre.radius).real),
                }

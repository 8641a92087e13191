"""Ten mechanisms with loops, and starts for them: as texts, with initial values of every joint."""

from collections.abc import Sequence

import numpy as np
import yaml

# joint: type, bodies, points in each body's own axes [m], axis or axes
LINKAGES = {
    "crank_rocker": {
        "A": ("revolute", "ground crank", [0, 0, 0], [0, 0, 0]),
        "B": ("revolute", "crank rod", [0.5, 0, 0], [0, 0, 0]),
        "C": ("revolute", "rod rocker", [2, 0, 0], [1.2, 0, 0]),
        "D": ("revolute", "ground rocker", [2, 0, 0], [0, 0, 0]),
    },
    "double_rocker": {
        "A": ("revolute", "ground crank", [0, 0, 0], [0, 0, 0]),
        "B": ("revolute", "crank rod", [1.5, 0, 0], [0, 0, 0]),
        "C": ("revolute", "rod rocker", [0.8, 0.2, 0], [1.4, 0, 0]),
        "D": ("revolute", "ground rocker", [1.6, 0.3, 0], [0, 0, 0]),
    },
    "five_bar": {
        "A": ("revolute", "ground a", [0, 0, 0], [0, 0, 0]),
        "B": ("revolute", "a b", [1, 0, 0], [0, 0, 0]),
        "C": ("revolute", "b c", [1.2, 0, 0], [1.3, 0, 0]),
        "D": ("revolute", "c d", [0, 0, 0], [0.9, 0, 0]),
        "E": ("revolute", "ground d", [1.5, 0, 0], [0, 0, 0]),
    },
    "slider_crank": {
        "A": ("revolute", "ground crank", [0, 0, 0], [0, 0, 0]),
        "B": ("revolute", "crank rod", [0.4, 0, 0], [0, 0, 0]),
        "C": ("revolute", "rod slider", [1.1, 0, 0], [0, 0, 0]),
        "P": ("prismatic", "ground slider", [0, 0.1, 0], [0, 0, 0], "x"),
    },
    "watt": {
        "A": ("revolute", "ground a", [0, 0, 0], [0, 0, 0]),
        "B": ("revolute", "a b", [0.6, 0, 0], [0, 0, 0]),
        "C": ("revolute", "b c", [1.5, 0, 0], [1.1, 0, 0]),
        "D": ("revolute", "ground c", [1.6, 0, 0], [0, 0, 0]),
        "E": ("revolute", "c d", [0.9, 0.5, 0], [0, 0, 0]),
        "F": ("revolute", "d e", [1.4, 0, 0], [1.0, 0, 0]),
        "G": ("revolute", "ground e", [3, 0, 0], [0, 0, 0]),
    },
    "stephenson": {
        "A": ("revolute", "ground a", [0, 0, 0], [0, 0, 0]),
        "B": ("revolute", "a b", [0.6, 0, 0], [0, 0, 0]),
        "C": ("revolute", "b c", [1.5, 0, 0], [1.1, 0, 0]),
        "D": ("revolute", "ground c", [1.6, 0, 0], [0, 0, 0]),
        "E": ("revolute", "b d", [0.7, 0.6, 0], [0, 0, 0]),
        "F": ("revolute", "d e", [1.2, 0, 0], [0.9, 0, 0]),
        "G": ("revolute", "ground e", [2, 1, 0], [0, 0, 0]),
    },
    "three_rrr": {
        "A1": ("revolute", "ground a1", [0, 0, 0], [0, 0, 0]),
        "B1": ("revolute", "a1 b1", [1, 0, 0], [0, 0, 0]),
        "C1": ("revolute", "b1 plate", [1, 0, 0], [-0.3, -0.2, 0]),
        "A2": ("revolute", "ground a2", [2, 0, 0], [0, 0, 0]),
        "B2": ("revolute", "a2 b2", [1, 0, 0], [0, 0, 0]),
        "C2": ("revolute", "b2 plate", [1, 0, 0], [0.3, -0.2, 0]),
        "A3": ("revolute", "ground a3", [1, 1.7, 0], [0, 0, 0]),
        "B3": ("revolute", "a3 b3", [1, 0, 0], [0, 0, 0]),
        "C3": ("revolute", "b3 plate", [1, 0, 0], [0, 0.35, 0]),
    },
    "rssr": {
        "A": ("revolute", "ground crank", [0, 0, 0], [0, 0, 0]),
        "B": ("spherical", "crank rod", [0.4, 0, 0.1], [0, 0, 0]),
        "C": ("spherical", "rod rocker", [1.3, 0, 0], [0, 0.9, 0]),
        "D": ("revolute", "ground rocker", [1, 0.4, 0.3], [0, 0, 0], "x"),
    },
    "rusr": {
        "A": ("revolute", "ground crank", [0, 0, 0], [0, 0, 0]),
        "B": ("universal", "crank rod", [0.4, 0, 0.1], [0, 0, 0], "z y"),
        "C": ("spherical", "rod rocker", [1.3, 0, 0], [0, 0.9, 0]),
        "D": ("revolute", "ground rocker", [1, 0.4, 0.3], [0, 0, 0], "x"),
    },
    "spatial_slider_crank": {
        "A": ("revolute", "ground crank", [0, 0, 0], [0, 0, 0]),
        "B": ("spherical", "crank rod", [0.35, 0, 0], [0, 0, 0]),
        "C": ("universal", "rod slider", [1.2, 0, 0], [0, 0, 0], "y z"),
        "P": ("prismatic", "ground slider", [0.2, 0.1, 0.4], [0, 0, 0], "x"),
    },
}

BODY = {"mass": 1.0, "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1}}


def text_of(linkage: dict, initial: dict, size: float = 1.0, extra: str = "") -> str:
    """A model file with the joints of a linkage and their initial values; lengths are multiplied by ``size``."""
    points: dict[str, dict] = {}
    bodies = {}
    joints = {}
    for name, (kind, between, p, q, *axis) in linkage.items():
        a, b = between.split()
        points[name] = {a: [size * x for x in p], b: [size * x for x in q]}
        bodies |= {
            body: {"mass": 1.0, "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1}} for body in (a, b) if body != "ground"
        }
        joints[name] = {"type": kind, "bodies": [a, b], "point": name, "initial": initial.get(name, {})}
        if kind == "universal":
            joints[name]["axes"] = axis[0].split()
        elif kind != "spherical":
            joints[name]["axis"] = axis[0] if axis else "z"
    vectors = {"x": {"all": [1, 0, 0]}, "y": {"all": [0, 1, 0]}, "z": {"all": [0, 0, 1]}}
    model = {"points": points, "vectors": vectors, "bodies": bodies, "joints": joints}
    return yaml.safe_dump(model, sort_keys=False) + extra


def random_start(linkage: dict, generator: np.random.Generator, size: float = 1.0) -> dict:
    """Initial values of all joints, whatever the loops need."""
    found = {}
    for name, (kind, *_) in linkage.items():
        if kind == "revolute":
            found[name] = {"angle": float(generator.uniform(-np.pi, np.pi))}
        elif kind == "prismatic":
            found[name] = {"displacement": float(size * generator.uniform(-1, 1))}
        elif kind == "universal":
            found[name] = {"angles": _floats(generator.uniform(-np.pi, np.pi, 2))}
        else:
            axis = _floats(generator.standard_normal(3))
            found[name] = {"orientation": {"axis": axis, "angle": float(generator.uniform(-np.pi, np.pi))}}
    return found


def _floats(values: Sequence[float]) -> list[float]:
    return [float(value) for value in values]

"""The excavator's arm by triangles: where it comes to rest, and what its cylinders hold there, by virtual work."""

from functools import cache

import numpy as np
import pytest

import mbsim_cli as mbsim
from tests.models.command import ROOT

MODEL = ROOT / "models" / "excavator.yaml"
G = 9.81
VALUES = {"m_boom": 1800.0, "m_stick": 900.0, "m_bucket": 1500.0, "eye_x": 2.9, "eye_y": 2.3, "rocker": 0.5}
WAYS = {"lift": 0.4, "crowd": 0.3, "curl": 0.25}


def turned(point, about, by):
    """A point that turns about another."""
    (x, y), c, s = point - about, np.cos(by), np.sin(by)
    return about + np.array([c * x - s * y, s * x + c * y])


def corner(a, b, opposite):
    """Angle between sides a and b of a triangle."""
    return np.arccos((a * a + b * b - opposite * opposite) / (2.0 * a * b))


def length(p):
    return np.sqrt(p @ p)


def side(a, b):
    """1 where b stands to the left of a, else -1."""
    return np.sign((a[0] * b[1] - a[1] * b[0]).real)


def heights(ways, eye_x, eye_y, rocker):
    """Heights of all points where the cylinders are longer by ``ways`` than in the drawing."""
    p = {name: np.array(xy) for name, xy in {
        "foot": (0, 1.5), "elbow": (5, 3), "wrist": (6.5, 0.6), "pivot": (6.3, 1.1), "ear": (6.95, 0.55),
        "knee": (6.3 + rocker * np.cos(np.pi / 18), 1.1 + rocker * np.sin(np.pi / 18)),
        "lift_a": (0.6, 1.2), "lift_b": (eye_x, eye_y), "crowd_a": (3.2, 3.4), "crowd_b": (5.2, 3.8),
        "curl_a": (5.6, 3), "boom": (2.5, 2.8), "stick": (5.6, 2.2), "bucket": (7, 0),
    }.items()}  # fmt: skip
    p["curl_b"] = p["knee"]

    def opens(hinge, cylinder):
        """Angle by which the side to a cylinder's eye b turns against that to its eye a."""
        a, b = (p[f"{cylinder}_{eye}"] - p[hinge] for eye in "ab")
        drawn = length(p[f"{cylinder}_b"] - p[f"{cylinder}_a"])
        sides = length(a), length(b)
        return side(a, b) * (corner(*sides, drawn + ways[cylinder]) - corner(*sides, drawn))

    def turn(names, about, by):
        centre = p[about]
        p.update({name: turned(p[name], centre, by) for name in names.split()})

    # from the tips to the ground: the rocker, the bucket that its link pulls, the stick with both, the boom with all
    to_knee, to_ear = p["knee"] - p["wrist"], p["ear"] - p["wrist"]
    reach, link = length(to_ear), length(p["ear"] - p["knee"])
    drawn = corner(length(to_knee), reach, link)
    turn("knee curl_b", "pivot", opens("pivot", "curl"))
    new = p["knee"] - p["wrist"]
    swing = np.arctan((to_knee[0] * new[1] - to_knee[1] * new[0]) / (to_knee @ new))
    turn("ear bucket", "wrist", swing + side(to_knee, to_ear) * (corner(length(new), reach, link) - drawn))
    on_stick = "crowd_b wrist pivot knee ear curl_a curl_b stick bucket"
    turn(on_stick, "elbow", opens("elbow", "crowd"))
    turn(f"elbow crowd_a boom lift_b {on_stick}", "foot", opens("foot", "lift"))
    return {name: point[1] for name, point in p.items()}


def energy(ways, m_boom, m_stick, m_bucket, **drawn):
    """Potential energy: the arm, rocker and link, and the cylinders' halves, which weigh at their eyes."""
    y = heights(ways, **drawn)
    weights = {
        "boom": m_boom,
        "stick": m_stick,
        "bucket": m_bucket,
        "pivot": 60,
        "ear": 50,
        "lift_a": 120,
        "lift_b": 80,
    }
    weights |= {"crowd_a": 100, "crowd_b": 70, "curl_a": 60, "curl_b": 40}
    return G * sum(mass * y[name] for name, mass in weights.items())


def force(cylinder, h=1e-30, **changes):
    """By which a cylinder pushes where the arm has come to rest."""
    return energy(WAYS | {cylinder: WAYS[cylinder] + 1j * h}, **VALUES | changes).imag / h


@cache
def rest():
    return mbsim.run(MODEL)


def test_place_and_work():
    result = rest()
    assert result.objectives["height"].value == pytest.approx(
        heights(WAYS, **{name: VALUES[name] for name in ("eye_x", "eye_y", "rocker")})["bucket"], rel=1e-12
    )
    lifted = energy(WAYS, **VALUES) - energy(dict.fromkeys(WAYS, 0.0), **VALUES)
    assert result.objectives["work"].value == pytest.approx(lifted, rel=1e-6)


@pytest.mark.parametrize("cylinder", WAYS)
def test_cylinders_by_virtual_work(cylinder):
    found = rest().objectives[f"{cylinder}_force"]
    assert found.value == pytest.approx(force(cylinder), rel=1e-9)
    size = abs(found.value)
    for name, value in VALUES.items():
        h = 1e-5 * value
        slope = (force(cylinder, **{name: value + h}) - force(cylinder, **{name: value - h})) / (2 * h)
        assert found.by(name) == pytest.approx(slope, rel=1e-7, abs=1e-7 * size / value)

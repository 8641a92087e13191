"""Model files of rigid bodies and bodies that deform: random chains, tied to the ground at their end, and trees."""

from typing import Any

import numpy as np

HEAD = """\
mbsim: 1
gravity: [0.3, -2, -9.81]
parameters: {E: 1e7, L: 0.8, m: 0.7, k: 1.5}
materials: {soft: {youngs_modulus: E, poisson_ratio: 0.3, density: 900}}
vectors: {z: {all: [0.1, 0.2, 1]}}
"""
RIGID = "mass: m, center_of_mass: [0.2, 0.03, 0.01], inertia: {xx: 0.01, yy: 0.02, zz: 0.025, xy: 0.001}"
MESHED = """
    flexible:
      mesh: {{{mesh}, elements: {elements}}}
      material: soft
      sets: {{a: {{x: 0}}, b: {{x: L}}}}
      frame: {frame}
      modes: {{count: {count}}}
      nodes: {{a: {{set: a}}, b: {{set: b}}}}
      stiffening: {stiffening}
      damping: {{beta: 1e-4*k}}"""
BY_NUMBER = """
    flexible:
      terms:
        mass: 2*m
        mdCM: [0.3, 0.02, 0.01]
        J: {{M0: [[0.2, 0.01, 0], [0.01, 0.3, 0], [0, 0, 0.4]], M1: {J1}, M2: {J2}}}
        Ct: {Ct}
        Cr: {{M0: {Cr}, M1: {Cr1}}}
        Me: [[0.5, 0.01], [0.01, 0.4]]
        Ke: [[300*k, 2], [2, 500*k]]
      nodes: {{b: {{origin: [0.6, 0, 0.1], phi: {phi}, psi: {psi}}}}}"""
MESHES = (
    ("type: beam, length: L, section: {type: rectangle, size: [0.03, 0.02]}", "2"),
    ("type: brick, size: [L, 0.1, 0.08]", "[2, 1, 1]"),
)
FRAMES = ("{fixed: a}", "free", "{chord: [a, b]}")
AXES = {
    "revolute": ", axis: z",
    "cylindrical": ", axis: z",
    "universal": ", axes: [y, x]",
    "spherical": "",
    "fixed": "",
}
ROPE = """
constraints:
  rope: {{type: distance, points: [ground.hook, {end}]}}"""
DRIVE = """
laws:
  turn: {{type: polynomial, coefficients: [0.3, 1, 0.4, 0.2]}}
constraints:
  drive: {{type: motion, coordinate: {driven}, law: turn}}"""
LOADED = """
forces:
  spring: {{type: spring_damper, points: [ground.hook, {end}], stiffness: 30*k, damping: 0.3, natural_length: 0.5}}
sensors: {{T: {{type: kinetic_energy}}, W: {{type: potential_energy}}, p: {{type: acceleration, point: {end}}}}}
analysis: {{step: 1e-3, duration: 0.002}}
"""


def random_chain(seed: int, count: int) -> str:
    """Joints of any type on any node or frame, some from the outer body to the inner one."""
    text, end, _ = _bodies(np.random.default_rng(seed), count, branches=False)
    return text + (ROPE + LOADED).format(end=end)


def random_tree(seed: int, count: int) -> str:
    """The same with branches at any place instead of the rope, and a law that drives the first joint."""
    text, end, driven = _bodies(np.random.default_rng(seed), count, branches=True)
    return text + (DRIVE + LOADED).format(end=end, driven=driven)


def _bodies(random: Any, count: int, *, branches: bool) -> tuple[str, str, str]:
    """Text with bodies and joints, the place at the end, and the first coordinate."""
    bodies, joints, points = "bodies:\n", "joints:\n", "points:\n  hook: {ground: [0.2, 0.4, 1]}\n"
    inner, places, first = ("ground", "origin"), [("ground", "origin")], ""
    for i in range(count):
        if branches:
            inner = places[random.integers(len(places))]
        name, kind = f"b{i}", random.choice(["rigid", "meshed", "by_number"], p=[0.2, 0.5, 0.3])
        text, (near, far) = {"rigid": _rigid, "meshed": _meshed, "by_number": _by_number}[kind](random, name)
        bodies += f"  {name}: {text}\n"
        points += f"  {far}: {{{name}: [0.5, 0.1, 0]}}\n" if kind == "rigid" else ""
        joint = random.choice(list(AXES)[: len(AXES) if i else 3])
        sides = [inner, (name, near)][:: random.choice([1, -1])]
        (a, p), (b, q) = sides
        joints += f"  j{i}: {{type: {joint}, bodies: [{a}, {b}], point: [{p}, {q}]{AXES[joint]}}}\n"
        first = first or f"j0.{'angle_1' if joint == 'universal' else 'angle'}"
        inner = name, far
        places += [inner, (name, near)]
    return HEAD + points + bodies + joints, ".".join(inner), first


def _rigid(random: Any, name: str) -> tuple[str, tuple[str, str]]:
    return f"{{{RIGID}}}", ("origin", f"far_{name}")


def _meshed(random: Any, name: str) -> tuple[str, tuple[str, str]]:
    (mesh, elements), frame = MESHES[random.integers(2)], FRAMES[random.integers(3)]
    stiffening = random.choice(["[]", "[rotation, acceleration]"])
    text = MESHED.format(mesh=mesh, elements=elements, frame=frame, stiffening=stiffening, count=random.integers(1, 4))
    return text, ("a", "b") if random.random() < 0.5 else ("b", "a")


def _by_number(random: Any, name: str) -> tuple[str, tuple[str, str]]:
    J1, J2, Cr1 = (0.01 * random.normal(size=(2, *rest)) for rest in ((3, 3), (2, 3, 3), (2, 3)))
    terms = {
        "J1": J1 + J1.swapaxes(1, 2),
        "J2": (J2 + J2.swapaxes(0, 1)) + (J2 + J2.swapaxes(0, 1)).swapaxes(2, 3),
        "Cr1": Cr1 - Cr1.swapaxes(0, 1),
        "Ct": 0.1 * random.normal(size=(2, 3)),
        "Cr": 0.05 * random.normal(size=(2, 3)),
        "phi": random.normal(size=(2, 3)),
        "psi": random.normal(size=(2, 3)),
    }
    text = BY_NUMBER.format(**{name: np.round(array, 6).tolist() for name, array in terms.items()})
    return text, ("origin", "b") if random.random() < 0.5 else ("b", "origin")

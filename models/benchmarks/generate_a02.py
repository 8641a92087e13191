"""Write a02_four_bars_40.yaml: N square windows side by side, problem A02 of the IFToMM benchmark library."""

from pathlib import Path

HEAD = """\
# yaml-language-server: $schema=../../schemas/model.schema.json
# Written by generate_a02.py; change that, not this.
mbsim: 1
name: N four-bar mechanism (A02), N = {n}
description: >
  {n} square windows side by side, {links} moving links of 1 kg and 1 m. One degree of freedom; when the links lie
  flat there are {mobility}, and the motion passes through that singular configuration twice a turn.

gravity: [0, -9.81, 0]
"""

TAIL = """\
sensors:
  B0: {{type: position, point: vertical_0.B0}}
  B{n}: {{type: position, point: vertical_{n}.B{n}}}
  kinetic: {{type: kinetic_energy}}
  potential: {{type: potential_energy}}

objectives:
  energy: {{final: kinetic + potential, unit: J, description: initial energy at all times}}

analysis: {{type: forward_dynamics, step: {step}, duration: 10, output_interval: 0.1}}

checks:
  point B0:
    sensor: B0
    values:
      - {{time: 0.5, value: [0.687926, 0.725781, 0]}}
      - {{time: 1, value: [-0.115357, -0.993324, 0]}}
      - {{time: 2, value: [0.0344663, 0.999406, 0]}}
      - {{time: 5, value: [-0.540191, -0.841543, 0]}}
      - {{time: 10, value: [0.180513, 0.983573, 0]}}
    absolute_tolerance: {tolerance}
    source: IFToMM library of computational benchmark problems, A02
  energy:
    objective: energy
    value: {n} / 2 + ({n} + 1) / 6 + 9.81 * ({n} + ({n} + 1) / 2)
    relative_tolerance: 1e-5
    source: conservation of energy
  degrees of freedom: {{mobility: 1}}
"""


def model(n: int, step: str, tolerance: str) -> str:
    """Text of the model with n windows."""
    points, bodies, joints = [], [], []
    for i in range(n + 1):
        points.append(f"  A{i}: {{ground: [{i}, 0, 0], vertical_{i}: [0, 0, 0]}}")
        on = [f"vertical_{i}: [1, 0, 0]"]
        on += [f"horizontal_{i}: [1, 0, 0]"] if i > 0 else []
        on += [f"horizontal_{i + 1}: [0, 0, 0]"] if i < n else []
        points.append(f"  B{i}: {{{', '.join(on)}}}")
        bodies.append(f"  vertical_{i}: {{shape: {{type: rod, mass: 1, length: 1}}}}")
        first = ", angular_velocity: -1, independent: true" if i == 0 else ""
        joints.append(joint(f"A{i}", "ground", f"vertical_{i}", f"A{i}", f"angle: 90 deg{first}"))
        if i > 0:
            bodies.append(f"  horizontal_{i}: {{shape: {{type: rod, mass: 1, length: 1}}}}")
            joints.append(joint(f"left_{i}", f"vertical_{i - 1}", f"horizontal_{i}", f"B{i - 1}", "angle: -90 deg"))
            joints.append(joint(f"right_{i}", f"vertical_{i}", f"horizontal_{i}", f"B{i}", "angle: -90 deg"))
    head = HEAD.format(n=n, links=2 * n + 1, mobility=n + 1)
    tail = TAIL.format(n=n, step=step, tolerance=tolerance)
    sections = [("points", points), ("bodies", bodies), ("joints", joints)]
    return "\n".join([head, *("\n".join([f"{name}:", *lines, ""]) for name, lines in sections), tail])


def joint(name: str, a: str, b: str, point: str, initial: str) -> str:
    """One revolute joint, as a line of YAML."""
    return f"  {name}: {{type: revolute, bodies: [{a}, {b}], point: {point}, axis: z, initial: {{{initial}}}}}"


if __name__ == "__main__":
    Path(__file__).with_name("a02_four_bars_40.yaml").write_text(model(40, step="5e-4", tolerance="2e-6"))

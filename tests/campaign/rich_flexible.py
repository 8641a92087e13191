"""Random mechanisms with bodies that deform: forces and sensors of all kinds but tyres, and an objective of each."""

from functools import partial
from pathlib import Path

from tests.campaign.flexible import FlexibleMechanism, flexible_loop, flexible_tree
from tests.campaign.generator import COORDINATES, Data
from tests.campaign.richer import RichMechanism

WIDE = ("position", "velocity", "acceleration", "direction", "angular_velocity", "angular_acceleration", "deformation")


class RichFlexibleMechanism(FlexibleMechanism, RichMechanism):
    """Bodies, joints and places of the one, laws, forces and sensors of the other."""

    drawn = False

    def __init__(self, seed: int, file: tuple[Path, list[str], list[str]]):
        super().__init__(seed, file)
        # along z bodies would hang with their x axes upright, where roll and yaw have no value
        self.data["gravity"][:2] = [0.4, -0.3]

    def _tyre(self, body: str) -> Data:
        # roads are put below a wheel where a tree of rigid bodies stands
        drag = {"type": "drag", "point": self.point(body), "area": 0.3, "coefficient": 0.7}
        return drag | {"wind": [1.0, 0.5, 0.2]}

    def observe(self) -> None:
        """Sensors of both."""
        FlexibleMechanism.observe(self)
        deforming = self.data["sensors"]
        RichMechanism.observe(self)
        self.data["sensors"] |= deforming
        vectors = [name for name, force in self.data["forces"].items() if force["type"] in ("force", "torque", "drag")]
        self.data["objectives"] = {}
        for name, sensor in self.data["sensors"].items():
            if sensor["type"] == "reaction":
                parts = {part: {"integral": f"dot({name}.{part}, {name}.{part})"} for part in ("force", "moment")}
                self.data["objectives"] |= {f"o_{name}_{part}": objective for part, objective in parts.items()}
            elif sensor["type"] in WIDE or sensor.get("force") in vectors:
                self.data["objectives"][f"o_{name}"] = {"integral": f"dot({name}, [0.3, -0.5, 0.7])"}
            else:
                self.data["objectives"][f"o_{name}"] = {"final": f"{name} + 0.1*{name}**2"}


def held(data: Data) -> list[str]:
    """Coordinates that nothing stops from falling for ever."""
    tree = {name: joint["type"] for name, joint in data["joints"].items() if name.startswith("j")}
    return [f"{j}.{c}" for j, kind in tree.items() for c in COORDINATES.get(kind, ()) if "angle" not in c]


class WideFlexibleMechanism(RichFlexibleMechanism):
    """Meshes that begin anywhere, of all sections, and modes by their numbers or beside static shapes."""

    def _body(self) -> Data:
        made = super()._body()
        if "static" in made.get("flexible", {}).get("modes", ()):
            made["flexible"].pop("initial", None)  # whose length is that of all shapes
        return made

    def _meshed(self) -> Data:
        made = super()._meshed()
        mesh, n, first = made["mesh"], made["n"], self._vector(0.3)
        mesh["origin"] = first[:2] if self._kind == "plate" else first
        length = mesh["length"] if self._kind == "beam" else mesh["size"][0]
        ends = {"a": first[0], "b": round(first[0] + length, 6)}
        if self._kind == "beam":
            made["sets"] = {name: {"nearest": [x, *first[1:]]} for name, x in ends.items()}
            self._beam(mesh, n)
        else:
            across = [round(first[1] - 0.01, 6), round(first[1] + 0.11, 6)]
            made["sets"] = {name: {"x": x, "y": across} for name, x in ends.items()}
        made["modes"] = self.pick(({"keep": list(range(1, n + 1))}, {"count": n, "static": ["b"]}))
        return made

    def _beam(self, mesh: Data, n: int) -> None:
        """Another section, or a beam that stays in its plane."""
        properties = {"area": 6e-4, "second_moment_y": 2e-8, "second_moment_z": 4.5e-8, "torsion": 4.7e-8}
        if n == 2 and mesh["section"]["type"] == "circle":
            mesh["section"]["inner_radius"] = self.number(0.005, 0.015)
        elif self.random.random() < 0.5:
            mesh["section"] = {"type": "properties", **properties}
        elif n == 1:
            mesh["planar"] = True

    def _from_file(self) -> Data:
        return super()._from_file() | {"n": 1, "modes": [self.pick((1, 2))], "length_unit": "m"}


GROWERS = {"rich": RichFlexibleMechanism, "wide": WideFlexibleMechanism}
RICH_FAMILIES = {
    f"{name} {form}": partial(grow, grower=grower)
    for name, grower in GROWERS.items()
    for form, grow in (("tree", flexible_tree), ("loop", flexible_loop))
}

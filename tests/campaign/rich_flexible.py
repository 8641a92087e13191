"""Random mechanisms with bodies that deform: forces and sensors of all kinds but tyres, and an objective of each."""

from functools import partial

from tests.campaign.flexible import FlexibleMechanism, flexible_loop, flexible_tree
from tests.campaign.generator import COORDINATES, Data
from tests.campaign.richer import RichMechanism

WIDE = ("position", "velocity", "acceleration", "direction", "angular_velocity", "angular_acceleration", "deformation")


class RichFlexibleMechanism(FlexibleMechanism, RichMechanism):
    """Bodies, joints and places of the one, laws, forces and sensors of the other."""

    drawn = False

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


RICH_FAMILIES = {
    "rich tree": partial(flexible_tree, grower=RichFlexibleMechanism),
    "rich loop": partial(flexible_loop, grower=RichFlexibleMechanism),
}

"""Random mechanisms with bodies that deform, under forces of all kinds and with sensors of all kinds, but for tyres."""

from functools import partial

from tests.campaign.flexible import FlexibleMechanism, flexible_loop, flexible_tree
from tests.campaign.generator import Data
from tests.campaign.richer import RichMechanism


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
        self.data["objectives"] = {}


RICH_FAMILIES = {
    "rich tree": partial(flexible_tree, grower=RichFlexibleMechanism),
    "rich loop": partial(flexible_loop, grower=RichFlexibleMechanism),
}

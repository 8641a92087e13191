"""Types of parts that few files have, told apart by ``type``; a class is imported when a file first has such a part."""

from typing import TYPE_CHECKING, Annotated

from mbsim_cli.spec.base import ByKind, Described, later, named

if TYPE_CHECKING:
    from mbsim_cli.spec.cables import Cable
    from mbsim_cli.spec.constraints import Constraint
    from mbsim_cli.spec.contacts import ContactForce
    from mbsim_cli.spec.flexible import Field, Flexible, Material
    from mbsim_cli.spec.joint_tables import JointTable
    from mbsim_cli.spec.laws import Control, Law, Road, SimpleRoad
    from mbsim_cli.spec.special_joints import SpecialJoint
    from mbsim_cli.spec.special_sensors import SpecialSensor
    from mbsim_cli.spec.states import Controller, State
    from mbsim_cli.spec.studies import Fit, Measurement, Optimization, Study
else:
    Cable = later("cables.Cable")
    Constraint = later("constraints.Constraint")
    ContactForce = later("contacts.ContactForce")
    Field = later("flexible.Field")
    Flexible = later("flexible.Flexible")
    Material = later("flexible.Material")
    JointTable = later("joint_tables.JointTable")
    Control = later("laws.Control")
    Law = later("laws.Law")
    Road = later("laws.Road")
    SimpleRoad = later("laws.SimpleRoad")
    SpecialJoint = later("special_joints.SpecialJoint")
    SpecialSensor = later("special_sensors.SpecialSensor")
    Controller = later("states.Controller")
    State = later("states.State")
    Fit = later("studies.Fit")
    Measurement = later("studies.Measurement")
    Optimization = later("studies.Optimization")
    Study = later("studies.Study")

LawOrName = Annotated[named.Law | Law, ByKind()]
RoadOrName = Annotated[named.Road | SimpleRoad, ByKind()]


class AnyLaw(Described):
    """What all laws have; rules find laws by this class, and import no other."""

"""From friction in joints to forces by expressions, and to states of bristles.

Sources: Brown, McPhee, "A continuous velocity-based friction model for dynamics and control with physically meaningful
parameters", J. Comput. Nonlinear Dyn. 11 (2016), equation (16); Dupont, Hayward, Armstrong, Altpeter, "Single state
elastoplastic friction models", IEEE Trans. Autom. Control 47 (2002), (7)-(11); Olsson et al., "Friction models
and friction compensation", Eur. J. Control 4 (1998), of damping that fades with the rate.
"""

from mbsim_cli.spec.expand_controllers import text_of
from mbsim_cli.spec.expand_states import Maker
from mbsim_cli.spec.expressions.moving import Expression
from mbsim_cli.spec.friction import Friction
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.states import State

ELASTIC = 0.7  # of the deflection at loss: below it bristles are springs, so that nothing creeps


def expand_friction(review: Review) -> None:
    """Add to a model what friction in its joints stands for."""
    for joint, spec in list(review.model.joints.items()):
        friction = getattr(spec, "friction", None)
        if isinstance(friction, Friction):
            _add(
                Maker(review, ("joints", joint, "friction")),
                f"{joint}_friction",
                f"{joint}.{spec.coordinates[0]}",
                friction,
            )
        for coordinate, one in (friction or {}).items() if isinstance(friction, dict) else ():
            path = ("joints", joint, "friction", coordinate)
            if coordinate not in spec.coordinates:
                hint = "its coordinates are " + " and ".join(spec.coordinates)
                review.report(path, f"joint {joint!r} has no coordinate {coordinate!r}", hint, key=True)
                continue
            _add(Maker(review, path), f"{joint}_{coordinate}_friction", f"{joint}.{coordinate}", one)


def _add(maker: Maker, name: str, coordinate: str, spec: Friction) -> None:
    fits = maker.positive(loss=spec.loss, velocity=spec.velocity, stiffness=spec.stiffness)
    if not maker.is_readable(coordinate) or not fits:
        return
    lost, breakaway = maker.review.value(spec.loss), maker.review.value(spec.breakaway)
    if lost is not None and breakaway is not None and breakaway < lost:
        maker.report("breakaway", f"must not be less than loss, which is {lost:g}")
        return
    v, loss, turn = f"{coordinate}.velocity", text_of(spec.loss), text_of(spec.velocity)
    most = loss if spec.breakaway is None else text_of(spec.breakaway)
    viscous = "" if spec.viscous.literal == 0.0 else f" + {text_of(spec.viscous)}*{v}"
    if spec.law == "brown_mcphee":
        drop = "" if spec.breakaway is None else f" + ({most} - {loss})*({v}/{turn})/(({v}/(2*{turn}))**2 + 0.75)**2"
        maker.drive(name, coordinate, f"-({loss}*tanh(4*{v}/{turn}){drop}{viscous})")
        return
    assert spec.stiffness is not None
    z, stiffness = f"{name}_bristle", text_of(spec.stiffness)
    steady = loss if spec.breakaway is None else f"({loss} + ({most} - {loss})*exp(-({v}/{turn})**2))"
    begin = f"({ELASTIC}*{loss}/{stiffness})"
    share = f"max(0, min(1, (abs({z}) - {begin})/({steady}/{stiffness} - {begin})))"
    slip = f"(0.5 - 0.5*cos(pi*{share}))*{stiffness}/{steady}*max({v}*{z}, 0)*{z}/max(abs({z}), {begin})"
    rate = f"{v} - {slip}"
    maker.state(z, State(rate=Expression(rate)))
    damping = "" if spec.damping is None else f" + {text_of(spec.damping)}*exp(-({v}/{turn})**2)*({rate})"
    maker.drive(name, coordinate, f"-({stiffness}*{z}{damping}{viscous})")

"""The kinds of analysis, by the name that model files give them; a new one is registered here."""

from mbsim_cli.study.analyses.analysis import Analysis, Diagnostics
from mbsim_cli.study.analyses.equilibrium import Equilibrium
from mbsim_cli.study.analyses.forward_dynamics import ForwardDynamics
from mbsim_cli.study.analyses.inverse_dynamics import InverseDynamics
from mbsim_cli.study.analyses.kinematics import Kinematics
from mbsim_cli.study.analyses.modes import FrequencyResponse, Modes

__all__ = ["ANALYSES", "Analysis", "Diagnostics"]

ANALYSES: dict[str, Analysis] = {
    "forward_dynamics": ForwardDynamics(),
    "inverse_dynamics": InverseDynamics(),
    "equilibrium": Equilibrium(),
    "modes": Modes(),
    "frequency_response": FrequencyResponse(),
    "kinematics": Kinematics(),
}

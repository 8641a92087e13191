"""The kinds of analysis: how each is solved, watched and differentiated; a new one is a row of ``ANALYSES``."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.model.standard_data import is_consistent
from mbsim_cli.solve.breakpoints import begins_unseen, bends
from mbsim_cli.study.diagnostics import health

if TYPE_CHECKING:
    from mbsim_cli.assembly.objectives import Objective
    from mbsim_cli.assembly.problem import Assembled
    from mbsim_cli.solve.adjoint.readings import Pulled, Seen
    from mbsim_cli.study.verification import Comparison


class AdjointRequest(NamedTuple):
    """The numbers that an adjoint differentiates, in the order of arguments of ``solve.adjoint``."""

    number: int  # of numbers
    adjoints: "Seen"  # (first, record) -> (B, width, columns) of the sensors at a record from time point ``first``
    between: Callable[[], None]  # called after each block
    reacting: bool  # whether the numbers read reactions


class Analysis(ABC):
    """A kind of analysis: how its problem is solved, watched, stored and verified."""

    without: tuple[str, ...] = ()  # options of ``Settings`` that it has no use for
    inverse = False  # whether its blocks are those of inverse dynamics

    @abstractmethod
    def solve(self, problem: Problem, *, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Block]:
        """Yield all time points of the analysis in blocks.

        ``theta`` (len(theta),) replaces the numbers of the problem; complex ones differentiate the run. A ``tape``
        records the run for the adjoint.
        """

    def tape(self, problem: Problem) -> Any:
        """A tape that records a run for the adjoint within the allowed memory; ``time`` (N,) is known afterwards."""
        from mbsim_cli.solve.tape import Tape

        return Tape(problem.options.memory)

    def pull_back(self, problem: Problem, tape: Any, request: AdjointRequest) -> "Pulled":
        """Derivatives of the requested numbers by the parameters of the problem: ``solve.adjoint.readings.Pulled``."""
        raise NotImplementedError  # of kinds without an adjoint, which ``require_adjoint`` refuses before a run

    @abstractmethod
    def diagnostics(self, problem: Problem, objectives: Sequence["Objective"]) -> health.Diagnostics:
        """Diagnostics of a run, which take its blocks one by one."""

    def verify(self, model: str, assembled: "Assembled", seed: int) -> Iterator["Comparison"]:
        """Comparisons of ``mbsim check`` that this kind of analysis alone can make."""
        yield from ()

    def stores_sensitivities(self, problem: Problem) -> bool:
        """Whether its blocks have derivatives by parameters."""
        return problem.theta_rho.shape[1] > 0 and problem.options.sensitivity != "adjoint"


class ForwardDynamics(Analysis):
    """The motion that forces cause from a start, step by step."""

    def solve(self, problem: Problem, *, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Block]:
        """Yield every step, as objectives need every step."""
        from mbsim_cli.solve.forward import forward

        return forward(at_every_step(problem), theta=theta, tape=tape)

    def pull_back(self, problem: Problem, tape: Any, request: AdjointRequest) -> "Pulled":
        """One sweep back through time; the mean of two for parameters that need both sides of a change of laws."""
        from mbsim_cli.solve.sides import pull_back_sides

        def sweep(changed: Problem, theta: np.ndarray, adjoints: "Seen") -> "Pulled":
            other = self.tape(problem)
            for _ in self.solve(problem, theta=theta, tape=other):
                request.between()
            return _swept(changed, other, request._replace(adjoints=adjoints))

        def alone(adjoints: "Seen") -> "Pulled":
            return _swept(problem, tape, request._replace(adjoints=adjoints))

        theta = tape.initial.theta if np.iscomplexobj(tape.initial.theta) else problem.theta
        return pull_back_sides(problem, theta, request.adjoints, alone, sweep)

    def diagnostics(self, problem: Problem, objectives: Sequence["Objective"]) -> health.Health:
        """Drift, energy, iterations; where it starts at an equilibrium, whether that is stable."""
        conserves, unseen = keeps_energy(problem), begins_unseen(problem)
        jumps, bent = problem.theta.real[list(problem.jumps)], bends(problem)
        return health.Health(problem.options, problem.names, conserves, problem.touching, unseen, bent, jumps)


def _swept(problem: Problem, tape: Any, request: AdjointRequest) -> "Pulled":
    from mbsim_cli.solve.adjoint.whole_run import pull_back
    from mbsim_cli.solve.initial import assemble
    from mbsim_cli.solve.natural.start import natural_start

    if tape.initial.dtheta.shape[1] < problem.theta_rho.shape[1]:  # the run was differentiated by fewer parameters
        alone = problem.options.analysis == "kinematics"
        tape.initial = natural_start(problem)[1] if problem.options.natural else assemble(problem, motion_only=alone)
    return pull_back(problem, tape, *request)


def keeps_energy(problem: Problem) -> bool:
    """Whether the equations of motion conserve energy.

    They do if the terms of all flexible bodies satisfy their identities, apart from the terms of stiffening.
    Derivation: docs/theory/flexible_bodies.md, sections 2 and 5.
    """
    tree: Any = problem.model.tree
    if not hasattr(tree, "deviation"):
        return True
    bodies = zip(tree.block, tree.deviation, np.diff(tree.elastic), strict=True)
    return all(second == NONE or is_consistent(problem.theta, first, second, int(n)) for first, second, n in bodies)


def at_every_step(problem: Problem) -> Problem:
    """The problem whose blocks have every step as a time point."""
    return replace(problem, options=replace(problem.options, output_interval=1))


class InverseDynamics(Analysis):
    """Torques along a given motion, with all their derivatives."""

    without = ("formulation", "integrator", "tolerance", "memory")
    inverse = True

    def solve(self, problem: Problem, *, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Any]:
        """All time points, without derivatives if there is a tape; numbers are those of the problem."""
        from mbsim_cli.solve.inverse.analysis import inverse

        return inverse(problem) if tape is None else tape.blocks(problem)

    def tape(self, problem: Problem) -> Any:
        """The times of the motion."""
        from mbsim_cli.solve.adjoint.time_points import TorqueTape

        return TorqueTape()

    def pull_back(self, problem: Problem, tape: Any, request: AdjointRequest) -> "Pulled":
        """Each time point for itself."""
        from mbsim_cli.solve.adjoint.time_points import pull_back_inverse, pull_back_loops

        return (pull_back_inverse if problem.drives is None else pull_back_loops)(problem, tape, *request)

    def diagnostics(self, problem: Problem, objectives: Sequence["Objective"]) -> health.TorqueHealth:
        """The largest torque."""
        return health.TorqueHealth(problem)

    def verify(self, model: str, assembled: "Assembled", seed: int) -> Iterator["Comparison"]:
        """Derivatives of torques by the motion and by parameters."""
        from mbsim_cli.study.verification import torque_directions

        if assembled.problem.drives is not None:  # its objectives are compared, which read them
            return iter(())
        return torque_directions(model, assembled, seed)

    def stores_sensitivities(self, problem: Problem) -> bool:
        """Derivatives by the motion need no parameters."""
        return problem.options.sensitivity == "ddm"


class Equilibrium(Analysis):
    """Static equilibrium: a single time point at rest, at which forces balance."""

    without = ("formulation", "integrator", "tolerance", "step", "accuracy", "duration", "memory")

    def solve(self, problem: Problem, *, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Block]:
        """The one time point."""
        from mbsim_cli.solve.equilibrium import equilibrium

        return equilibrium(problem, theta=theta, tape=tape)

    def pull_back(self, problem: Problem, tape: Any, request: AdjointRequest) -> "Pulled":
        """One solution of the equilibrium's equations, transposed."""
        from mbsim_cli.solve.adjoint.time_points import pull_back_equilibrium

        if tape.initial.dtheta.shape[1] < problem.theta_rho.shape[1]:  # the run was differentiated by fewer parameters
            tape = self.tape(problem)
            for _ in self.solve(problem, tape=tape):
                pass
        return pull_back_equilibrium(problem, tape, *request)

    def diagnostics(self, problem: Problem, objectives: Sequence["Objective"]) -> health.RestHealth:
        """Stability, natural frequencies, and coordinates that no force determines."""
        return health.RestHealth(problem, objectives)


class Kinematics(Analysis):
    """Samples of a motion that laws determine completely, and of the forces that it needs, each solved for itself."""

    without = ("formulation", "integrator", "tolerance", "accuracy", "memory")

    def solve(self, problem: Problem, *, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Block]:
        """The samples."""
        from mbsim_cli.solve.kinematics import kinematics

        return kinematics(problem, theta=theta, tape=tape)

    def pull_back(self, problem: Problem, tape: Any, request: AdjointRequest) -> "Pulled":
        """Each sample for itself."""
        return _swept(problem, tape, request)

    def diagnostics(self, problem: Problem, objectives: Sequence["Objective"]) -> health.Health:
        """Drift, iterations, and singular positions."""
        return health.Health(problem.options, problem.names)


class Modes(Analysis):
    """One time point, of an equilibrium or a steady motion, and the modes of small motions about it."""

    without = ("formulation", "integrator", "tolerance", "step", "accuracy", "duration", "memory")

    def solve(self, problem: Problem, *, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Block]:
        """The one time point; numbers are those of the problem."""
        from mbsim_cli.solve.linear.modes import modes

        return modes(problem)

    def diagnostics(self, problem: Problem, objectives: Sequence["Objective"]) -> health.Diagnostics:
        """Stability, equal eigenvalues, motions that are not steady."""
        return health.ModalHealth(problem, objectives)


class FrequencyResponse(Modes):
    """One time point, and the frequency response of small motions about it."""

    def solve(self, problem: Problem, *, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Block]:
        """The one time point; numbers are those of the problem."""
        from mbsim_cli.solve.linear.state_space import responses

        return responses(problem)

    def diagnostics(self, problem: Problem, objectives: Sequence["Objective"]) -> health.Diagnostics:
        """Stability, and resonances without damping."""
        return health.ResponseHealth(problem, objectives)


ANALYSES: dict[str, Analysis] = {  # by the names that model files give them
    "forward_dynamics": ForwardDynamics(),
    "inverse_dynamics": InverseDynamics(),
    "equilibrium": Equilibrium(),
    "modes": Modes(),
    "frequency_response": FrequencyResponse(),
    "kinematics": Kinematics(),
}

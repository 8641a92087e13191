"""A body that deforms in space, hung on a ball, against Exudyn: the lattice of `tests/models/test_flexible_lattice.py`.

Both programs reduce the same matrices to the same modes. Weights act at all points: Exudyn's load in proportion to mass
takes its moment about the centre of mass of the body at rest, and would move the end by 2e-5 m.
"""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tests.models.test_flexible_lattice import DURATION, GRAVITY, HELD, MASSES, MODES, POINTS, SPIN, ours, stiffness

exudyn = pytest.importorskip("exudyn")
pytestmark = pytest.mark.oracles
ROOT = list(range(HELD))


def theirs(step: float) -> np.ndarray:
    """Where (3,) the middle of the far end is at last, by the trapezoidal rule."""
    from exudyn import FEM
    from exudyn.itemInterface import (
        GenericJoint,
        LoadForceVector,
        MarkerBodyRigid,
        MarkerSuperElementPosition,
        MarkerSuperElementRigid,
        ObjectGround,
    )

    body = FEM.FEMinterface()
    body.nodes = {"Position": POINTS}
    body.massMatrix, body.stiffnessMatrix = csr_matrix(np.diag(np.repeat(MASSES, 3))), csr_matrix(stiffness())
    body.ComputeHurtyCraigBamptonModes([ROOT], MODES, useSparseSolver=True)
    container = exudyn.SystemContainer()
    system = container.AddSystem()
    frame = FEM.ObjectFFRFreducedOrderInterface(body)
    lattice = frame.AddObjectFFRFreducedOrder(system, initialAngularVelocity=SPIN)["oFFRFreducedOrder"]
    for node, mass in enumerate(MASSES):
        place = MarkerSuperElementPosition(bodyNumber=lattice, meshNodeNumbers=[node], weightingFactors=[1.0])
        system.AddLoad(LoadForceVector(markerNumber=system.AddMarker(place), loadVector=mass * np.array(GRAVITY)))
    root = MarkerSuperElementRigid(bodyNumber=lattice, meshNodeNumbers=ROOT, weightingFactors=[1 / HELD] * HELD)
    ground = MarkerBodyRigid(bodyNumber=system.AddObject(ObjectGround()))
    ends = [system.AddMarker(marker) for marker in (ground, root)]
    system.AddObject(GenericJoint(markerNumbers=ends, constrainedAxes=[1, 1, 1, 0, 0, 0]))
    system.Assemble()
    settings = exudyn.SimulationSettings()
    settings.solutionSettings.writeSolutionToFile = False  # it would make a folder `solution` here
    time = settings.timeIntegration
    time.numberOfSteps, time.endTime, time.verboseMode = round(DURATION / step), DURATION, 0
    time.generalizedAlpha.spectralRadius = 1.0
    time.newton.relativeTolerance = time.newton.absoluteTolerance = 1e-12
    system.SolveDynamic(settings)
    end = [
        system.GetObjectOutputSuperElement(lattice, exudyn.OutputVariableType.Position, node)
        for node in range(len(POINTS) - HELD, len(POINTS))
    ]
    return np.mean(end, axis=0)


def limit(motion) -> np.ndarray:
    """Of the second order in the step, two steps give the fourth."""
    coarse, fine = motion(2e-4), motion(1e-4)
    return fine + (fine - coarse) / 3.0


def test_swing(tmp_path):
    """The end is bent by 0.5 mm."""
    assert np.allclose(limit(lambda step: ours(tmp_path, step)), limit(theirs), rtol=0, atol=1e-9)

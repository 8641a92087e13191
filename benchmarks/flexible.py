"""Cost of reducing flexible bodies: modes, standard input data, and the gradient by the densities of all elements.

    python benchmarks/flexible.py                 plates with 1e3, 1e4 and 1e5 elements, 1e4 and 1e5 bricks
    python benchmarks/flexible.py --quick         without the largest
    python benchmarks/flexible.py --json FILE

Seconds of the processor, one thread; each size in a process of its own, for its peak of memory. Limits in brackets.
The largest takes pyamg (extra fem) and some two minutes.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}

from mbsim_cli.reduction.elements import solid  # noqa: E402
from mbsim_cli.reduction.fields import (  # noqa: E402
    Simp,
    element_gradients,
)
from mbsim_cli.reduction.mesh import (  # noqa: E402
    Selection,
    grid,
    nodes_of,
)
from mbsim_cli.reduction.reduce import Body, reduced  # noqa: E402
from mbsim_cli.reduction.restriction import Frame, mesh_node  # noqa: E402

MODES = 10
GB = 1024
CASES = {  # elements, most seconds of the reduction and most memory, MB
    "plate 1e3": ((70, 14), 0.1, 2 * GB),
    "plate 1e4": ((225, 45), 0.7, 2 * GB),
    "plate 1e5": ((705, 141), 8.0, 2 * GB),
    "bricks 1e4": ((80, 16, 8), 8.0, 2 * GB),
    "bricks 1e5": ((172, 34, 17), 200.0, 3 * GB),
}


def body(elements: tuple[int, ...]) -> Body:
    """A crank of uneven density, fixed at one end."""
    size = (0.4, 0.08, 0.04)[: len(elements)]
    mesh = grid([0.0, -0.04, -0.02][: len(elements)], size, elements)
    structure = solid(mesh, 2.1e11, 0.3, 7850.0, 0.01)
    x, y, _ = mesh.centres.T
    p = 0.7 + 0.25 * np.sin(2 * np.pi * (2 * x / 0.4 + y / 0.08 + 0.5))
    structure = structure.with_density(Simp().stiffness(p), Simp().mass(p))
    hub, pin = (nodes_of(mesh, Selection({0: (at, at)}), ("sets",)) for at in (0.0, 0.4))
    return Body(structure, Frame(fixed=hub), (mesh_node(structure, "pin", pin),), modes=tuple(range(MODES)))


def measure(name: str) -> dict:
    """Seconds of reduction and gradient, and the peak of memory."""
    elements, most, memory = CASES[name]
    small = body(tuple(max(n // n, 1) * 4 for n in elements))
    element_gradients(reduced(replace(small, modes=(0, 1))), reduced(replace(small, modes=(0, 1))).sid)  # imports
    start = time.process_time()
    found = reduced(body(elements))
    middle = time.process_time()
    adjoint = found.sid.map(
        lambda _, term: term.map(lambda entries: np.cos(np.arange(entries.size)).reshape(entries.shape))
    )
    begun = time.process_time()
    element_gradients(found, adjoint)
    end = time.process_time()
    return {
        "case": name,
        "elements": int(np.prod(elements)),
        "unknowns": found.body.structure.size,
        "reduction": middle - start,
        "at most": most,
        "gradient": end - begun,
        "at most MB": memory,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Measure each case in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case:
        print(json.dumps(measure(asked.case)))
        return
    rows = []
    for name in CASES:
        if asked.quick and name in ("plate 1e5", "bricks 1e4", "bricks 1e5"):
            continue
        out = subprocess.run(
            [sys.executable, __file__, "--case", name],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | ONE_THREAD,
        )
        rows.append(json.loads(out.stdout))
        r = rows[-1]
        print(
            f"{r['case']:<11} {r['elements']:7d} elements {r['unknowns']:7d} unknowns  "
            f"reduction {r['reduction']:6.2f} s [{r['at most']:g}]  "
            f"gradient by all densities {r['gradient']:6.2f} s  peak {r['peak MB']:.0f} MB [{r['at most MB']}]",
            flush=True,
        )
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()

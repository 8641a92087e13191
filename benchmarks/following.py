"""How much of the program one value and gradient of the five-bar runs through: its own functions and files, by package.

    python benchmarks/following.py [--json] [--list]

Counted are functions of ``mbsim_cli`` that Python calls, without compiled kernels: in ``Model.value_and_gradient`` of
psi1, by the direct method and by the adjoint, and in a whole ``mbsim run``, each after a first call.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import mbsim_cli as mbsim
from mbsim_cli.cli import outcome

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mbsim_cli"
MODEL = ROOT / "models" / "fivebar.yaml"


def followed(work):
    """Functions as (file, line, name) that a call enters; comprehensions and lambdas belong to the function around."""
    found = set()

    def note(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and not code.co_name.startswith("<"):
            found.add((str(Path(code.co_filename).relative_to(PACKAGE)), code.co_firstlineno, code.co_qualname))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return {entry for entry in found if not entry[0].startswith("kernels")}


def run(command):
    """Run a command in this process, without its output."""
    with redirect_stdout(StringIO()):
        outcome.call(command)


def ways():
    """{name: functions} of each way, after a first call."""
    model = mbsim.load(MODEL)
    name = model.objectives[0]
    with tempfile.TemporaryDirectory() as folder:
        command = ["run", str(MODEL), "--output", f"{folder}/result.h5", "--force", "--quiet"]
        works = {
            f"{name} and gradient, ddm": lambda: model.value_and_gradient(None, name, sensitivity="ddm"),
            f"{name} and gradient, adjoint": lambda: model.value_and_gradient(None, name, sensitivity="adjoint"),
            "mbsim run": lambda: run(command),
        }
        found = {}
        for title, work in works.items():
            work()
            found[title] = followed(work)
    return found


def main():
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print numbers as JSON")
    parser.add_argument("--list", action="store_true", help="print every function")
    asked = parser.parse_args()
    report = {}
    for title, found in ways().items():
        packages = Counter(file.partition("/")[0] for file, _, _ in found)
        files = len({file for file, _, _ in found})
        report[title] = {"functions": len(found), "files": files, "packages": dict(packages.most_common())}
        if not asked.json:
            counts = ", ".join(f"{package} {count}" for package, count in packages.most_common())
            print(f"{title}: {len(found)} functions in {files} files ({counts})")
        if asked.list:
            print(*(f"  {file}:{line} {name}" for file, line, name in sorted(found)), sep="\n")
    if asked.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()

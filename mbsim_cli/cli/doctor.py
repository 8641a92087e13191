"""``mbsim doctor``: check the installation, and advise on faults."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import mbsim_cli
from mbsim_cli.cli import options
from mbsim_cli.cli.output import emit, print_report, show_table, tell
from mbsim_cli.errors import MbsimError, UsageError

Probe = Annotated[
    bool, typer.Option("--probe", help="Compile a small kernel too, in a process of its own: some seconds.")
]
Run = Annotated[
    bool,
    typer.Option(
        "--run/--no-run", help="Without problems, run the five-bar linkage with its gradients, and compare digits."
    ),
]
Generated = Annotated[
    str, typer.Option("--generated", metavar="ELEMENT", help="Print the generated derivatives of a force element.")
]
_ROOM = 50_000_000  # disk space of all kernels, bytes
# loops for eight cases of a study, by the systems that they are for
_LOOPS = {"simulate_cases.simulate_cases": "ALI3-P", "integrate_cases.integrate_cases": "open trees"}
# psi1 of the template fivebar and its derivatives, on Linux and x86-64; Table 7 of the paper has four of their digits
_FIVE_BAR = {"value": 0.72687744248, "L_s1": -4.2288164481, "L_s2": 3.2115942793, "L_A1": 3.3598320614}
_DIGITS = 1e-8  # relative; the round-off of other processors, and the tolerance of Newton's iteration
_REMEDY = "install a tested version of numba, or report this with the output of mbsim doctor --probe --json"
_STATED = " is set"  # ends the reasons for a compiler set by environment variables


def command(probe: Probe = False, run: Run = True, generated: Generated = "", json: options.Json = False) -> None:
    """Test the installation, and list problems with their remedies.

    Shows versions, compiler, threads and the cache of compiled kernels; without problems, runs a model whose results
    are known. Exit code 0: no problems; 1: some.
    """
    options.limit_threads(None)
    if generated:
        return _print_generated(generated, json)
    report = _report(probe, run)
    print_report(report, json, _print)
    raise typer.Exit(1 if report["problems"] else 0)


def _print_generated(name: str, json: bool) -> None:
    """Source code of the kernels that are generated for an element."""
    from mbsim_cli.kernels.elements import generated

    known = generated()
    if name not in known:
        raise UsageError(f"no element {name!r} has generated derivatives; these have: {', '.join(sorted(known))}")
    texts = {form.format(name): text for form, text in known[name].texts.items()}
    if json:
        emit(texts)
    else:
        print("\n\n".join(texts.values()))


def _report(probe: bool, run: bool) -> dict[str, Any]:
    from mbsim_cli.io.provenance import platform_facts
    from mbsim_cli.kernels.compiler import choice
    from mbsim_cli.system import VARIABLES, usable

    first, beyond = (".".join(map(str, version)) for version in (choice.FROM, choice.UNTIL))
    tested = f"numba {first} to below {beyond} on {' '.join(choice.MACHINE)}"
    found: dict[str, Any] = {
        "versions": {"mbsim": mbsim_cli.__version__, **platform_facts()},
        "threads": {"usable_processors": usable()} | {name: os.environ.get(name, "") for name in VARIABLES},
        "compiler": {
            "name": choice.COMPILER,
            "reason": choice.REASON,
            "tested": choice.is_tested(),
            "tested_range": tested,
            "processor": choice.processor(),
            "probe": (choice.probe()[0] or "passed") if probe else None,
        },
    }
    found |= {"cache": _cache(), "run": None}
    problems = list(_problems(found))
    if run and not problems:
        found["run"] = _proof()
        found["cache"] = _cache()
        problems = list(_problems(found))
    return found | {"problems": problems, "hints": list(_hints(found))}


def _proof() -> dict[str, Any]:
    """Reference values for the five-bar linkage, and those of a run on this machine."""
    import tempfile

    from mbsim_cli.cli.init import template

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fivebar.yaml"
        path.write_text(template("fivebar"), encoding="utf-8")
        try:
            psi1 = mbsim_cli.run(path).objectives["psi1"]
        except MbsimError as error:
            return {"model": "fivebar", "failed": str(error)}
    found = {name: psi1.value if name == "value" else psi1.by(name) for name in _FIVE_BAR}
    worst = max(abs(found[name] / known - 1) for name, known in _FIVE_BAR.items())
    return {"model": "fivebar", "found": found, "known": _FIVE_BAR, "relative_difference": worst}


def _cache() -> dict[str, Any]:
    """The cache folder of this version, and those of other versions."""
    from mbsim_cli.kernels.compiler import store
    from mbsim_cli.kernels.compiler.watch import STORE

    known = store.folders()
    parts = [folder.size for folder in known if folder.name == store.PARTS]
    own = next((folder for folder in known if folder.name == STORE.name), None)
    trouble, locks = STORE.check()
    return {
        "folder": STORE.path or store.folder_of_user(),
        "trouble": trouble,
        "locks": locks,
        "free_bytes": _free(STORE.path),
        "entries": [{"name": name, "bytes": size} for name, size in own.entries] if own else [],
        "lanes": [systems for name, systems in _LOOPS.items() if own and name in dict(own.entries)],
        "bytes": own.size if own else 0,
        "bytes_of_parts": sum(parts),
        "prebuilt": [path.name.rsplit("-", 1)[0] for path in store.prebuilt_entries()],
        "prebuilt_for": store.prebuilt_level(),
        "stale": [
            {"folder": folder.name, "entries": len(folder.entries), "bytes": folder.size, "newest": folder.newest}
            for folder in known
            if folder is not own and folder.name != store.PARTS and folder.entries
        ],
    }


def _free(folder: str) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _problems(found: dict[str, Any]) -> Iterator[str]:
    """Faults that slow runs down or prevent them, each with its remedy."""
    compiler, cache = found["compiler"], found["cache"]
    if compiler["name"] == "none":
        yield "NUMBA_DISABLE_JIT is set: kernels run as Python, about a hundred times slower; unset it"
    elif compiler["name"] == "plain":
        remedy = "unset it" if _STATED in compiler["reason"] else _REMEDY
        yield f"the plain compiler is used, several times slower: {compiler['reason']}; {remedy}"
    if compiler["probe"] not in (None, "passed"):
        yield f"numba does not do what the fast compiler needs: {compiler['probe']}; {_REMEDY}"
    proof = found["run"] or {}
    if failed := proof.get("failed"):
        yield f"the five-bar linkage does not run: {failed}; {_REMEDY}"
    elif proof and not proof["relative_difference"] <= _DIGITS:
        yield (
            f"a run of the five-bar linkage gives other numbers than it should, by {proof['relative_difference']:.1g}: "
            f"{proof['found']} for {proof['known']}; {_REMEDY}"
        )
    if cache["trouble"]:
        yield (
            "compiled kernels cannot be kept, so that runs compile again, for minutes, what is not there: "
            f"{cache['trouble']}; or set MBSIM_CACHE_DIR to a folder of your own"
        )
    elif cache["free_bytes"] is not None and cache["free_bytes"] < _ROOM:
        yield f"only {_size(cache['free_bytes'])} are free where kernels are kept; set MBSIM_CACHE_DIR to another disk"


def _hints(found: dict[str, Any]) -> Iterator[str]:
    """Advice that is not about faults."""
    compiler, cache, threads = found["compiler"], found["cache"], found["threads"]
    if not compiler["tested"] and (compiler["name"] != "plain" or _STATED in compiler["reason"]):
        yield f"numba {found['versions']['numba']} here is not one of the tested versions, {compiler['tested_range']}"
    if not (cache["entries"] or cache["prebuilt"] or cache["trouble"]):
        yield "no kernels are compiled yet: the first run takes one to three minutes more, or mbsim compile does it now"
    if not (cache["locks"] or cache["trouble"]):
        yield "files cannot be locked where kernels are kept: runs that start together each compile the same"
    if cache["stale"]:
        count, total = len(cache["stale"]), _size(sum(folder["bytes"] for folder in cache["stale"]))
        folders = f"{count} folders beside it hold" if count > 1 else "1 folder beside it holds"
        yield f"{folders} kernels of other versions, {total} in all; what no other environment uses can be deleted"
    for name, value in threads.items():
        if name.endswith("_THREADS") and value not in ("", "1"):
            yield f"{name} is {value}: the matrices are small, and one thread is mostly faster"


def _size(count: int) -> str:
    return f"{count / 1e6:.3g} MB" if count < 1e9 else f"{count / 1e9:.3g} GB"


def _print(report: dict[str, Any]) -> None:
    compiler, cache, threads = report["compiler"], report["cache"], dict(report["threads"])
    tell(", ".join(f"{name} {version}" for name, version in report["versions"].items()))
    tell(f"compiler: {compiler['name']}, for {compiler['processor']}; tested with {compiler['tested_range']}")
    tell(f"threads: {threads.pop('usable_processors')} processors, {', '.join(f'{n}={v}' for n, v in threads.items())}")
    sizes = f"{_size(cache['bytes'])}, and {_size(cache['bytes_of_parts'])} of what they are linked of"
    tell(f"cache: {cache['folder']}, {len(cache['entries'])} kernels, {sizes}")
    loops = " and ".join(cache["lanes"]) or "nothing yet, mbsim compile --lanes makes them"
    tell(f"loops for eight cases of a study without gradients: {loops}")
    if cache["prebuilt"]:
        tell(f"with the package: {len(cache['prebuilt'])} kernels for {cache['prebuilt_for']}")
    rows = [(entry["name"], _size(entry["bytes"])) for entry in cache["entries"]]
    rows += [
        (f"{folder['folder']} (other versions, {folder['entries']} kernels)", _size(folder["bytes"]))
        for folder in cache["stale"]
    ]
    if rows:
        show_table(("kept", "size"), rows)
    if report["run"] and "failed" not in report["run"]:
        tell(f"run: the five-bar linkage, within {report['run']['relative_difference']:.1g} of the known numbers")
    for problem in report["problems"]:
        tell(f"problem: {problem}")
    for hint in report["hints"]:
        tell(f"hint: {hint}")
    if not report["problems"]:
        tell("nothing is wrong")

"""``mbsim compile``: compile kernels into the cache before the first run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mbsim_cli.cli import options
from mbsim_cli.cli.output import Terminal, print_report, say, tell
from mbsim_cli.errors import InputOutputError, UsageError

Models = Annotated[
    list[Path] | None, options.file("[MODEL.yaml...]", "Model files; --all without any takes small models of its own.")
]
Every = Annotated[bool, typer.Option("--all", help="For every formulation and integrator, not only the file's own.")]


@options.replacing(*options.MODEL)
def command(
    models: Models = None,
    settings: "options.Settings" = options.STATED,
    every: Every = False,
    lanes: Annotated[
        bool,
        typer.Option(
            "--lanes", help="Also the loops for eight cases of a study; implied by --all, and by models with studies."
        ),
    ] = False,
    into: Annotated[
        Path | None,
        options.value(
            "DIR",
            "Copy the kernels to DIR, for the level MBSIM_PROCESSOR; pip installs mbsim_cli/prebuilt of a clone.",
            False,
        ),
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compile the kernels that models need, before the first run.

    With gradients and without. Exit code 0: all kernels are in the cache; 5: they cannot be kept.
    """
    if not (models or every):
        raise UsageError("name model files, or give --all to compile for any model")
    if settings.overrides and not models:
        raise UsageError("-p and -s are for model files; name some")
    from mbsim_cli.kernels.compiler import choice, store, watch
    from mbsim_cli.study.compiling import precompile

    if into and choice.COMPILER != "linking":
        raise UsageError("only kernels of the linking compiler can come with a package; mbsim doctor says more")
    if into:
        store.ignore_prebuilt()
    variants = list(precompile(models or (), every, Terminal(quiet), lanes, settings))
    report: dict[str, Any] = {
        "cache": watch.STORE.path,
        "trouble": watch.STORE.trouble,
        "compiled": sorted({name for variant in variants for name in variant.compiled.names}),
        "count": sum(len(variant.compiled.names) for variant in variants),
        "seconds": sum(variant.compiled.seconds for variant in variants),
        "analyses": [variant.report for variant in variants if not variant.refused],
        "refused": [variant.report for variant in variants if variant.refused] if models else [],
    }
    if into and not watch.STORE.trouble:
        report["into"] = store.fill_prebuilt(into, watch.STORE.path)
    print_report(report, json, _print, quiet, lanes)
    if watch.STORE.trouble:
        raise typer.Exit(InputOutputError.exit_code)


def _print(report: dict[str, Any], quiet: bool, lanes: bool) -> None:
    for model, reason in {(entry["model"], entry["refused"]): None for entry in report["refused"]}:
        left_out = dict.fromkeys(entry["formulation"] for entry in report["refused"] if entry["model"] == model)
        tell(f"{model}: not for {', '.join(left_out)}: {reason}", quiet)
    if lanes:
        for model, reason in dict.fromkeys((entry["model"], entry["alone"]) for entry in report["analyses"]):
            if reason:
                tell(f"{model}: no loop for eight cases of a study: {reason}", quiet)
    if report["trouble"]:
        return say(f"compiled kernels cannot be kept: {report['trouble']}; mbsim doctor says more")
    analyses = f"{len(report['analyses'])} analyses"
    found = "all kernels were there already" if not report["count"] else f"{report['count']} kernels compiled"
    places = " and ".join(report[name] for name in ("cache", "into") if name in report)
    tell(f"{analyses}, {found} ({report['seconds']:.0f} s); they are kept in {places}")

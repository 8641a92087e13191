"""``mbsim report``: a page of a result, a study or a fit that can be sent."""

from pathlib import Path
from typing import Annotated

from mbsim_cli.cli import options, signals
from mbsim_cli.cli.output import print_written
from mbsim_cli.errors import UsageError


def command(
    source: Annotated[
        Path,
        options.file(
            "RESULT.h5|STUDY|FIT.json",
            "Result of run or optimize; study.h5 or the folder of a study; what fit -o wrote.",
        ),
    ],
    output: Annotated[Path | None, options.output("OUT.html", "Page.", "SOURCE.html here")] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: options.Force = False,
) -> None:
    """Write a page of a result, a study or a fit.

    One HTML file that needs no network: the mechanism in space, histories, gradients, sliders of parameters.
    """
    options.limit_threads(None)
    from mbsim_cli.io.target import PAGE, check_target, replaced
    from mbsim_cli.report.page import page
    from mbsim_cli.study.pictures.pages import page_of

    written = output or Path(f"{source.resolve().name.partition('.')[0]}.html")
    if written.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"-o {written}: a page ends in .html")
    target = check_target(written, PAGE, force=force)
    data = page_of(source)
    text = page(data, data["title"])
    with signals.shield(), replaced(target, PAGE, force=force) as temporary:
        temporary.write_text(text, "utf-8", "replace")
    size = len(text.encode("utf-8", "replace"))
    report = {"output": str(written), "source": str(source), "kind": data["kind"], "bytes": size}
    sentence = f"{written}: {data['kind']}, {size / 1e6:.2f} MB"
    print_written(report | {"notes": data["notes"]}, json, sentence, quiet, data["notes"])

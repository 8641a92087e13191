"""``mbsim animate``: the motion of a result, as a moving picture."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mbsim_cli.cli import options, signals
from mbsim_cli.cli.output import bar, print_written, say
from mbsim_cli.errors import UsageError, counted

if TYPE_CHECKING:
    from mbsim_cli.io.results import ResultFile
    from mbsim_cli.report.stage import Film

SIZES = (64, 4096)  # pixels
SIZE = "640x480"
Trace = Annotated[list[str] | None, options.value("BODY.POINT", "Point that leaves a trace; repeat for more.", False)]
Mode = Annotated[int | None, options.value("K", "Draw mode K of an analysis of modes, slowly.", False, min=1)]


def command(
    result: Annotated[Path, options.file("RESULT.h5", "Result file.")],
    output: Annotated[
        Path | None, options.output("OUT.gif|mp4|pvd", "Moving picture, or meshes for viewers.", "RESULT.gif here")
    ] = None,
    trace: Trace = None,
    view: Annotated[
        str | None,
        options.value(
            "xy|xz|yz|AZ,EL",
            "Plane, or azimuth and elevation of the eye in degrees.",
            "the plane of a plane motion, else -60,20",
        ),
    ] = None,
    follow: Annotated[str | None, options.value("BODY", "Body that the camera moves with.", False)] = None,
    exaggerate: Annotated[
        float | None, options.value("FACTOR", "Draw deformations of meshes, or a mode, this much larger.", "1")
    ] = None,
    mode: Mode = None,
    speed: Annotated[float, typer.Option(metavar="X", help="Seconds of motion in a second of the picture.")] = 1.0,
    fps: Annotated[float, typer.Option(metavar="N", min=1, max=100, help="Frames in a second of the picture.")] = 25.0,
    size: Annotated[str | None, options.value("WxH", "Pixels.", SIZE)] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: options.Force = False,
) -> None:
    """Draw the motion of a result as a film.

    Bodies as their points, lines and shapes, joints, springs and traces.
    """
    options.limit_threads(None)
    from mbsim_cli.io.results import ResultFile
    from mbsim_cli.io.target import PICTURE, check_target
    from mbsim_cli.report import picture_kind, require_matplotlib
    from mbsim_cli.study.pictures.motion import ModeFilm, RunFilm

    picture = output or Path(result.stem + ".gif")
    kind = picture_kind(picture, ("gif", "mp4", "pvd"))
    options.positive("--speed", speed, "")
    if exaggerate is not None and not 0 <= exaggerate < float("inf"):
        raise UsageError(f"--exaggerate must be a factor that is not negative, not {exaggerate:g}")
    pixels = _pixels(size or SIZE)
    if kind == "pvd":
        drawn = options.given({"--trace": trace, "--view": view, "--follow": follow, "--size": size, "--mode": mode})
        if drawn:
            raise UsageError(f"a .pvd file holds meshes and no picture, and has no use for {drawn}; leave it out")
        report = _collect(ResultFile(result), picture, speed, fps, exaggerate, quiet, force)
    else:
        require_matplotlib()
        target = check_target(picture, PICTURE, force=force)
        filming = (
            RunFilm(ResultFile(result), speed=speed, fps=fps, exaggeration=exaggerate)
            if mode is None
            else ModeFilm(ResultFile(result), mode, speed, fps, exaggerate)
        )
        for sentence in filming.moving.scene.left_out:
            say(sentence, quiet)
        film = filming.film(trace or [], view, follow, pixels, filming.title or result.stem)
        report = _shoot(film, target, kind, fps, quiet, force) | {"motion": filming.duration}
    frames, remarks = counted(report["frames"], "frame"), []
    if report["frames"] == 1 and report["motion"] > 0:
        remarks.append(f"the motion takes {report['motion']:g} s, less than a frame does; a smaller --speed shows it")
    sentence = f"{picture}: {frames}, {report['start']:g} to {report['end']:g} s"
    print_written(report | {"output": str(picture), "result": str(result)}, json, sentence, quiet, remarks)


def _pixels(size: str) -> tuple[int, int]:
    """Width and height, rounded to even numbers, which H.264 requires."""
    match = re.fullmatch(r"(\d{1,6})x(\d{1,6})", size.strip())
    if match is None or not all(SIZES[0] <= int(number) <= SIZES[1] for number in match.groups()):
        raise UsageError(f"--size must be WxH, each {SIZES[0]} to {SIZES[1]} pixels, such as 640x480, not '{size}'")
    return int(match[1]) // 2 * 2, int(match[2]) // 2 * 2


def _shoot(film: "Film", target: Path, kind: str, fps: float, quiet: bool, force: bool) -> dict[str, Any]:
    """Draw and write every frame."""
    from mbsim_cli.io.target import PICTURE, replaced
    from mbsim_cli.report.stage import frames
    from mbsim_cli.report.style import require_ffmpeg, write_gif, write_mp4

    if kind == "mp4":
        require_ffmpeg()
    count = len(film.time)
    with signals.shield(), replaced(target, PICTURE, force=force) as temporary, bar("drawing", count, quiet) as show:

        def pictures():
            for done, picture in enumerate(frames(film), 1):
                yield picture
                show(done)
                signals.poll()  # an interruption here removes the unfinished film

        (write_gif if kind == "gif" else write_mp4)(temporary, pictures(), fps)
    return {"frames": count, "start": float(film.time[0]), "end": float(film.time[-1])}


def _collect(
    content: "ResultFile", output: Path, speed: float, fps: float, exaggerate: float | None, quiet: bool, force: bool
) -> dict[str, Any]:
    """Write the meshes of every frame, and the file that lists them with their times."""
    from mbsim_cli.io.target import COLLECTION, check_target, replaced
    from mbsim_cli.study.pictures.motion import RunFilm, folder_of, write_collection

    target = check_target(output, COLLECTION, force=force)
    folder = folder_of(target)
    filming = RunFilm(content, speed=speed, fps=fps, exaggeration=exaggerate)
    count = len(filming.time)
    replacing = replaced(target, COLLECTION, force=force)
    with signals.shield(), replacing as temporary, bar("writing", count, quiet) as show:

        def report_done(done: int) -> None:
            show(done)
            signals.poll()

        temporary.write_text(write_collection(filming, folder, report_done), "utf-8", "surrogateescape")
    ends = {"start": float(filming.time[0]), "end": float(filming.time[-1])}
    return {"frames": count, **ends, "motion": filming.duration}

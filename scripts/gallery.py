"""Writes the gallery of the documentation: a picture, a paragraph and a command for each model of ``models/``.

``python scripts/gallery.py [MODEL.yaml...]`` draws the models named, or all, where their loops are closed at the start,
runs them, and writes ``docs/gallery.md``. Needs the extra ``plot``.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "pictures" / "gallery"
SIZE, COLOURS = (420, 315), 48
GROUPS = {
    "models": "Mechanisms and vehicles",
    "models/robots": "Robots",
    "models/flexible": "Flexible bodies",
    "models/benchmarks": "Benchmark problems",
}


def models() -> list[Path]:
    """All model files, relative to the root."""
    found = sorted((ROOT / "models").rglob("*.yaml"))
    return [path.relative_to(ROOT) for path in found]


def picture_of(model: Path) -> Path:
    """Where the picture of a model stands."""
    return PICTURES / f"{model.relative_to('models').with_suffix('').as_posix().replace('/', '-')}.png"


def draw(model: Path) -> None:
    """Draw a model at its start as a small picture."""
    import numpy as np
    from PIL import Image, ImageDraw

    from mbsim_cli.assembly.scene import moving_scene
    from mbsim_cli.report.camera import view_of
    from mbsim_cli.report.stage import Film, frames
    from mbsim_cli.study.assembling import Settings, build, load
    from mbsim_cli.study.reduced_bodies import standard_input

    file = load(ROOT / model, Settings())
    closed = build(file, Settings(), []).closing
    moving = moving_scene(file, standard_input)
    PICTURES.mkdir(parents=True, exist_ok=True)
    positions = moving.positions(closed.z)[None]
    if not positions.size:  # states alone
        blank = Image.new("RGB", SIZE, "white")
        ImageDraw.Draw(blank).text((30, SIZE[1] // 2), f"{file.name}: states without a body", "black")
        blank.quantize(8).save(picture_of(model), optimize=True)
        return
    film = Film(
        moving.scene, np.zeros(1), positions, view_of(None, moving.scene.up, positions), size=SIZE, title=file.name
    )
    (picture,) = frames(film)
    Image.fromarray(picture).quantize(COLOURS).save(picture_of(model), optimize=True)


def paragraph(model: Path) -> str:
    """The description of a model: its own, else the line of ``models/README.md``."""
    from mbsim_cli.study.assembling import Settings, load

    file = load(ROOT / model, Settings())
    shown = " ".join((file.description or "").split()) or _listed(model)
    return f"**{file.name or model.stem}.** {shown[:1].upper()}{shown[1:]}{'' if shown.endswith('.') else '.'}"


def _listed(model: Path) -> str:
    name = re.escape(model.relative_to("models").as_posix())
    rows = re.findall(
        rf"^\| [^|]*`{name}`[^|]*\| ([^|]*) \|", (ROOT / "models" / "README.md").read_text(), re.MULTILINE
    )
    return rows[0].strip() if rows else ""


def printed(model: Path) -> str:
    """What the command of a model prints: its objectives, else the last line up to the seconds."""
    command = [sys.executable, "-m", "mbsim_cli", "run", ROOT / model]
    with tempfile.TemporaryDirectory() as folder:
        lines = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    values = next((number for number, line in enumerate(lines) if line.startswith("│ value ")), None)
    shown = [lines[-1].partition(" (load ")[0]] if values is None else lines[values - 3 : values + 1]
    return "\n".join(shown) + "\n"


def outputs() -> dict[str, str]:
    """What the page shows of the output of each model's command."""
    return dict(re.findall(r"\$ mbsim run (\S+)\n```\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL))


def page(new: dict[str, str]) -> str:
    """Text of the gallery; ``new`` has outputs that differ from those that the page shows."""
    shown = outputs() | new
    lines = [
        "# Gallery",
        "",
        "Every model of `models/`, drawn where its loops are closed at the start.",
        "Below each command stand the objectives that it prints, without their derivatives.",
        "`mbsim check MODEL` compares each model with the references that it states.",
        "This page is made by `python scripts/gallery.py`.",
    ]
    for folder, title in GROUPS.items():
        lines += ["", f"## {title}"]
        for model in (path for path in models() if path.parent.as_posix() == folder):
            picture = picture_of(model).relative_to(ROOT / "docs").as_posix()
            lines += ["", f"### {model.stem}", "", f"![{model.stem}]({picture})", "", paragraph(model), ""]
            lines += ["```console", f"$ mbsim run {model.as_posix()}", "```", ""]
            lines += ["```text", *shown[model.as_posix()].splitlines(), "```"]
    return "\n".join(lines) + "\n"


def main(names: list[str]) -> None:
    """Draw and run, and write the page."""
    new = {}
    for model in [Path(name) for name in names] or models():
        draw(model)
        new[model.as_posix()] = printed(model)
        print(picture_of(model), picture_of(model).stat().st_size)
    PAGE.write_text(page(new))


if __name__ == "__main__":
    main(sys.argv[1:])

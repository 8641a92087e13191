"""Writes the gallery of the documentation: a picture, a paragraph and a command for each model of ``models/``.

``python scripts/gallery.py [MODEL.yaml...]`` draws the models named, or all, where their loops are closed at the start,
and writes ``docs/gallery.md``. Nothing is simulated. Needs the extra ``plot``.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
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

    from mbsim_cli.assembly.drawing.scene import moving_scene
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


def page() -> str:
    """Text of the gallery."""
    lines = [
        "# Gallery",
        "",
        "Every model of `models/`, drawn where its loops are closed at the start.",
        "`mbsim check MODEL` compares each with the references that it states.",
        "This page is made by `python scripts/gallery.py`.",
    ]
    for folder, title in GROUPS.items():
        lines += ["", f"## {title}"]
        for model in (path for path in models() if path.parent.as_posix() == folder):
            picture = picture_of(model).relative_to(ROOT / "docs").as_posix()
            lines += ["", f"### {model.stem}", "", f"![{model.stem}]({picture})", "", paragraph(model), ""]
            lines += ["```console", f"$ mbsim run {model.as_posix()}", "```"]
    return "\n".join(lines) + "\n"


def main(names: list[str]) -> None:
    """Draw, and write the page."""
    for model in [Path(name) for name in names] or models():
        draw(model)
        print(picture_of(model), picture_of(model).stat().st_size)
    (ROOT / "docs" / "gallery.md").write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])

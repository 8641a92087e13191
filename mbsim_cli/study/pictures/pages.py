"""From results, studies, fits and models to the data of a page."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import InputOutputError, MbsimError
from mbsim_cli.io.findings import history_of
from mbsim_cli.io.results import ResultFile
from mbsim_cli.io.study_file import READINGS, StudyContent, is_fit, is_study, read_fit, read_study
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.nodes import NodeError, read_nodes
from mbsim_cli.study.assembling import Settings, build, load
from mbsim_cli.study.pictures.motion import NO_BODIES, StartModel, motion_of, page_film

MOST_TIMES = 601  # of histories
MOST_NUMBERS = 500_000  # of histories and their derivatives together: 2.7 MB as text
FIRST = 4  # histories that a page opens with
ROUND_OFF = 1e-9  # of the largest value with the same unit
_RANKS = {  # order of histories, by their kinds or paths
    "sensor": 0, "torque": 1, "coordinate": 2, "coordinates/velocity": 3, "coordinates/acceleration": 3,
    "multiplier": 4, "diagnostic": 5,
}  # fmt: skip


def page_of(path: Path) -> dict[str, Any]:
    """Data of a result, a collected study or its folder, or a fit; raises InputOutputError."""
    if path.is_dir():
        study = path / "study.h5"
        if not study.exists():
            raise InputOutputError(f"{path} is a folder without study.h5; mbsim sweep collect DIR writes it")
        return study_page(study)
    if is_fit(path):
        return fit_page(path)
    return study_page(path) if is_study(path) else result_page(path)


def result_page(path: Path) -> dict[str, Any]:
    """Data of a result, complete or partial; raises InputOutputError."""
    content, notes = ResultFile(path), list[str]()
    facts, film, reason = content.report(), None, ""
    try:
        film = page_film(content)
    except MbsimError as error:
        reason = str(error)
    file = None if film is None else film.file
    parameters = _descriptions(file, "parameters")
    data: dict[str, Any] = {
        "kind": "result",
        "title": content.title or path.stem,
        "description": "" if file is None else file.description or "",
        "histories": _histories(content, _descriptions(file, "sensors"), notes),
        "parameters": [
            {"name": name, "description": parameters.get(name, "")} | dict(entry)
            for name, entry in facts["parameters"].items()
        ],
        "objectives": _objectives(facts["objectives"], _descriptions(file, "objectives")),
        "warnings": facts["warnings"],
        "checks": _checks(facts) + _references(path, file, facts),
        "provenance": _provenance(facts),
        "optimization": _optimization(path),
    }
    if film is None:
        notes.append(f"The mechanism is not drawn: {reason}.")
    else:
        data["motion"] = motion_of(film)
        notes += (f"{sentence}." for sentence in film.moving.scene.left_out)
        stored, shown = len(content.time), len(film.time)
        if shown < stored:
            notes.append(f"The view has {shown} frames of {stored} stored times, and interpolates between them.")
    return data | {"notes": notes}


def _descriptions(file: ModelFile | None, section: str) -> dict[str, str]:
    """Descriptions of the entries of a section, as the model file states them."""
    entries = {} if file is None else getattr(file, section)
    return {name: text for name, entry in entries.items() if (text := getattr(entry, "description", None))}


def _histories(content: ResultFile, descriptions: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    """Histories with their derivatives, thinned to the size of a page; ``notes`` list all that is left out."""
    count = len(content.time)
    rows = _some(count, MOST_TIMES)
    if len(rows) < count:
        notes.append(f"Histories show {len(rows)} of {count} stored times; the result file has them all.")
    remaining, bare = MOST_NUMBERS, 0
    shown: list[dict[str, Any]] = []
    for name, entry in sorted(content.entries.items(), key=lambda item: _RANKS.get(item[1].path, _RANKS[item[1].kind])):
        values = content.history(name).values[rows]
        if values.size <= remaining:
            remaining -= values.size
            text = descriptions.get(name) or descriptions.get(name.rpartition(".")[0], "")
            shown.append({"name": name, "kind": entry.kind, "components": entry.components, "units": entry.units})
            shown[-1] |= {"description": text, "values": values}
    if missing := len(content.entries) - len(shown):
        notes.append(f"{missing} histories are left out to keep the page small.")
    for one in [one for one in shown if content.entries[one["name"]].sensitivity]:
        if (numbers := one["values"].size * len(content.parameters)) <= remaining:
            one["derivatives"] = content.derivatives(one["name"])[rows]  # (N, k, p)
            remaining -= numbers
        else:
            bare += 1
    if bare:
        notes.append(f"Derivatives of {bare} histories are left out to keep the page small.")
    return {"time": content.time[rows], "list": shown, "opened": _opened(shown)}


def _some(count: int, most: int) -> np.ndarray:
    """Numbers of rows, evenly among ``count`` of them, with both ends."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)) if count else np.zeros(0, int)


def _opened(shown: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the histories that a page opens with: sensors, else torques, else coordinates, but no round-off."""
    kinds = {one["kind"] for one in shown}
    kind = next((kind for kind in ("sensor", "torque", "coordinate") if kind in kinds), "")
    largest: dict[tuple[str, ...], float] = {}
    for one in shown:
        if one["kind"] == kind:
            largest[one["units"]] = max(largest.get(one["units"], 0.0), _size(one))
    found = [one["name"] for one in shown if one["kind"] == kind and _size(one) >= ROUND_OFF * largest[one["units"]]]
    return found[:FIRST]


def _size(one: Mapping[str, Any]) -> float:
    return float(np.abs(np.nan_to_num(one["values"])).max(initial=0.0))


def _objectives(found: Mapping[str, Any], descriptions: Mapping[str, str]) -> list[dict[str, Any]]:
    """Objectives, gradients as lists in the order of the parameters."""
    shown = []
    for name, entry in found.items():
        one = {key: entry[key] for key in ("value", "unit", "method", "flags")}
        one |= {"name": name, "description": descriptions.get(name, "")}
        if "gradient" in entry:
            one |= {"gradient": list(entry["gradient"].values()), "units": list(entry["gradient_units"].values())}
            one |= {"undefined": entry["undefined"]}
        if "discretisation" in entry:
            one["discretisation"] = entry["discretisation"]["value"]
        shown.append(one)
    return shown


def _checks(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The accuracy that the file states, as rows of name and text."""
    rows, discretisation = [], facts["discretisation"]
    if (error := discretisation.get("motion")) is not None and np.isfinite(error):
        worst = f", of {discretisation['worst']}" if discretisation.get("worst") else ""
        rows.append(("estimated error of the motion", f"{error:.1e} relative{worst}"))
    if reason := discretisation.get("reason"):
        rows.append(("error of the motion", f"not estimated: {reason}"))
    for name, entry in facts["objectives"].items():
        off = entry["discretisation"]["value"] if "discretisation" in entry else np.nan
        if np.isfinite(off) and entry["value"]:
            rows.append((f"estimated error of {name}", f"{abs(off / entry['value']):.1e} relative"))
    return rows


def _references(path: Path, file: ModelFile | None, facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Comparison with the references of objectives that the model states (``checks``), as rows of name and text."""
    from mbsim_cli.study.verification import compare

    if file is None or not file.checks:
        return []
    duration, done = getattr(file.analysis, "duration", None), facts["options"].get("duration")
    if facts["overrides"] or (duration is not None and done != file.expressions.value(duration)):
        return [("checks of the model", "not compared: the command line replaced values or the duration")]
    value, rows, others = file.expressions.value, [], []
    for name, check in file.checks.items():
        entry = facts["objectives"].get(check.objective)
        if entry is None:  # of sensors, structure and other methods
            others.append(name)
            continue
        stated = [] if check.value is None else [(check.objective, entry["value"], check.value)]
        derivatives = entry.get("gradient", {})
        for parameter, reference in check.gradient.items():
            stated.append((f"d {check.objective} / d {parameter}", derivatives.get(parameter), reference))
        for what, computed, reference in stated:
            if computed is None:
                rows.append((f"check {name}", f"{what} is not in this result"))
                continue
            row = compare(
                computed, value(reference), value(check.relative_tolerance).real, value(check.absolute_tolerance).real,
                model=str(path), name=name, kind="benchmark",
            )  # fmt: skip
            verdict = "passed" if row.passed else "FAILED"
            text = f"{verdict}: {what} is {computed:.8g}, {value(reference):.8g} is stated"
            rows.append((f"check {name}", text + (f" ({check.source})" if check.source else "")))
    return [*rows, ("other checks", f"{', '.join(others)}: mbsim check compares them")] if others else rows


def _provenance(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Origin of a result, as rows of name and text."""
    rows = [("status", facts.get("status")), ("created", facts.get("created")), ("command", facts.get("command"))]
    rows += [("mbsim", facts.get("mbsim_version")), ("SHA-256 of the model", facts.get("model_sha256"))]
    rows += [(f"-p {name}", value) for name, value in facts["overrides"].items()]
    rows += facts["options"].items()
    rows += [(f"{name} [s]", f"{value:.3g}") for name, value in facts["timing"].items()]
    rows += facts["platform"].items()
    return [(name.replace("_", " "), str(value)) for name, value in rows if value not in (None, "")]


def _optimization(path: Path) -> dict[str, Any] | None:
    """The history of the search that found a result, if one has."""
    if (found := history_of(path)) is None:
        return None
    facts = [(name.replace("_", " "), _word(value)) for name, value in found.facts.items()]
    best = int(found.facts.get("best", 1)) - 1
    return found._asdict() | {"facts": facts, "bounds": found.bounds.tolist(), "best": best}


def _word(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


MOST_CASES = 20_000


def study_page(path: Path) -> dict[str, Any]:
    """Data of a collected study; raises InputOutputError."""
    from mbsim_cli.study.sweep.summary import main_effects

    study = read_study(path)
    if not len(study.design):
        raise InputOutputError(f"{path} holds no cases to draw")
    rows = _some(len(study.design), MOST_CASES)
    notes = [] if len(rows) == len(study.design) else [f"{len(rows)} of {len(study.design)} cases are drawn."]
    effects = [main_effects(study.design, column) for column in study.results.T]
    slopes = study.slopes
    return {
        "kind": "study",
        "title": study.name or path.stem,
        "description": _caption(study),
        "varied": dict(study.varied),
        "objectives": dict(study.objectives),
        "case": rows,
        "design": study.design[rows],
        "results": study.results[rows],
        "slopes": None if slopes is None else slopes[rows],
        "effects": np.array(effects).reshape(len(study.objectives), len(study.varied)),
        "failed": int((~np.isfinite(study.results)).any(axis=1).sum()) if study.objectives else 0,
        "cases": len(study.design),
        "provenance": [(name.replace("_", " "), _word(value)) for name, value in study.facts.items()],
        "notes": notes,
    }


def _caption(study: StudyContent) -> str:
    """Name of the model, and the description of the study or else of the model, as the study's own copy states them."""
    try:
        plan = json.loads(study.plan)
        root, _ = read_nodes(plan["texts"][plan["file"]].encode(), plan["file"])
        model = root.data() if root is not None else {}
        own = model.get("study", {}).get(study.name) or {}
        found = [model.get("name"), own.get("description") or model.get("description")]
    except (ValueError, KeyError, TypeError, AttributeError, NodeError):  # a study of another version, or damaged
        return ""
    return ". ".join(" ".join(text.split()) for text in found if isinstance(text, str))


def fit_page(path: Path) -> dict[str, Any]:
    """Data of a fit that ``mbsim fit -o`` wrote; raises InputOutputError."""
    from mbsim_cli.study.fitting.findings import correlated

    stored = read_fit(path)
    try:
        found = stored["fit"]
        ended = f"converged by {found['ended']}" if found["converged"] else f"not converged: {found['ended']}"
        freedom = f"chi-square {found['chi_square']:.5g} of {found['degrees_of_freedom']} degrees of freedom"
        columns = [
            {key: one[key] for key in ("name", "held_out", "sensor", "unit", "sigma", "sigma_estimated")}
            | {key: one[key][np.argsort(one["time"], kind="stable")] for key in READINGS}
            | {"rms": float(np.sqrt(np.mean((one["computed"] - one["measured"]) ** 2)))}
            for one in stored["readings"]
        ]
        return {
            "kind": "fit",
            "name": found["name"],
            "title": stored["title"],
            "description": stored["description"],
            "converged": found["converged"],
            "summary": f"{found['readings']} readings, {found['evaluations']} evaluations, {ended}; {freedom}.",
            "parameters": [{"name": name} | entry for name, entry in found["parameters"].items()],
            "correlated": correlated(found),
            "columns": columns,
            "warnings": stored["warnings"],
            "provenance": [("model", stored["model"]), ("mbsim", stored["mbsim_version"])],
            "notes": [],
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputOutputError(f"{path} is no fit that mbsim wrote, or is damaged") from error


def model_page(path: Path, overrides: Mapping[str, str]) -> tuple[dict[str, Any], list[Path]]:
    """Data of a model at t = 0, with its loops closed, and the files it is read from; raises what reading raises."""
    settings = Settings(overrides=dict(overrides))
    file = load(path, settings)
    assembled = build(file, settings, [])
    standing = StartModel(path, file, assembled)
    info, descriptions = assembled.info, _descriptions(file, "parameters")
    motion = {"motion": motion_of(standing)} if standing.moving.scene.names else {}
    stands = "The mechanism stands at its initial position; mbsim run gives the motion."
    stands = stands if motion else f"Nothing is drawn: {NO_BODIES}."
    data = {
        "kind": "model",
        "title": file.name or path.stem,
        "description": file.description or "",
        **motion,
        "warnings": info["warnings"],
        "checks": [("degrees of freedom", str(info["mobility"]))],
        "parameters": [
            {"description": descriptions.get(one["name"], "")}
            | {key: one[key] for key in ("name", "value", "unit", "bounds")}
            for one in info["parameters"]
        ],
        "provenance": [("model", str(path))],
        "notes": [stands, *(f"{sentence}." for sentence in standing.moving.scene.left_out)],
    }
    return data, [*map(Path, file.source.texts), *file.tables]

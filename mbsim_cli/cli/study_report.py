"""What people read of a study: status, forecast, summary."""

from collections.abc import Iterator, Mapping
from typing import Any

from mbsim_cli.cli.output import plain_table, say, show_table, tell

SHOWN = 5  # failures, and parameters of the largest main effects


def print_status(report: Mapping[str, Any]) -> None:
    """How far a study is."""
    tell(f"{report['folder']}: {_counts(report)}")
    _print_losses(report)
    _print_failures(report["failures"], report["folder"])


def print_forecast(report: Mapping[str, Any]) -> None:
    """What a study will take."""
    if not report["cases"]:
        tell(f"{report['folder']}: none of the cases asked for is missing; nothing is left to compute")
        return
    cases = f"{report['cases']} cases of {_time(report['case_seconds'])} each, told by {report['pilots']} of them"
    tell(f"{report['folder']}: {cases}")
    spent = f"{report['processor_hours']:.3g} hours of processors, {_time(report['seconds'])} with {report['workers']}"
    low, high = map(_time, report["seconds_between"])
    likely = f" ({low} to {high} if the machine keeps its pace)" if low != high else ""
    tell(f"{spent} worker{'s' * (report['workers'] != 1)}{likely}, {_size(report['bytes'])}")


def print_collected(report: Mapping[str, Any], quiet: bool) -> None:
    """What was written of a study, and what it lacks."""
    _print_losses(report)
    tell(f"{', '.join(report['written'])}: {_counts(report)}", quiet)


def print_summary(report: Mapping[str, Any], quiet: bool) -> None:
    """What a study has found."""
    _print_losses(report)
    for sentence, count in report["warnings"].items():
        say(f"warning: {sentence} ({'one case' if count == 1 else f'one of {count} cases like it'})")
    for name, count in report["undefined_gradients"].items():
        say(f"warning: {count} cases have no derivative by {name}; study.h5 tells why")
    if not report["missing"] and any(entry["lowest"] for entry in report["objectives"].values()):
        titles = ("objective", "lowest", "case", "mean", "highest", "case", "main effects")
        rows = [_row(name, entry) for name, entry in report["objectives"].items() if entry["lowest"]]
        show_table(plain_table(titles, rows))
    _print_failures(report["failures"], report["folder"])
    tell(f"{report['folder']}: {_counts(report)}{_speed(report)}", quiet)


def _row(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    lowest, highest = entry["lowest"], entry["highest"]
    effects = sorted(entry["main_effects"].items(), key=lambda item: -item[1] if item[1] == item[1] else 0.0)
    shares = ", ".join(f"{parameter} {share:.0%}" for parameter, share in effects[:SHOWN] if share == share)
    shares = "; ".join(filter(None, (shares, *_unknown(entry["main_effects_unknown"], len(effects)))))
    title = f"{name} [{entry['unit']}]" if entry["unit"] else name
    numbers = (f"{lowest['value']:.8g}", str(lowest["case"]), f"{entry['mean']:.8g}")
    return (title, *numbers, f"{highest['value']:.8g}", str(highest["case"]), shares)


def _unknown(reasons: Mapping[str, str], count: int) -> Iterator[str]:
    """Why main effects are not told, once for each reason."""
    for why in dict.fromkeys(reasons.values()):
        of = [name for name, other in reasons.items() if other == why]
        yield why if len(of) == count else f"{', '.join(of)}: {why}"


def _counts(report: Mapping[str, Any]) -> str:
    parts = [f"{report['done']} done", *(f"{count} {word}" for word, count in report["failed"].items())]
    parts += [f"{report['missing']} missing"] if report["missing"] else []
    return f"{report['cases']} cases: {', '.join(parts)}"


def _speed(report: Mapping[str, Any]) -> str:
    if not report["computed"]:
        part = "" if report["shard"] == "1/1" else f" in shard {report['shard']}"
        return f", nothing was left to compute{part}"
    lanes = f", {report['lanes']} at a time in lanes" if report["lanes"] > 1 else ""
    return f"; {report['computed']} computed in {_time(report['wall_seconds'])}{lanes}"


def _print_losses(report: Mapping[str, Any]) -> None:
    """Rows that count for nothing."""
    if report["strange_rows"]:
        say(f"warning: {report['strange_rows']} rows belong to another plan, and are left out")
    if lost := report["lost_records"]:
        what = f"{lost} cases" if lost > 1 else "a case"
        say(f"warning: what was kept of {what} is damaged or gone; mbsim sweep retry {report['folder']} repeats that")


def _print_failures(failures: Any, folder: str) -> None:
    for failure in failures[:SHOWN]:
        tell(f"case {failure['case']}: {failure['reason']}")
        tell(f"  {failure['command']}")
    if len(failures) > SHOWN:
        tell(f"and {len(failures) - SHOWN} more; mbsim sweep status {folder} --json lists all")


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{seconds / 3600:.3g} h"


def _size(count: float) -> str:
    units = ["B", "kB", "MB", "GB", "TB"]
    while count >= 1000 and len(units) > 1:
        count, units = count / 1000, units[1:]
    return f"{count:.3g} {units[0]}"

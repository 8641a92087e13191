"""Selection of the histories and gradients to draw, by name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mbsim_cli.errors import UsageError, option
from mbsim_cli.io.results import ResultFile
from mbsim_cli.io.study_file import StudyContent
from mbsim_cli.io.target import RESULT_SUFFIXES, is_result
from mbsim_cli.model.pictures import Series, together
from mbsim_cli.model.units import quotient
from mbsim_cli.report.panels import Bars, Curve, Panel

MOST_PANELS = 8  # where the command names none
MOST_BARS = 6
MOST_COLUMNS = 4  # parameters of a study
NO_GRADIENT = "; mbsim run --sensitivity ddm computes them"


@dataclass
class Selection:
    """The content of a sheet, and the histories left out for lack of room."""

    panels: list[Panel] = field(default_factory=list)
    bars: list[Bars] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def sort_arguments(arguments: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Results, and names of what they hold: a result ends in .h5 or .hdf5, or is one by its content."""
    results = [argument for argument in arguments if argument.endswith(RESULT_SUFFIXES) or is_result(Path(argument))]
    if not results:
        folder = next((argument for argument in arguments if (Path(argument) / "study.h5").is_file()), None)
        instead = f"; {folder} is a study: name {Path(folder) / 'study.h5'}" if folder else ""
        raise UsageError(f"name a result, which ends in .h5, before what to draw of it{instead}")
    return [Path(result) for result in results], [name for name in arguments if name not in results]


def labels_of(results: Sequence[Path], given: Sequence[str]) -> list[str]:
    """A name for each result: as given, else the file's stem, else its whole path."""
    if given and len(given) != len(results):
        raise UsageError(f"--label comes once for each result: {len(results)} times, not {len(given)}")
    stems = [result.stem for result in results]
    return list(given) or (stems if len(set(stems)) == len(stems) else list(map(str, results)))


def hint(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A suggestion for an unknown name, to be put behind a sentence."""
    from mbsim_cli.spec.reading.messages import suggest

    found = suggest(name, known) or otherwise
    return f"; {found}" if found else ""


def study_panels(study: StudyContent, names: Sequence[str], over: str | None) -> tuple[list[list[Panel]], list[str]]:
    """Objectives (rows) of a study over varied parameters (columns) or one of them, as panels; and what was left out.

    Objectives that are joined by commas share their axes; with as many others in ``over`` they go in pairs. Raises
    UsageError for other names.
    """
    given, overs = [name.split(",") for name in names], over.split(",") if over else []
    across_one = study.objectives if overs and overs[0] in study.objectives else study.varied
    asked = [(name, study.objectives) for group in given for name in group] + [(name, across_one) for name in overs]
    for name, known in asked:
        if name not in known:
            kind = "varied parameter" if known is study.varied else "objective"
            raise UsageError(f"the study has no {kind} {name!r}{hint(name, known)}")
    others = [[name] for name in study.objectives if name not in overs]
    rows, columns = given or others, [overs] if overs else [[name] for name in study.varied]
    if uneven := [group for group in rows if len(overs) > 1 and len(group) != len(overs)]:
        raise UsageError(f"{','.join(uneven[0])} and {option('over')} {over} go in pairs: give as many of both")
    left_out = [
        f"{most} of {len(found)} {kind} are drawn; name those you want{how}"
        for kind, found, most, how in (
            ("objectives", rows, len(rows) if names else MOST_BARS, ""),
            ("varied parameters", columns, MOST_COLUMNS, ", one by --over"),
        )
        if len(found) > most
    ]
    if not (rows and columns):
        raise UsageError("the study has no objectives over parameters that could be drawn")
    rows, columns = rows if names else rows[:MOST_BARS], columns[:MOST_COLUMNS]
    cases = np.arange(len(study.design), dtype=float)
    order = np.argsort(study.design[:, 0], kind="stable") if len(study.varied) == 1 else slice(None)  # lines join them

    def series(name: str, units: Mapping[str, str], values: np.ndarray) -> Series:
        return Series(name, (units[name],), ("value",), cases, values[order][:, [list(units).index(name)]])

    of_objective = across_one is study.objectives
    values = study.results if of_objective else study.design
    beside = [[series(name, across_one, values) for name in group] for group in columns]
    up = [[series(name, study.objectives, study.results) for name in group] for group in rows]

    def panel(group: list[Series], across: list[Series]) -> Panel:
        over = across if len(across) == len(group) else across * len(group)
        return Panel(", ".join(one.name for one in group), tuple(group), tuple(over))

    return [[panel(group, across) for across in beside] for group in up], left_out


def response_curves(contents: Sequence[ResultFile], names: Sequence[str], labels: Sequence[str]) -> list[Curve]:
    """Frequency responses of results, of all or named outputs and inputs; none if one lacks them or a name is not."""
    from mbsim_cli.io.findings import response_of

    found = [response_of(content.path) for content in contents]
    known = {name for each in found if each is not None for name in (*each.inputs, *each.outputs)}
    if None in found or not known.issuperset(names):
        return []
    curves = []
    for response, result in zip(found, labels, strict=True):
        assert response is not None
        inputs, outputs = ([name for name in group if name in names] for group in (response.inputs, response.outputs))
        pairs = [(o, i) for o in outputs or response.outputs for i in inputs or response.inputs]
        for output, given in pairs:
            place = ..., list(response.outputs).index(output), list(response.inputs).index(given)
            label = f"{output} over {given}" + (f", {result}" if len(labels) > 1 else "")
            unit = quotient(response.outputs[output], response.inputs[given])
            curves.append(Curve(label, unit, response.frequencies, response.gain[place], response.phase[place]))
    return curves


class Chooser:
    """Finds names in several results laid over each other."""

    def __init__(self, contents: Sequence[ResultFile]):
        self._contents = contents
        self._parameters = list(dict.fromkeys(name for content in contents for name in content.parameters))
        self._coordinates = list(dict.fromkeys(name for content in contents for name in content.by_coordinates))

    def choose(
        self, names: Sequence[str], parameters: Sequence[str], gradient: bool, over: str | None = None
    ) -> Selection:
        """The selection of a command line; all objectives and all sensors where it names nothing.

        Histories that are joined by commas share their axes; ``over`` names one that takes the place of time.
        """
        chosen = Selection()
        known = [*self._parameters, *self._coordinates]
        for name in parameters:
            if name not in known:
                near = hint(name, known) if known else NO_GRADIENT
                raise UsageError(f"no result holds sensitivities by {name!r}{near}")
        groups = [name.split(",") for name in names]
        histories, objectives = self._split([name for group in groups for name in group], gradient)
        for group in groups:
            if len(group) > 1 and (shared := [name for name in group if name in objectives]):
                raise UsageError(f"{shared[0]} is an objective; histories alone can share their axes")
        histories = [",".join(group) for group in groups if group[0] in histories]
        named = bool(names or gradient or parameters)
        if objectives or gradient or not named:
            chosen.bars = self._bars(objectives, parameters, required=named, left_out=chosen.left_out)
        if not histories and ((parameters and not objectives) or not named):
            histories = self._default(parameters, chosen.left_out)
        if parameters:
            chosen.panels = [self._sensitivity(n, p) for n in histories for p in parameters]
        else:
            chosen.panels = [Panel(name.replace(",", ", "), self._series(name)) for name in histories]
        if over is not None:
            across = self._across(over, chosen.panels)
            chosen.panels = [panel._replace(over=across) for panel in chosen.panels]
        if not (chosen.panels or chosen.bars):
            raise UsageError("the results hold nothing to draw by default; --list shows what can be named")
        return chosen

    def _all(self, *kinds: str) -> list[str]:
        """Names of all histories, or of those of some kinds."""
        return list(dict.fromkeys(name for content in self._contents for name in content.names(*kinds)))

    def _split(self, names: Sequence[str], gradient: bool) -> tuple[list[str], list[str]]:
        """Names of histories, and names of objectives; what is both is the one that is asked for."""
        known = {name for content in self._contents for name in content.objectives}
        taken = known if gradient else ()
        histories = [n for n in names if n not in taken and any(_history(content, n) for content in self._contents)]
        for name in names:
            if name in self._parameters and name not in (*histories, *known):
                raise UsageError(f"{name!r} is a parameter; --by {name} draws derivatives by it")
            if name not in histories and name not in known:
                parts = [other for other in self._all("sensor") if other.rpartition(".")[0] == name]
                near = f"; its parts are {' and '.join(parts)}" if parts else ""
                near = near or hint(name, [*self._all(), *known], "--list shows what can be named")
                raise UsageError(f"no result holds a history {name!r}{near}")
        return histories, [name for name in names if name not in histories]

    def _default(self, parameters: Sequence[str], left_out: list[str]) -> list[str]:
        """All sensors, else torques, else coordinates, as many as a sheet takes."""
        for kind in ("sensor", "torque", "coordinate"):
            names = [name for name in self._all(kind) if all(self._derived(name, by) for by in parameters)]
            if names:
                break
        if len(names) > MOST_PANELS:
            left_out.append(f"{MOST_PANELS} of {len(names)} histories are drawn; name those you want (--list)")
        return names[:MOST_PANELS]

    def _bars(
        self, objectives: Sequence[str], parameters: Sequence[str], required: bool, left_out: list[str]
    ) -> list[Bars]:
        """Gradients of objectives, all if none is named, by ``parameters`` or, without these, by all."""
        found = [
            {name: part for name, given in content.gradients.items() if (part := given.by(parameters)).parameters}
            for content in self._contents
        ]
        every = list(dict.fromkeys(name for gradients in found for name in gradients))
        missing = [name for name in objectives if name not in every]
        if required and (missing or not every):
            what = f"the gradient of {missing[0]}" if missing else "gradients"
            what += f" by {' and '.join(parameters)}" if parameters else ""
            stated = any(content.objectives for content in self._contents)
            lacking = NO_GRADIENT if stated else ", nor objectives that could have them"
            raise UsageError(f"no result holds {what}{lacking}")
        names = list(objectives) or every
        if len(names) > MOST_BARS and not objectives:
            left_out.append(f"{MOST_BARS} of {len(names)} gradients are drawn; name those you want (--list)")
            names = names[:MOST_BARS]
        return [Bars(name, tuple(gradients.get(name) for gradients in found)) for name in names]

    def _series(self, names: str, by: str | None = None) -> tuple[Series | None, ...]:
        """Histories, joined by commas where they share axes, as the results have them; or derivatives of them."""
        parts = names.split(",")
        return tuple(together([_read(content, name, by) for name in parts]) for content in self._contents)

    def _across(self, name: str, panels: Sequence[Panel]) -> tuple[Series | None, ...]:
        """The history that lines are drawn over."""
        if not panels:
            raise UsageError("--over is for histories, and none is drawn; name one")
        self._split([name], gradient=False)
        found = self._series(name)
        components = next((series.components for series in found if series is not None), ())
        if len(components) != 1:
            several = " or ".join(f"{name}.{component}" for component in components)
            raise UsageError(f"--over must be a history of one number; {name} is " + (several or "an objective"))
        return found

    def _derived(self, name: str, by: str) -> bool:
        return any((found := _history(c, name)) and c.is_varied(found[0], by) for c in self._contents)

    def _sensitivity(self, name: str, parameter: str) -> Panel:
        for each in name.split(","):
            if not self._derived(each, parameter):
                if parameter in self._parameters:
                    lacking = any(_history(c, each) and not c.parameters for c in self._contents)
                    raise UsageError(f"no result holds sensitivities of {each}{NO_GRADIENT if lacking else ''}")
                alone = "torques alone have sensitivities by coordinates"
                raise UsageError(f"{alone}, and {each} is none; JOINT.angle.torque is")
        title = ", ".join(f"∂{each}/∂{parameter}" for each in name.split(","))
        return Panel(title, self._series(name, parameter))


def _history(content: ResultFile, name: str) -> tuple[str, str] | None:
    """History and component (nothing: all) that a name stands for; NAME.component is one component of a sensor."""
    if name in content.entries:
        return name, ""
    for dot in (place for place, letter in enumerate(name) if letter == "."):  # both may have dots of their own
        history, component = name[:dot], name[dot + 1 :]
        if history in content.entries and component in content.entries[history].components:
            return history, component
    return None


def _read(content: ResultFile, name: str, parameter: str | None = None) -> Series | None:
    """A history, or its derivative by a parameter; None where the result has none."""
    if (found := _history(content, name)) is None:
        return None
    if parameter is None:
        series = content.history(found[0])
    elif content.is_varied(found[0], parameter):
        series = content.sensitivity(found[0], parameter)
    else:
        return None
    if not found[1]:
        return series._replace(name=name)
    k = series.components.index(found[1])
    return series._replace(name=name, units=(series.units[k],), components=(found[1],), values=series.values[:, [k]])

"""Least and largest values of sensors over a run: what a run without objectives ends with."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mbsim_cli.model.names import Names


class Extremes:
    """Least and largest values of each component of the sensors, and when they are reached first; NaN is left out."""

    def __init__(self, names: Names, sensors: Mapping[str, slice]):
        self._names, self._sensors = names, sensors
        self._values = np.zeros((2, 0))  # least and largest (2, w)
        self._times = np.zeros((2, 0))  # s

    def add(self, block: Any) -> None:
        """Take the next output times in."""
        values = np.asarray(block.sensors)
        if not values.size:
            return
        if not self._values.size:
            self._values = np.repeat([[np.inf], [-np.inf]], values.shape[1], axis=1)
            self._times = np.full_like(self._values, np.nan)
        columns = np.arange(values.shape[1])
        for row, sign in enumerate((1.0, -1.0)):
            at = np.where(np.isnan(values), np.inf, sign * values).argmin(axis=0)
            nearer = sign * values[at, columns] < sign * self._values[row]
            self._values[row, nearer], self._times[row, nearer] = values[at, columns][nearer], block.time[at][nearer]

    @property
    def report(self) -> dict[str, dict[str, Any]]:
        """By sensor, or SENSOR.component of several: unit, least and largest value, and when."""
        names, found = self._names, {}
        rows = zip(names.sensors, names.sensor_components, names.sensor_units, strict=True)
        for name, components, units in rows:
            if name in self._sensors and self._values.size:
                of_each = (units,) * len(components) if isinstance(units, str) else units
                for number, component in enumerate(components):
                    label = f"{name}.{component}" if len(components) > 1 else name
                    found[label] = self._entry(self._sensors[name].start + number, of_each[number])
        return found

    def _entry(self, column: int, unit: str) -> dict[str, Any]:
        """Extremes of a component; NaN where it is never a number."""
        values = np.where(np.isnan(self._times), np.nan, self._values)
        (least, largest), (when, then) = values[:, column].tolist(), self._times[:, column].tolist()
        return {"unit": unit, "least": least, "least_at": when, "largest": largest, "largest_at": then}

"""Results of rows over changed figures: what break-evens and draws are computed with."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hetcost.impacts import lookups, model
from hetcost.impacts.accounting import read
from hetcost.impacts.figures import Figures, Varied
from hetcost.impacts.lookups import Floats
from hetcost.impacts.money import ways_of
from hetcost.scenario import Scenario


class _Watched(Varied):
    """Figures that keep the names they are asked for."""

    def __init__(self, figures: Figures, seen: set[str]) -> None:
        super().__init__(figures, {})
        self._seen = seen

    def __getitem__(self, name: str) -> Floats:
        """Return a figure, and remember that it was asked for."""
        self._seen.add(name)
        return super().__getitem__(name)


class Solved:
    """Rows under a scenario, whose results can be had for changed figures as well."""

    def __init__(self, runs: pd.DataFrame, scenario: Scenario, verb: str) -> None:
        self.scenario = lookups.checked(scenario)
        self.figures = Figures(runs, read(runs, self.scenario, verb))
        ways = ways_of(self.figures)
        self._ways = {way: mask[:, np.newaxis] for way, mask in ways.items()}
        names = [lookups.way(card, self.scenario) for card in self.figures.cards.names]
        self.ways_by_row = np.array([*names, ""])[self.figures.cards.codes]

    def read_by(self, on: str) -> set[str]:
        """Return the names of the figures that a result is computed from."""
        seen: set[str] = set()
        baseline = self.scenario.idle_baseline
        model.outcome(_Watched(self.figures, seen), self._ways, baseline, on)
        return seen

    def values(self, on: str, changed: Mapping[str, Floats]) -> Floats:
        """Return a result of every row, by the values of the changed figures.

        `changed` holds arrays of rows by values, or of one row by values where they are the same
        for every row. The result has rows by values.
        """
        of = Varied(self.figures, changed)
        found = model.outcome(of, self._ways, self.scenario.idle_baseline, on)
        width = max([array.shape[1] for array in changed.values()], default=1)
        return np.broadcast_to(found, (len(self.ways_by_row), width))

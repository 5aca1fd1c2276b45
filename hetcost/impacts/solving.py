"""Results of rows over changed figures: what break-evens and draws are computed with."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

import numpy as np
import pandas as pd

from hetcost.impacts import lookups, model
from hetcost.impacts.accounting import read
from hetcost.impacts.emissions import check_bought
from hetcost.impacts.figures import Figures
from hetcost.impacts.lookups import Floats
from hetcost.impacts.money import ways_of
from hetcost.scenario import Scenario


class _Rows(dict[str, Floats]):
    """Figures of every row, laid out once and kept: rows are few where draws are many."""

    def __init__(self, figures: Figures) -> None:
        super().__init__()
        self._figures = figures

    def __missing__(self, name: str) -> Floats:
        """Lay a figure out."""
        self[name] = self._figures[name]
        return self[name]


class _Columns(_Rows):
    """The same as columns, of a single row where all are equal."""

    def __missing__(self, name: str) -> Floats:
        """Lay a figure out as a column."""
        values = self._figures[name][:, np.newaxis]
        self[name] = values[:1] if (values == values[:1]).all() else values
        return self[name]


class Solved:
    """Rows under a scenario, whose results can be had for changed figures as well."""

    def __init__(self, runs: pd.DataFrame, scenario: Scenario, verb: str) -> None:
        self.scenario = lookups.checked(scenario)
        self.figures = Figures(runs, read(runs, self.scenario, verb))
        check_bought(self.figures)
        self.kept = _Rows(self.figures)
        self._columns = _Columns(self.figures)
        ways = ways_of(self.figures)
        self._ways = {way: mask[:, np.newaxis] for way, mask in ways.items()}
        names = [lookups.way(card, self.scenario) for card in self.figures.cards.names]
        self.ways_by_row = np.array([*names, ""])[self.figures.cards.codes]

    def read_by(self, on: str, changed: Mapping[str, Floats]) -> set[str]:
        """Return the names of the figures, beside those changed, that a result is computed from."""
        read = _Columns(self.figures)
        of = ChainMap(dict(changed), read)
        model.outcome(of, self._ways, self.scenario.idle_baseline, on)
        return set(read)

    def computes_as(self, other: Solved) -> bool:
        """Say whether results are the same functions of their figures as those of another."""
        same = np.array_equal(self.ways_by_row, other.ways_by_row)
        return same and self.scenario.idle_baseline == other.scenario.idle_baseline

    def stated(self, field: str, value: float) -> Scenario:
        """Return the scenario with a number stated for all cards.

        Raises
        ------
        AssumptionError
            The scenario cannot hold it.
        """
        by_card = isinstance(type(self.scenario).model_fields[field].default, Mapping)
        cards = dict.fromkeys(self.figures.cards.names, value)
        return self.scenario.but(**{field: cards if by_card else value})

    def values(self, on: str, changed: Mapping[str, Floats]) -> Floats:
        """Return a result of every row, by the values of the changed figures.

        `changed` holds arrays of rows by values, or of one row by values where they are the same
        for every row. The result has rows by values.
        """
        of = ChainMap(dict(changed), self._columns)
        found = model.outcome(of, self._ways, self.scenario.idle_baseline, on)
        width = max([array.shape[1] for array in changed.values()], default=1)
        return np.broadcast_to(found, (len(self.ways_by_row), width))

"""The figures of a frame: looked up by name, once, when the arithmetic first asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from hetcost.impacts import embodied, lookups, owned, power
from hetcost.impacts.accounting import Read
from hetcost.impacts.lookups import Finder, Floats, LookedUp
from hetcost.impacts.power import Drawn
from hetcost.scenario.checks import NUMBERS

FINDERS: dict[str, Finder] = {
    "usd_per_gpu_h": lookups.price,
    "idle_w": lookups.idle(bare=False),
    "idle_bare_w": lookups.idle(bare=True),
    "host_w_load": power.host_load,
    "host_w_idle": lookups.sited("host_w_idle_per_gpu"),
    "at_plug": power.at_plug,
    "psu_efficiency_frac": lookups.sited("psu_efficiency_frac"),
    "pue": lookups.sited("pue"),
    "load_frac": lookups.load_frac,
    "assigned_frac": lookups.assigned_frac,
    "share_frac": lookups.share_frac,
    "is_time_share": lookups.is_time_share,
    "card_kgco2e": embodied.card_kgco2e,
    "host_kgco2e_per_gpu": embodied.host_kgco2e,
    "host_counted": embodied.host_counted,
    "life_yr": lookups.sited("life_yr"),
    "gco2e_per_kwh": lambda _gpu, scenario: lookups.intensity(scenario),
    **owned.FINDERS,
}
# The figures that a numeric field of a scenario stands for, where they are called otherwise.
_OF_FIELD = {
    "marginal_gco2e_per_kwh": ("gco2e_per_kwh",),
    "tdp_w": ("limit_w",),
    "idle_w": ("idle_w", "idle_bare_w"),
    "host_w_load_per_gpu": ("host_w_load",),
    "host_w_idle_per_gpu": ("host_w_idle",),
    "embodied_kgco2e": ("card_kgco2e",),
    "embodied_share_frac": ("share_frac",),
    "induced_frac": ("share_frac",),
}
DRAWN_FIGURES = ("wanted_w", "wanted_frac", "limit_w", "busy_frac")


def figures_of(field: str) -> tuple[str, ...]:
    """Return the figures that a numeric field of a scenario stands for; none if it is no such."""
    names = _OF_FIELD.get(field, (field,))
    return names if field in variable_fields() else ()


def variable_fields() -> list[str]:
    """Return the numeric fields of a scenario that results are computed from."""
    known = {*FINDERS, *DRAWN_FIGURES}
    fields = (*NUMBERS, "embodied_share_frac")
    return sorted(field for field in fields if set(_OF_FIELD.get(field, (field,))) <= known)


class Figures(Mapping[str, Floats]):
    """What the results of a frame are computed from, an array of one value per row by name."""

    def __init__(self, runs: pd.DataFrame, known: Read) -> None:
        self._runs, self.known = runs, known
        self.cards, self.scenario = known.cards, known.cards.scenario
        self._found: dict[str, LookedUp] = {}
        self._drawn: Drawn | None = None

    @property
    def drawn(self) -> Drawn:
        """What the boards draw, with bounds and quality."""
        if self._drawn is None:
            self._drawn = power.drawn(self._runs, self.cards, self.known.n_gpus)
        return self._drawn

    def looked_up(self, name: str) -> LookedUp:
        """Return a figure with what it rests on and why it is missing."""
        if name not in self._found:
            self._found[name] = self.cards.find(FINDERS[name])
        return self._found[name]

    def __getitem__(self, name: str) -> Floats:
        """Return the values of a figure, one per row."""
        if name == "n_gpus":
            return self.known.n_gpus
        if name.endswith("_tok_per_s"):
            return self.known.rates[name.removesuffix("_tok_per_s")]
        if name in DRAWN_FIGURES:
            return np.asarray(getattr(self.drawn, name))
        return self.looked_up(name).figures

    def __iter__(self) -> Iterator[str]:
        """Name every figure."""
        rates = (f"{basis}_tok_per_s" for basis in self.known.rates)
        return iter(["n_gpus", *rates, *DRAWN_FIGURES, *FINDERS])

    def __len__(self) -> int:
        """Count the figures."""
        return len(list(iter(self)))

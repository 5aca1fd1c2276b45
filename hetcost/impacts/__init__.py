"""From measured runs to cost, energy and carbon: the verbs."""

from __future__ import annotations

import pandas as pd

from hetcost.impacts.accounting import read
from hetcost.impacts.embodied import card_bounds, embodied_by_method
from hetcost.impacts.emissions import add_carbon, sci, with_carbon
from hetcost.impacts.figures import DRAWN_FIGURES, Figures, figures_of, variable_fields
from hetcost.impacts.joules import add_energy, with_energy
from hetcost.impacts.lookups import checked
from hetcost.impacts.model import OUTCOMES
from hetcost.impacts.money import add_cost, with_cost
from hetcost.impacts.solving import Solved
from hetcost.impacts.sources import facts_used
from hetcost.scenario import Scenario

__all__ = [
    "DRAWN_FIGURES",
    "OUTCOMES",
    "Solved",
    "card_bounds",
    "checked",
    "embodied_by_method",
    "evaluate",
    "facts_used",
    "figures_of",
    "sci",
    "variable_fields",
    "with_carbon",
    "with_cost",
    "with_energy",
]


def evaluate(runs: pd.DataFrame, scenario: Scenario | None = None) -> pd.DataFrame:
    """Add cost, energy and carbon to every run.

    Parameters
    ----------
    runs : One row per run or configuration, with ``gpu n_gpus out_tok_per_s all_tok_per_s``, and
        ``mean_concurrency`` for power by load.
    scenario : Assumptions; the default scenario where none is given.

    Returns
    -------
    The same rows with the columns of :func:`with_cost`, :func:`with_energy` and
    :func:`with_carbon`. What cannot be computed is NaN, with the reason in ``cost_note``,
    ``energy_note`` or ``carbon_note``.

    Raises
    ------
    ColumnError
        A column is missing, or holds what is no number.
    UnknownNameError
        Cards are not in the table of GPUs; the message lists the nearest.

    Examples
    --------
    >>> run = {"gpu": "RTX 4090", "n_gpus": 2, "out_tok_per_s": 624.0, "all_tok_per_s": 1250.6}
    >>> evaluated = evaluate(pd.DataFrame([run]), Scenario.paper())
    >>> round(evaluated["usd_per_mtok_all"].item(), 3)
    0.111
    """
    of = Figures(runs, read(runs, checked(scenario), "evaluate"))
    return runs.pipe(add_cost, of).pipe(add_energy, of).pipe(add_carbon, of)

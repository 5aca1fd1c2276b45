"""Energy per token of the boards, the servers and the site."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hetcost.formulas import energy
from hetcost.impacts import lookups, power
from hetcost.impacts.accounting import Read, read, with_columns
from hetcost.impacts.lookups import Cause, Floats, Known
from hetcost.scenario import Scenario

Watts = dict[str, Floats]


def with_energy(runs: pd.DataFrame, scenario: Scenario | None = None) -> pd.DataFrame:
    """Add power and energy per token of the boards, the servers and the site.

    ``gpu_w_load`` and ``site_w_*`` are what the machine draws. The energies per token count what
    the idle baseline leaves of that, by one rule for every card: all of it and the idle hours
    (``off``), what lies above idle (``idle``), or the card's extra alone (``in_use``).

    Parameters
    ----------
    runs : Rows with ``gpu n_gpus out_tok_per_s all_tok_per_s``; power by load reads
        ``mean_concurrency``, measured power ``gpu_power_w`` or ``gpu_energy_j duration_s``.
    scenario : Assumptions on power and site.

    Returns
    -------
    The same rows with ``power_model power_quality energy_boundary site idle_baseline load_frac
    gpu_w_load gpu_w_load_lo gpu_w_load_hi site_w_load site_w_idle`` [W],
    ``{gpu,it,site}_j_per_tok_{out,all}`` [J/tok] and ``energy_note``.

    Raises
    ------
    ColumnError, UnknownNameError
        As :func:`evaluate`.
    """
    return add_energy(runs, read(runs, lookups.checked(scenario), "with_energy"))


def add_energy(runs: pd.DataFrame, known: Read) -> pd.DataFrame:
    """Add what :func:`with_energy` adds to runs that are read already."""
    cards, n_gpus, rates, causes = known
    scenario = cards.scenario
    drawn = power.boards(runs, cards, n_gpus)
    idle, host_idle, psu_idle, pue, loaded = (
        cards.find(finder)
        for finder in (
            lookups.idle,
            lookups.sited("host_w_idle_per_gpu"),
            lookups.sited("psu_efficiency_frac"),
            lookups.sited("pue"),
            lambda gpu, assumed: Known(assumed.load_of(gpu)),
        )
    )
    host, psu = cards.find(power.host_load), cards.find(power.psu_under_load)
    load = _boundaries(drawn.watts, host.figures * n_gpus, psu.figures, pue.figures)
    idle_gpu_w = idle.figures * n_gpus
    rest = _boundaries(idle_gpu_w, host_idle.figures * n_gpus, psu_idle.figures, pue.figures)
    if scenario.idle_baseline == "in_use":
        extra = energy.incremental_w(drawn.watts, idle_gpu_w)
        counted = _boundaries(np.asarray(extra), np.zeros(len(runs)), psu.figures, pue.figures)
    elif scenario.idle_baseline == "idle":
        counted = {name: np.asarray(energy.incremental_w(load[name], rest[name])) for name in load}
    else:
        # An unknown idle power does not matter where no hour is idle.
        idling = {name: np.where(loaded.figures == 1, 0.0, rest[name]) for name in rest}
        counted = {
            name: np.asarray(energy.charged_w(load[name], idling[name], loaded.figures))
            for name in load
        }
    below_idle = np.logical_or.reduce([np.isnan(watts) for watts in counted.values()])
    below_idle &= np.isfinite(drawn.watts) & np.isfinite(idle_gpu_w)
    counted = {name: np.where(below_idle, np.nan, watts) for name, watts in counted.items()}
    added: dict[str, Any] = {
        "power_model": scenario.power_model,
        "power_quality": drawn.quality,
        "energy_boundary": cards.texts([_counted_as_it(card, scenario) for card in cards.names]),
        "site": cards.texts([lookups.site_kind(card, scenario) for card in cards.names]),
        "idle_baseline": scenario.idle_baseline,
        "load_frac": loaded.figures,
        "gpu_w_load": drawn.watts,
        "gpu_w_load_lo": drawn.low,
        "gpu_w_load_hi": drawn.high,
        "site_w_load": load["site"],
        "site_w_idle": rest["site"],
    }
    for basis, rate in rates.items():
        for boundary, watts in counted.items():
            added[f"{boundary}_j_per_tok_{basis}"] = energy.j_per_tok(watts, rate)
    needed: list[Cause] = [host.cause, psu.cause, pue.cause]
    if scenario.idle_baseline != "off":
        needed += [idle.cause, (below_idle, "no more power under load than idle")]
    if scenario.idle_baseline == "idle":
        needed += [host_idle.cause]
    if (loaded.figures < 1).any():
        needed += [idle.cause, host_idle.cause]
    added["energy_note"] = lookups.note(len(runs), [*drawn.causes, *needed, *causes])
    return with_columns(runs, added)


def _boundaries(gpu_w: Floats, host_w: Floats, psu: Floats, pue: Floats) -> Watts:
    it_w = energy.it_w(gpu_w, host_w, psu)
    return {"gpu": gpu_w, "it": np.asarray(it_w), "site": np.asarray(energy.site_w(it_w, pue))}


def _counted_as_it(gpu: str, scenario: Scenario) -> str:
    host, psu = power.host_load(gpu, scenario), power.psu_under_load(gpu, scenario)
    return "boards" if (host.value, psu.value) == (0, 1) else "servers"

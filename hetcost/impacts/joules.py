"""Energy per token of the boards, the servers and the site."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hetcost.columns import ENERGY_BOUNDARIES
from hetcost.formulas import energy
from hetcost.impacts import lookups, model, power
from hetcost.impacts.accounting import read, with_columns
from hetcost.impacts.figures import Figures
from hetcost.impacts.lookups import Cause
from hetcost.scenario import Scenario


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
    The same rows with ``power_model power_quality energy_boundary site idle_baseline idle_basis
    load_frac gpu_w_load gpu_w_load_lo gpu_w_load_hi site_w_load site_w_idle`` [W],
    ``{gpu,it,site}_j_per_tok_{out,all}`` [J/tok] and ``energy_note``.

    Raises
    ------
    ColumnError, UnknownNameError
        As :func:`evaluate`.
    """
    return add_energy(runs, Figures(runs, read(runs, lookups.checked(scenario), "with_energy")))


def add_energy(runs: pd.DataFrame, of: Figures) -> pd.DataFrame:
    """Add what :func:`with_energy` adds to runs that are read already."""
    scenario, cards = of.scenario, of.cards
    off = scenario.idle_baseline == "off"
    idle_name = "idle_w" if off else "idle_bare_w"
    counted = {
        boundary: model.counted_w(of, scenario.idle_baseline, boundary)
        for boundary in ENERGY_BOUNDARIES
    }
    added: dict[str, Any] = {
        "power_model": scenario.power_model,
        "power_quality": of.drawn.quality,
        "energy_boundary": cards.texts([_counted_as_it(card, scenario) for card in cards.names]),
        "site": cards.texts([lookups.site_kind(card, scenario) for card in cards.names]),
        "idle_baseline": scenario.idle_baseline,
        "idle_basis": of.looked_up(idle_name).bases,
        "load_frac": of["load_frac"],
        "gpu_w_load": model.gpu_w(of),
        "gpu_w_load_lo": of.drawn.low_w * of["n_gpus"],
        "gpu_w_load_hi": of.drawn.high_w * of["n_gpus"],
        "site_w_load": model.load_w(of),
        "site_w_idle": model.idle_w(of, bare=not off),
    }
    for basis, rate in of.known.rates.items():
        for boundary, watts in counted.items():
            added[f"{boundary}_j_per_tok_{basis}"] = energy.j_per_tok(watts, rate)
    needed: list[Cause] = [
        of.looked_up(name).cause for name in ("host_w_load", "psu_efficiency_frac", "pue")
    ]
    idling = [
        of.looked_up(name).cause for name in (idle_name, "host_w_idle", "psu_efficiency_frac")
    ]
    if not off:
        idling = idling if scenario.idle_baseline == "idle" else idling[:1]
        below_idle = model.below_idle(of, scenario.idle_baseline)
        needed += [*idling, (below_idle, "no more power under load than idle")]
    elif (part := of["load_frac"] < 1).any():
        needed += [(part & mask, why) for mask, why in idling]
    causes = [*of.drawn.causes, *needed, *of.known.causes]
    added["energy_note"] = lookups.note(len(runs), causes)
    return with_columns(runs, added)


def _counted_as_it(gpu: str, scenario: Scenario) -> str:
    host, plug = power.host_load(gpu, scenario), power.at_plug(gpu, scenario)
    psu = lookups.sited("psu_efficiency_frac")(gpu, scenario)
    lossless = psu.value == 1 or plug.value == 1
    return "boards" if host.value == 0 and lossless else "servers"

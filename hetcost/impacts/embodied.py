"""Embodied carbon of cards by method, on one boundary, and the stand-in where one is missing."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from hetcost import reference
from hetcost.formulas import embodied
from hetcost.impacts import lookups
from hetcost.impacts.lookups import GIVEN, Known
from hetcost.scenario import Scenario

METHODS = ("inventory", "manufacturer", "act", "boavizta")
YIELDS = ("constant", "murphy", "poisson")
_TABLED = ("inventory", "manufacturer", "boavizta", "parametric", "literature")
_BOUNDS = ("low", "high")
_ANY_DIE, _ANY_IC, _ANY_NODE = "all dies", "all ICs", "all nodes"


def card_kgco2e(gpu: str, scenario: Scenario) -> Known:
    """Return the embodied carbon of a card without host, in kgCO2e.

    The scenario's own figure; else its method's; else the first method of the fixed order
    inventory, manufacturer, act, boavizta that knows the card, and the basis says in place of
    what. With the host boundary the card is counted to its end of life.
    """
    if gpu in scenario.embodied_kgco2e:
        return Known(scenario.of("embodied_kgco2e", gpu), GIVEN)
    asked = scenario.embodied_method
    if asked == "none":
        return Known(np.nan, missing="embodied carbon: no method in this scenario")
    for method in [asked, *(other for other in METHODS if other != asked)]:
        known = by_method(gpu, method, scenario)
        if not known.missing:
            instead = "" if method == asked else f" in place of {asked}"
            return known._replace(basis=f"{method}{instead}, {known.basis}")
    return Known(np.nan, missing=f"no embodied carbon known for {gpu}")


def card_bounds(gpu: str, scenario: Scenario) -> tuple[float, float] | None:
    """Return the bounds of a card's embodied carbon by its method; None if unknown."""
    if gpu in scenario.embodied_kgco2e:
        return None
    asked = scenario.embodied_method
    for method in [asked, *(other for other in METHODS if other != asked)]:
        if not by_method(gpu, method, scenario).missing:
            low, high = (by_method(gpu, method, scenario, side).value for side in _BOUNDS)
            return (low, high) if low < high else None
    return None


def host_kgco2e(gpu: str, scenario: Scenario) -> Known:
    """Return the host's embodied carbon per card, in kgCO2e, whether it is counted or not."""
    if scenario.embodied_boundary != "host" and not host_is_stated(gpu, scenario):
        return Known(0.0)
    return lookups.sited("host_kgco2e_per_gpu")(gpu, scenario)


def host_is_stated(gpu: str, scenario: Scenario) -> bool:
    """Say whether the scenario states the host's embodied carbon."""
    return scenario.of("host_kgco2e_per_gpu", gpu) is not None


def host_counted(_gpu: str, scenario: Scenario) -> Known:
    """Return 1 where the boundary counts the host, 0 where it does not."""
    return Known(float(scenario.embodied_boundary == "host"))


def by_method(gpu: str, method: str, scenario: Scenario, side: str = "value") -> Known:
    """Return a card's embodied carbon by one method, on the scenario's boundary without host.

    `side` is ``value``, ``low`` or ``high``; of a fact without bounds these are NaN.
    """
    boundary = "gate" if scenario.embodied_boundary == "gate" else "end_of_life"
    if method == "act":
        return _on_boundary(_act(gpu, scenario, side), "gate", boundary, scenario)
    for stated in (boundary, "gate" if boundary == "end_of_life" else "end_of_life"):
        fact = reference.embodied_fact(gpu, method, stated, tables=scenario.tables)
        if fact is not None:
            known = Known(float(fact[side]), f"quality {fact['quality']}", facts=(fact,))
            return _on_boundary(known, stated, boundary, scenario)
    return Known(np.nan, missing=f"no {method} figure for {gpu}")


def embodied_by_method(
    gpus: str | Iterable[str] | None = None, scenario: Scenario | None = None
) -> pd.DataFrame:
    """Set every method's embodied carbon of cards side by side, on one boundary.

    The spread is of assumptions, and no probability: methods are not draws from anything.

    Parameters
    ----------
    gpus : Cards, or one; all that are in the table of GPUs if None.
    scenario : Boundary, tables and site of the hosts; its method does not matter.

    Returns
    -------
    One row per card and method that knows it: ``gpu method boundary kgco2e low high host_kgco2e
    basis source``; a card that none knows has one row with NaN, and the reason as its basis.
    ``kgco2e`` counts what the boundary counts, the host share included where it is ``host``; low
    and high move with the published bounds. ``act`` stands three times, by yield. ``parametric``
    and ``literature`` are published figures that no scenario takes; with the host boundary those
    that were published with their own host stand as well. [kgCO2e per card]

    Raises
    ------
    UnknownNameError
        Cards are not in the table of GPUs; the message lists the nearest.

    Examples
    --------
    >>> table = embodied_by_method(["H100 SXM 80GB"], Scenario(embodied_boundary="gate"))
    >>> table.set_index("method")["kgco2e"]["manufacturer"]
    np.float64(164.0)
    """
    scenario = lookups.checked(scenario)
    known_cards = list(reference.gpus(scenario.tables).index)
    named = known_cards if gpus is None else [gpus] if isinstance(gpus, str) else gpus
    cards = list(dict.fromkeys(lookups.canonical(named, scenario)))
    rows: list[dict[str, object]] = []
    for gpu in cards:
        counted = host_counted(gpu, scenario).value
        host = host_kgco2e(gpu, scenario).value if counted else 0.0
        for method, assumed in _variants(scenario):
            known = by_method(gpu, method.partition(",")[0], assumed)
            if known.missing:
                continue
            sides = [by_method(gpu, method.partition(",")[0], assumed, side) for side in _BOUNDS]
            row: dict[str, object] = {"gpu": gpu, "method": method}
            row["boundary"] = scenario.embodied_boundary
            figures = zip(("kgco2e", *_BOUNDS), (known, *sides), strict=True)
            row |= {name: figure.value + host for name, figure in figures}
            row |= {"host_kgco2e": host, "basis": known.basis}
            sources = dict.fromkeys(fact["source"] for fact in known.facts)
            rows.append(row | {"source": "; ".join(sources)})
        rows += _with_own_host(gpu, scenario)
        if not any(row["gpu"] == gpu for row in rows):
            unknown = f"no embodied carbon known for {gpu}"
            rows.append({"gpu": gpu, "boundary": scenario.embodied_boundary, "basis": unknown})
    columns = ["gpu", "method", "boundary", "kgco2e", "low", "high", "host_kgco2e", "basis"]
    return pd.DataFrame(rows, columns=[*columns, "source"])


def _with_own_host(gpu: str, scenario: Scenario) -> list[dict[str, object]]:
    """Return figures that were published with a share of a host, which cannot be parted."""
    if scenario.embodied_boundary != "host":
        return []
    published = reference.embodied(scenario.tables)
    own = published[(published["gpu"] == gpu) & (published["boundary"] == "host")]
    return [
        {
            "gpu": gpu,
            "method": f"{fact['method']}, its own host",
            "boundary": "host",
            "kgco2e": fact["kgco2e"],
            "low": fact["low"],
            "high": fact["high"],
            "basis": f"with a share of the host, as published, quality {fact['quality']}",
            "source": fact["source"],
        }
        for _, fact in own.iterrows()
    ]


def _variants(scenario: Scenario) -> list[tuple[str, Scenario]]:
    tabled = [(method, scenario) for method in _TABLED]
    acts = [(f"act, {kind} yield", scenario.but(act_yield=kind)) for kind in YIELDS]
    return [*tabled, *acts]


def _on_boundary(known: Known, stated: str, wanted: str, scenario: Scenario) -> Known:
    words = {"gate": "cradle to gate", "end_of_life": "with transport and end of life"}
    if known.missing or stated == wanted:
        return known._replace(basis=f"{words[wanted]}, {known.basis}")
    fact = reference.end_of_life_fact(tables=scenario.tables)
    ratio = fact["value"] if wanted == "end_of_life" else 1 / fact["value"]
    basis = f"{words[wanted]} (from {words[stated]}, x{ratio:.3f}), {known.basis}"
    return Known(known.value * ratio, basis, facts=(*known.facts, fact))


def _act(gpu: str, scenario: Scenario, side: str) -> Known:
    """Return die and memory of a card after ACT: cradle to gate, no board, no cooler.

    A bound takes the bound of each parameter that has one, and the value of the others.
    """
    look = _Parameters(scenario, side)
    node, fab, memory = (look.text(gpu, name) for name in ("node", "fab", "memory"))
    die, memory_gb = (look.size(gpu, name) for name in ("die_mm2", "memory_gb"))
    packaging = look.number(_ANY_IC, "packaging_gco2e_per_ic")
    good = _yield_frac(node, die, scenario.act_yield, look)
    logic = embodied.act_embodied(
        die,
        look.number(node, "epa_kwh_per_cm2"),
        look.number(node, "gpa_gco2e_per_cm2"),
        look.number(node, "mpa_gco2e_per_cm2"),
        look.number(fab, "ci_fab_gco2e_per_kwh"),
        good,
        packaging,
    )
    per_gb, chips = look.number(memory, "memory_kgco2e_per_gb"), look.number(gpu, "memory_ics")
    total = logic + embodied.act_memory(memory_gb, per_gb, chips, packaging)
    if look.lacking:
        return Known(np.nan, missing=f"no act figure for {gpu}: no {', '.join(look.lacking)}")
    told = f"die and memory alone, {scenario.act_yield} yield {good:.2f}"
    return Known(float(np.asarray(total)), told, facts=tuple(look.used))


class _Parameters:
    """Looks parameters of the ACT model up, and keeps what was used and what is lacking."""

    def __init__(self, scenario: Scenario, side: str) -> None:
        self.tables, self.side = scenario.tables, side
        self.used: list[pd.Series] = []
        self.lacking: list[str] = []

    def text(self, entity: str, quantity: str) -> str:
        fact = self._kept(
            entity, quantity, reference.act_fact(entity, quantity, tables=self.tables)
        )
        return "" if fact is None else str(fact["value"])

    def number(self, entity: str, quantity: str) -> float:
        return self._number(
            entity, quantity, reference.act_fact(entity, quantity, tables=self.tables)
        )

    def size(self, gpu: str, quantity: str) -> float:
        return self._number(gpu, quantity, reference.gpu_fact(gpu, quantity, tables=self.tables))

    def _number(self, entity: str, quantity: str, fact: pd.Series | None) -> float:
        fact = self._kept(entity, quantity, fact)
        if fact is None:
            return np.nan
        return float(fact["value"] if np.isnan(fact[self.side]) else fact[self.side])

    def _kept(self, entity: str, quantity: str, fact: pd.Series | None) -> pd.Series | None:
        if fact is None or pd.isna(fact["value"]):
            if entity:
                self.lacking.append(f"{quantity} of {entity}")
            return None
        self.used.append(fact)
        return fact


def _yield_frac(node: str, die_mm2: float, model: str, look: _Parameters) -> float:
    if model == "constant":
        return look.number(_ANY_DIE, "yield_frac")
    if model == "murphy":
        defects = look.number(_ANY_NODE, "defects_per_cm2")
        return float(np.asarray(embodied.murphy_yield_frac(die_mm2, defects)))
    known = reference.act_fact(node, "defects_per_cm2", tables=look.tables) is not None
    defects = look.number(node if known else _ANY_NODE, "defects_per_cm2")
    return float(np.asarray(embodied.poisson_yield_frac(die_mm2, defects)))

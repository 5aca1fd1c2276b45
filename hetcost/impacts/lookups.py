"""What the verbs look up: once per card, with what each figure rests on or why it is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost import reference
from hetcost.errors import AssumptionError, UnknownNameError
from hetcost.formulas.carbon import consumed_gco2e_per_kwh
from hetcost.reference.tables import CONSUMED_SUFFIX
from hetcost.scenario import BY_TIER, Scenario
from hetcost.scenario.checks import ACQUISITIONS, SHARED, SHARES

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Cause = tuple[Mask | bool, str | NDArray[np.object_]]

GIVEN = "scenario"


class Known(NamedTuple):
    """A figure and what it rests on, or NaN and why it is missing."""

    value: float
    basis: str = ""
    missing: str = ""
    facts: tuple[pd.Series, ...] = ()


class LookedUp:
    """A figure by card, laid out by row when asked for: so many rows are not kept twice."""

    def __init__(self, cards: Cards, known: list[Known]) -> None:
        self._cards, self.known = cards, known

    @property
    def figures(self) -> Floats:
        """The value of every row, NaN where it is missing or the row names no card."""
        return np.array([*(entry.value for entry in self.known), np.nan])[self._cards.codes]

    @property
    def bases(self) -> Any:
        """What the value of every row rests on."""
        return self._cards.texts([entry.basis for entry in self.known])

    @property
    def cause(self) -> Cause:
        """Which rows lack the value, and why."""
        entries = [*self.known, _UNNAMED]
        if not self._cards.unnamed and not any(entry.missing for entry in self.known):
            return (False, "")
        reasons = np.array([entry.missing for entry in entries], dtype=object)
        lacking = np.array([bool(entry.missing) for entry in entries])
        return (lacking[self._cards.codes], reasons[self._cards.codes])


_UNNAMED = Known(np.nan, missing="the run names no GPU")
Finder = Callable[[str, Scenario], Known]


def price(gpu: str, scenario: Scenario) -> Known:
    """Return the rent of a card, in USD per hour."""
    if gpu in scenario.usd_per_gpu_h:
        return Known(scenario.of("usd_per_gpu_h", gpu), GIVEN)
    kind, as_of = scenario.price_class, scenario.price_as_of
    fact = reference.price_fact(gpu, kind, as_of, tables=scenario.tables)
    known = known_by(fact, f"{kind} price for {gpu} as of {as_of}")
    return known if fact is None else known._replace(basis=f"{kind}, {fact['date']}")


def tdp(gpu: str, scenario: Scenario) -> Known:
    """Return the power limit of a board, in W."""
    if gpu in scenario.tdp_w:
        return Known(scenario.of("tdp_w", gpu), GIVEN)
    return known_by(reference.gpu_fact(gpu, "tdp_w", tables=scenario.tables), f"TDP of {gpu}")


def idle(*, bare: bool) -> Finder:
    """Return a finder of the power of a board that serves nobody, bare or with weights loaded."""

    def find(gpu: str, scenario: Scenario) -> Known:
        if gpu in scenario.idle_w:
            return Known(scenario.of("idle_w", gpu), GIVEN)
        fact = reference.idle_fact(gpu, bare=bare, tables=scenario.tables)
        state = "" if fact is None else "bare" if "bare" in fact["quantity"] else "weights loaded"
        return known_by(fact, f"idle power of {gpu}", state)

    return find


def known_by(fact: pd.Series | None, what: str, more: str = "") -> Known:
    """Return what a fact says, or that none is known, or a range alone."""
    if fact is None:
        return Known(np.nan, missing=f"no {what} is known")
    if np.isnan(fact["value"]):
        bounds = f"{fact['low']:g}-{fact['high']:g} {fact['unit']}"
        return Known(np.nan, missing=f"only a range ({bounds}) is known as {what}", facts=(fact,))
    told = f"{more}, quality {fact['quality']}" if more else f"quality {fact['quality']}"
    return Known(float(fact["value"]), told, facts=(fact,))


def load_frac(gpu: str, scenario: Scenario) -> Known:
    """Return the share of a card's assigned hours that it is loaded."""
    return _says(scenario.of("load_frac", gpu), 1.0)


def assigned_frac(gpu: str, scenario: Scenario) -> Known:
    """Return the share of a card's life that it is assigned to the service."""
    return _says(scenario.of("assigned_frac", gpu), 1.0)


def share_frac(gpu: str, scenario: Scenario) -> Known:
    """Return the share of a card's embodied carbon that is charged; of a sunk one, the induced."""
    share = scenario.of("embodied_share_frac", gpu)
    if share == SHARED:
        return Known(1.0, GIVEN)  # of its time share, which assigned_frac says
    if share == SHARES["sunk"]:
        induced = scenario.of("induced_frac", gpu)
        missing = "" if induced is not None else f"induced_frac is not given for {gpu}"
        return Known(np.nan if induced is None else induced, GIVEN, missing)
    return _says(share, SHARES["new"])


def is_time_share(gpu: str, scenario: Scenario) -> Known:
    """Return 1 for a card that is charged for its time share."""
    return Known(float(scenario.of("embodied_share_frac", gpu) == SHARED))


def way(gpu: str, scenario: Scenario) -> str:
    """Return how a card is had."""
    return str(scenario.of("acquisition", gpu) or ACQUISITIONS[0])


def fee_frac(gpu: str, scenario: Scenario) -> Known:
    """Return the share that a platform keeps."""
    return _says(scenario.of("platform_fee_frac", gpu), 0.0)


def _says(value: float | None, default: float) -> Known:
    return Known(default if value is None else float(value), GIVEN)


def site_kind(gpu: str, scenario: Scenario) -> str:
    """Return the kind of site that houses a card."""
    kind = scenario.of("site", gpu)
    if kind is not None and kind != BY_TIER:
        return str(kind)
    tier = reference.gpu_fact(gpu, "tier", tables=scenario.tables)
    return "home" if tier is not None and tier["value"] == "consumer" else "datacentre"


def sited(quantity: str) -> Finder:
    """Return a finder of a figure of the site: the scenario's own, or of the kind of site."""

    def find(gpu: str, scenario: Scenario) -> Known:
        own = scenario.of(quantity, gpu) if quantity in type(scenario).model_fields else None
        if own is not None:
            return Known(own, GIVEN)
        kind = site_kind(gpu, scenario)
        year = scenario.grid_year if quantity == "pue" else None
        fact = reference.site_fact(kind, quantity, year, tables=scenario.tables)
        return known_by(fact, f"{quantity} of a site of kind {kind}", kind)

    return find


def intensity(scenario: Scenario) -> Known:
    """Return the carbon intensity of electricity at the socket, in gCO2e per kWh."""
    proxy = ""
    if scenario.perspective == "consequential":
        if scenario.marginal_gco2e_per_kwh is not None:
            return Known(scenario.of("marginal_gco2e_per_kwh", ""), f"marginal, {GIVEN}")
        proxy = "average as proxy of marginal; "
    if scenario.gco2e_per_kwh is not None:
        return Known(scenario.of("gco2e_per_kwh", ""), f"{proxy}{GIVEN}")
    zone, year, method = str(scenario.grid_zone), scenario.grid_year, scenario.grid_method
    fact = reference.grid_fact(zone, year, tables=scenario.tables, method=method)
    if fact is None:  # the tables changed under the scenario
        return Known(np.nan, missing=f"no {method} carbon intensity of {zone} in {year}")
    word = "life-cycle" if method == "lifecycle" else method
    basis = f"{proxy}{zone} {year}, {word}, quality {fact['quality']}"
    if fact["quantity"].endswith(CONSUMED_SUFFIX):
        return Known(fact["value"], f"{basis}, as consumed: losses are in it", facts=(fact,))
    return _with_loss(fact["value"], basis, scenario, (fact,))


class Cards:
    """The cards of a frame, each looked up once, figures laid out by row."""

    def __init__(self, runs: pd.DataFrame, scenario: Scenario) -> None:
        # A row that names no card has code -1, which takes the last entry of what is laid out.
        self.codes, names = pd.factorize(runs["gpu"])
        self.unnamed = bool((self.codes < 0).any())
        self.names = canonical(names, scenario)
        self.scenario = scenario

    def find(self, finder: Finder) -> LookedUp:
        """Look a figure up once per card."""
        return self.laid_out([finder(name, self.scenario) for name in self.names])

    def laid_out(self, known: list[Known]) -> LookedUp:
        """Lay out by row what is known by card."""
        return LookedUp(self, known)

    def texts(self, words: list[str]) -> Any:
        """Lay out by row a text by card; "" where a row names none."""
        return pd.array([*words, ""], dtype="str").take(self.codes)


def note(rows: int, causes: Iterable[Cause]) -> Any:
    """Write the first cause that holds of each row; a plain "" where none holds of any."""
    written: NDArray[np.object_] | None = None
    for mask, text in causes:
        if not np.any(mask):
            continue
        if written is None:
            written = np.full(rows, "", dtype=object)
        where = np.asarray(mask) & (written == "")
        written[where] = text if isinstance(text, str) else text[where]
    return "" if written is None else written


def canonical(names: Iterable[Any], scenario: Scenario) -> list[str]:
    """Return canonical names; those that are unknown or ambiguous raise, all at once."""
    cards, wrong = [], []
    for name in names:
        try:
            cards.append(reference.gpu_name(name, tables=scenario.tables))
        except UnknownNameError as error:
            wrong.append(error)
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        message = "\n  ".join([f"{len(wrong)} GPUs are not in the tables:", *map(str, wrong)])
        raise UnknownNameError(message)
    return cards


def checked(scenario: Scenario | None) -> Scenario:
    """Return the scenario, the default one for None."""
    if scenario is None:
        return Scenario()
    if not isinstance(scenario, Scenario):
        message = f"scenario: {scenario!r} is not a Scenario"
        raise AssumptionError(message)
    return scenario


def _with_loss(
    generated: float, basis: str, scenario: Scenario, facts: tuple[pd.Series, ...]
) -> Known:
    loss, whose = scenario.td_loss_frac, GIVEN
    if loss is None:
        fact = reference.td_loss_fact(str(scenario.grid_zone), tables=scenario.tables)
        known = known_by(fact, "loss of transmission and distribution")
        if known.missing:
            return known
        loss, whose, facts = known.value, known.basis, (*facts, *known.facts)
    value = float(np.asarray(consumed_gco2e_per_kwh(generated, loss)))
    return Known(value, f"{basis}; T&D loss {loss:.1%}, {whose}" if loss else basis, facts=facts)

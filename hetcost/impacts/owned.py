"""Figures on owning: purchase, finance, electricity, and what a pool of idle machines asks."""

from __future__ import annotations

from hetcost import reference
from hetcost.impacts import lookups
from hetcost.impacts.lookups import GIVEN, Finder, Known, known_by
from hetcost.scenario import Scenario


def capex(gpu: str, scenario: Scenario) -> Known:
    """Return the purchase price of a card, in USD."""
    own = scenario.of("capex_usd", gpu)
    if own is not None:
        return Known(own, GIVEN)
    fact = reference.capex_fact(gpu, scenario.price_as_of, tables=scenario.tables)
    date = "" if fact is None else fact["date"]
    return known_by(fact, f"purchase price of {gpu} as of {scenario.price_as_of}", date)


def financial(quantity: str) -> Finder:
    """Return a finder of the scenario's own figure, or of what is assumed of the kind of site."""

    def find(gpu: str, scenario: Scenario) -> Known:
        own = scenario.of(quantity, gpu)
        if own is not None:
            return Known(own, GIVEN)
        kind = lookups.site_kind(gpu, scenario)
        fact = reference.capex_of_site(kind, quantity, tables=scenario.tables)
        return known_by(fact, f"{quantity} of a site of kind {kind}", kind)

    return find


def residual(gpu: str, scenario: Scenario) -> Known:
    """Return the share of the price that is left at the end; 0 where the market's decay says it."""
    if scenario.of("value_decay_frac", gpu) is not None:
        return Known(0.0)
    return financial("residual_frac")(gpu, scenario)


def decay(gpu: str, scenario: Scenario) -> Known:
    """Return the share of its value that hardware loses a year; 1 where a residual value is fixed.

    What is left at the end is the fixed share, and what the decay leaves: one of them is 0.
    """
    stated = scenario.of("value_decay_frac", gpu)
    return Known(1.0 if stated is None else stated, GIVEN)


def electricity(gpu: str, scenario: Scenario) -> Known:
    """Return the price of a kilowatt-hour, in USD."""
    own = scenario.of("usd_per_kwh", gpu)
    if own is not None:
        return Known(own, GIVEN)
    home = lookups.site_kind(gpu, scenario) == "home"
    zone = scenario.grid_zone
    fact = reference.electricity_fact(zone, home=home, tables=scenario.tables)
    sector = "" if fact is None else fact["quantity"].partition("_")[0]
    told = "" if fact is None else f"{fact['entity']} {fact['date']}, {sector}"
    return known_by(fact, "price of electricity in USD", told)


def inflation(_gpu: str, scenario: Scenario) -> Known:
    """Return the inflation that makes the discount rate real; 0 where it is real."""
    return Known(float(scenario.of("inflation_frac", "") or 0.0), GIVEN)


FINDERS: dict[str, Finder] = {
    "capex_usd": capex,
    "inflation_frac": inflation,
    "value_decay_frac": decay,
    "residual_frac": residual,
    "usd_per_kwh": electricity,
    **{
        quantity: financial(quantity)
        for quantity in (
            "host_capex_usd_per_gpu",
            "install_frac",
            "discount_frac",
            "upkeep_frac",
            "failure_frac",
            "spares_frac",
            "colo_usd_per_kw_month",
            "avail_frac",
            "wear_frac",
            "hours_per_day",
            "churn_frac",
            "interrupts_per_h",
            "restart_h",
            "lost_h",
        )
    },
    "platform_fee_frac": lookups.fee_frac,
}

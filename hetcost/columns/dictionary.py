"""The data dictionary: what each column means, its unit, its bounds.

Grammar of names: ``[scope_]UNIT_per_UNIT[_basis]`` for rates, ``thing_UNIT`` for quantities,
percentiles first (``p99_ttft_ms``). Token basis ``_out``, ``_in`` or ``_all``; energy boundary
``gpu_``, ``it_`` or ``site_``; carbon stage ``op_``, ``emb_`` or none for their sum.
"""

from __future__ import annotations

from typing import Any

from hetcost.columns.column import Column, Kind, number, text
from hetcost.columns.runs import OPTIONAL_RUN_COLUMNS, RUN_COLUMNS

TOKEN_BASES = {"out": "output tokens", "all": "input and output tokens"}
ENERGY_BOUNDARIES = {
    "gpu": "the boards",
    "it": "the IT equipment",
    "site": "the site, PUE included",
}
CARBON_STAGES = {"op_": "operational", "emb_": "embodied", "": "whole"}
MARKET = {"market_op_": "market-based operational"}
SCI_UNITS = {"request": "request", "tok_out": "output token", "tok_all": "token, in or out"}


def _evaluated_columns() -> list[Column]:
    columns = [
        text("reading", "how throughput was had: as_measured takes the run as it is"),
        text("cost_basis", "as loaded (the bill at this load) or at capacity"),
        text("acquisition", "how the hardware is had: rent, spot, own or idle"),
        number("usd_per_gpu_h", "USD/h", "Price per GPU", "price of one card"),
        text(
            "price_basis", "class and date of the price; of owned cards also the rate, electricity"
        ),
        number("usd_per_h", "USD/h", "Price", "price of the configuration, of an hour in use"),
        number("gpu_usd_per_h", "USD/h", "Cost of cards", "share of the cards in the price"),
        number("host_usd_per_h", "USD/h", "Cost of hosts", "share of the hosts and their space"),
        number("power_usd_per_h", "USD/h", "Cost of power", "share of electricity in the price"),
        number("machines_per_replica", "1", "Machines", "offered machines that keep one up"),
        text("licence_note", "what a card's licence says of its use in a datacentre"),
        text("cost_note", "why a cost is missing"),
        number("power_covered_frac", "1", "Covered share", "of the run, by a power log", high=1),
        text("power_note", "why a power log gave a run no energy"),
        text("power_model", "rung of the power ladder that was asked for"),
        text("power_quality", "rung that was used, and the quality of its figure"),
        text("energy_boundary", "what is counted as IT equipment: the boards alone, or servers"),
        text("site", "kind of site that houses the cards"),
        text("idle_baseline", "what would be without the service: off, idle or in_use"),
        text("idle_basis", "idle power that was taken: weights loaded or bare, and its quality"),
        number("load_frac", "1", "Loaded share", "share of assigned hours under load", high=1),
        number("gpu_w_load", "W", "Board power", "power of all boards under load"),
        number("gpu_w_load_lo", "W", "Board power", "lower bound of the power of all boards"),
        number("gpu_w_load_hi", "W", "Board power", "upper bound of the power of all boards"),
        number("site_w_load", "W", "Site power", "site power of the configuration under load"),
        number("site_w_idle", "W", "Idle power", "site power of the configuration idle"),
        number("site_kw", "kW", "Site power", "site power of the configuration under load"),
        number("all_mtok_per_h", "Mtok/h", "Throughput", "Mtok, input and output, an hour"),
        number("all_mtok_per_kwh", "Mtok/kWh", "Yield", "million input and output tokens per kWh"),
        text("energy_note", "why an energy is missing"),
        number("gco2e_per_kwh", "gCO2e/kWh", "Grid intensity", "emissions of the electricity"),
        text("grid_method", "emissions of power plants that are counted: lifecycle or direct"),
        text("grid_basis", "zone, year and method of the intensity, or 'scenario'; losses"),
        text("perspective", "attributional or consequential"),
        text("emb_method", "where embodied carbon comes from, and in place of what"),
        text("emb_boundary", "gate, end_of_life or host: how far embodied carbon is counted"),
        number("emb_kgco2e", "kgCO2e", "Embodied carbon", "of the configuration, all of it"),
        number("emb_share_frac", "1", "Charged share", "of the embodied carbon", high=1),
        number("emb_gco2e_per_h", "gCO2e/h", "Embodied emissions", "of an hour under load"),
        text("carbon_note", "why a figure of emissions is missing"),
        *(
            number(f"sci_gco2e_per_{unit}", f"gCO2e per {name}", "SCI", f"SCI per {name}")
            for unit, name in SCI_UNITS.items()
        ),
        text("sci_note", "why the Software Carbon Intensity is missing"),
        text("slo", "latency limits that the row was tested against"),
        Column("meets_slo", "flag", "", "SLO kept", "whether every limit of the SLO is kept"),
        text("slo_note", "which limit is broken, or why that is not known"),
    ]
    for basis, tokens in TOKEN_BASES.items():
        columns.append(
            number(
                f"usd_per_mtok_{basis}",
                f"USD per million {tokens}",
                "Cost",
                f"cost of a million {tokens}",
            )
        )
        columns += [
            number(
                f"{boundary}_j_per_tok_{basis}",
                f"J per token, {tokens}",
                f"Energy of {where}",
                f"energy of {where} per token, {tokens} counted",
            )
            for boundary, where in ENERGY_BOUNDARIES.items()
        ]
        columns += [
            number(
                f"{stage}gco2e_per_mtok_{basis}",
                f"gCO2e per million {tokens}",
                f"{name.capitalize()} emissions",
                f"{name} emissions of a million {tokens}",
            )
            for stage, name in (CARBON_STAGES | MARKET).items()
        ]
    return columns


COLUMNS: dict[str, Column] = {
    column.name: column for column in (*RUN_COLUMNS, *OPTIONAL_RUN_COLUMNS, *_evaluated_columns())
}
DTYPES: dict[Kind, Any] = {"text": "str", "number": "float64", "count": "Int64", "flag": "boolean"}


def label(name: str) -> str:
    """Return the axis label of a column: what it is, with its unit.

    Examples
    --------
    >>> label("p99_ttft_ms")
    'P99 TTFT (ms)'
    """
    column = COLUMNS.get(name)
    if column is None:
        return name.replace("_", " ")
    return f"{column.label} ({column.unit})" if column.unit not in ("", "1") else column.label

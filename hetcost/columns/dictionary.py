"""The data dictionary: what each column means, its unit, its bounds.

Grammar of names: ``[scope_]UNIT_per_UNIT[_basis]`` for rates, ``thing_UNIT`` for quantities,
percentiles first (``p99_ttft_ms``). Token basis ``_out``, ``_in`` or ``_all``; energy boundary
``gpu_``, ``it_`` or ``site_``; carbon stage ``op_``, ``emb_`` or none for their sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["text", "number", "count", "flag"]

STATISTICS = ("mean", "p50", "p90", "p95", "p99")
LATENCIES = {
    "ttft": "time to first token",
    "tpot": "time per output token, first token left out; averaged per request",
    "itl": "inter-token latency; gaps of all requests pooled",
    "e2el": "end-to-end latency of a request",
}
TOKEN_BASES = {"out": "output tokens", "all": "input and output tokens"}
ENERGY_BOUNDARIES = {
    "gpu": "the boards",
    "it": "the IT equipment",
    "site": "the site, PUE included",
}
CARBON_STAGES = {"op_": "operational", "emb_": "embodied", "": "whole"}
MARKET = {"market_op_": "market-based operational"}
SCI_UNITS = {"request": "request", "tok_out": "output token", "tok_all": "token, in or out"}


@dataclass(frozen=True)
class Column:
    """One entry of the data dictionary."""

    name: str
    kind: Kind
    unit: str
    label: str
    meaning: str
    low: float = -math.inf
    high: float = math.inf
    infinite: bool = False


def _text(name: str, meaning: str, label: str = "") -> Column:
    return Column(name, "text", "", label or name.replace("_", " "), meaning)


def _count(name: str, meaning: str, label: str = "", low: float = 0) -> Column:
    return Column(name, "count", "1", label or name.replace("_", " "), meaning, low)


def _number(
    name: str, unit: str, label: str, meaning: str, high: float = math.inf, low: float = 0
) -> Column:
    return Column(name, "number", unit, label, meaning, low, high)


def _latency_columns() -> list[Column]:
    return [
        _number(
            f"{statistic}_{short}_ms",
            "ms",
            f"{statistic.upper() if statistic != 'mean' else 'Mean'} {short.upper()}",
            f"{statistic} of {meaning}",
        )
        for short, meaning in LATENCIES.items()
        for statistic in STATISTICS
    ]


RUN_COLUMNS: tuple[Column, ...] = (
    _text("run_id", "identity of the run: hash of its content"),
    _text("study", "measurement campaign the run belongs to"),
    _text("source", "file and line the run was read from"),
    _text("tool", "load generator that wrote the result"),
    _text("tool_version", "version of the load generator"),
    _text("engine", "inference engine that was measured"),
    _text("engine_version", "version of the engine"),
    _text("date", "start or end of the run as the tool states it, ISO 8601, zone unknown"),
    _text("model", "model, by its hub name", "Model"),
    _text("weight_dtype", "number format of the weights"),
    _text("gpu", "canonical name of the card", "GPU"),
    _count("n_gpus", "cards of the configuration", "GPUs", low=1),
    _count("tensor_parallel", "cards that share each layer", low=1),
    _count("pipeline_parallel", "groups of layers on cards of their own", low=1),
    _count("replicas", "independent copies of the server behind one address", low=1),
    _text("dataset", "where the prompts come from"),
    _text("arrival", "arrival process: poisson, gamma, burst (all at once) or closed"),
    Column(
        "request_rate_per_s",
        "number",
        "1/s",
        "Offered load",
        "requests sent per second; inf where all are sent at once or concurrency is the limit",
        0,
        infinite=True,
    ),
    _number("burstiness", "1", "Burstiness", "shape of the gamma-distributed gaps; 1 is Poisson"),
    _count("max_concurrency", "most requests in flight that the client allowed", low=1),
    _count("n_requests", "requests sent", "Requests"),
    _count("prompt_seed", "seed that chose prompts and gaps"),
    _count("completed", "requests answered in full", "Completed requests"),
    _count("failed", "requests that were not answered in full", "Failed requests"),
    _number("duration_s", "s", "Duration", "first request sent to last answer received"),
    _count("total_in_tok", "input tokens of the completed requests", "Input tokens"),
    _count("total_out_tok", "output tokens of the completed requests", "Output tokens"),
    _number("mean_in_tok", "tok", "Mean input length", "input tokens per completed request"),
    _number("mean_out_tok", "tok", "Mean output length", "output tokens per completed request"),
    _number("req_per_s", "1/s", "Achieved load", "completed requests per second of duration"),
    _number("goodput_per_s", "1/s", "Goodput", "requests per second within the tool's own limits"),
    _number("out_tok_per_s", "tok/s", "Output throughput", "output tokens / duration"),
    _number("all_tok_per_s", "tok/s", "Throughput", "input and output tokens / duration"),
    _number(
        "mean_concurrency",
        "1",
        "Mean concurrency",
        "requests in flight: req/s × E2E, with E2E = TTFT + (n − 1)·TPOT where it is not given",
    ),
    *_latency_columns(),
    _number("gpu_energy_j", "J", "Board energy", "energy of all boards during the run"),
    _number("gpu_power_w", "W", "Board power", "mean power of all boards during the run"),
    _text("energy_method", "how the energy was had: counter, integrated, wall or modelled"),
    _count("kv_tokens", "tokens that the key-value cache holds", "KV cache"),
    _text("prefix_state", "prefix cache at the start of the run: cold, warm or unknown"),
    _number("cached_frac", "1", "Cached share", "share of input tokens served from cache", high=1),
    _count("repeat", "1 for the first run of a configuration and load, 2 for the second …", low=1),
    _text("phase", "warmup or measure"),
    _text("warnings", "what the reader noticed, parted by '; '"),
)


def _evaluated_columns() -> list[Column]:
    columns = [
        _text("reading", "how throughput was had: as_measured takes the run as it is"),
        _text("cost_basis", "as loaded (the bill at this load) or at capacity"),
        _text("acquisition", "how the hardware is had: rent, spot, own or idle"),
        _number("usd_per_gpu_h", "USD/h", "Price per GPU", "price of one card"),
        _text(
            "price_basis", "class and date of the price; of owned cards also the rate, electricity"
        ),
        _number("usd_per_h", "USD/h", "Price", "price of the configuration, of an hour in use"),
        _number("gpu_usd_per_h", "USD/h", "Cost of cards", "share of the cards in the price"),
        _number("host_usd_per_h", "USD/h", "Cost of hosts", "share of the hosts and their space"),
        _number("power_usd_per_h", "USD/h", "Cost of power", "share of electricity in the price"),
        _number("machines_per_replica", "1", "Machines", "offered machines that keep one up"),
        _text("licence_note", "what a card's licence says of its use in a datacentre"),
        _text("cost_note", "why a cost is missing"),
        _number("power_covered_frac", "1", "Covered share", "of the run, by a power log", high=1),
        _text("power_note", "why a power log gave a run no energy"),
        _text("power_model", "rung of the power ladder that was asked for"),
        _text("power_quality", "rung that was used, and the quality of its figure"),
        _text("energy_boundary", "what is counted as IT equipment: the boards alone, or servers"),
        _text("site", "kind of site that houses the cards"),
        _text("idle_baseline", "what would be without the service: off, idle or in_use"),
        _text("idle_basis", "idle power that was taken: weights loaded or bare, and its quality"),
        _number("load_frac", "1", "Loaded share", "share of assigned hours under load", high=1),
        _number("gpu_w_load", "W", "Board power", "power of all boards under load"),
        _number("gpu_w_load_lo", "W", "Board power", "lower bound of the power of all boards"),
        _number("gpu_w_load_hi", "W", "Board power", "upper bound of the power of all boards"),
        _number("site_w_load", "W", "Site power", "site power of the configuration under load"),
        _number("site_w_idle", "W", "Idle power", "site power of the configuration idle"),
        _number("site_kw", "kW", "Site power", "site power of the configuration under load"),
        _number("all_mtok_per_h", "Mtok/h", "Throughput", "Mtok, input and output, an hour"),
        _number("all_mtok_per_kwh", "Mtok/kWh", "Yield", "million input and output tokens per kWh"),
        _text("energy_note", "why an energy is missing"),
        _number("gco2e_per_kwh", "gCO2e/kWh", "Grid intensity", "emissions of the electricity"),
        _text("grid_method", "emissions of power plants that are counted: lifecycle or direct"),
        _text("grid_basis", "zone, year and method of the intensity, or 'scenario'; losses"),
        _text("perspective", "attributional or consequential"),
        _text("emb_method", "where embodied carbon comes from, and in place of what"),
        _text("emb_boundary", "gate, end_of_life or host: how far embodied carbon is counted"),
        _number("emb_kgco2e", "kgCO2e", "Embodied carbon", "of the configuration, all of it"),
        _number("emb_share_frac", "1", "Charged share", "of the embodied carbon", high=1),
        _number("emb_gco2e_per_h", "gCO2e/h", "Embodied emissions", "of an hour under load"),
        _text("carbon_note", "why a figure of emissions is missing"),
        *(
            _number(f"sci_gco2e_per_{unit}", f"gCO2e per {name}", "SCI", f"SCI per {name}")
            for unit, name in SCI_UNITS.items()
        ),
        _text("sci_note", "why the Software Carbon Intensity is missing"),
        _text("slo", "latency limits that the row was tested against"),
        Column("meets_slo", "flag", "", "SLO kept", "whether every limit of the SLO is kept"),
        _text("slo_note", "which limit is broken, or why that is not known"),
    ]
    for basis, tokens in TOKEN_BASES.items():
        columns.append(
            _number(
                f"usd_per_mtok_{basis}",
                f"USD per million {tokens}",
                "Cost",
                f"cost of a million {tokens}",
            )
        )
        columns += [
            _number(
                f"{boundary}_j_per_tok_{basis}",
                f"J per token, {tokens}",
                f"Energy of {where}",
                f"energy of {where} per token, {tokens} counted",
            )
            for boundary, where in ENERGY_BOUNDARIES.items()
        ]
        columns += [
            _number(
                f"{stage}gco2e_per_mtok_{basis}",
                f"gCO2e per million {tokens}",
                f"{name.capitalize()} emissions",
                f"{name} emissions of a million {tokens}",
            )
            for stage, name in (CARBON_STAGES | MARKET).items()
        ]
    return columns


COLUMNS: dict[str, Column] = {
    column.name: column for column in (*RUN_COLUMNS, *_evaluated_columns())
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

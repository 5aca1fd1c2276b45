"""What the published claims speak of, recomputed from the runs behind the study's Table 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
import pandas as pd

from hetcost import reference
from hetcost.formulas.carbon import op_gco2e_per_mtok
from hetcost.impacts import evaluate
from hetcost.published import at_equal_load, published_table3, table2_runs
from hetcost.scenario import Scenario

_H100, _RTX = "H100 PCIe 80GB", "RTX 4090"
_COST = "usd_per_mtok_all"
_NODES = 4  # of the scale-out claim


class Finding(NamedTuple):
    """A recomputed range, the runs it comes from, and what a reader should know."""

    low: float
    high: float
    rows: pd.Index
    why: str


class Published:
    """The runs behind the study's Table 2, evaluated under the study's own assumptions."""

    def __init__(self) -> None:
        self.scenario = Scenario.paper()
        self.runs = evaluate(table2_runs(), self.scenario).set_index("run_id")

    def of(self, gpu: str, n_gpus: int, rate: float | None = None) -> pd.DataFrame:
        """Return the runs of a configuration, by offered load or all of them."""
        rows = self.runs[(self.runs["gpu"] == gpu) & (self.runs["n_gpus"] == n_gpus)]
        rows = rows if rate is None else rows[rows["request_rate_per_s"] == rate]
        return rows.sort_values("request_rate_per_s")

    def ratio(self, column: str, n_gpus: int) -> tuple[pd.Series, pd.Index]:
        """Return RTX 4090 over H100 at equal offered load, by load, and the runs used."""
        both = at_equal_load(self.runs, column, (_RTX, n_gpus), (_H100, 1))
        rows = self.of(_RTX, n_gpus).index.append(self.of(_H100, 1).index)
        return both.set_index("request_rate_per_s")["ratio"], rows


def _throughput_of_four_cards(study: Published) -> Finding:
    ratio, rows = study.ratio("all_tok_per_s", 4)
    why = f"4x RTX 4090 over one H100, by offered load: {_by_load(ratio)}"
    return Finding(ratio.min(), ratio.max(), rows, why)


def _hourly_cost_of_four_cards(study: Published) -> Finding:
    ratio, rows = study.ratio("usd_per_h", 4)
    return Finding(ratio.min(), ratio.max(), rows, "rent of the cards alone, by the hour")


def _cost_of_four_cards(study: Published) -> Finding:
    four = study.of(_RTX, 4)
    best = study.runs.nsmallest(1, _COST).iloc[0]
    why = (
        f"the cheapest 14B run is {best['n_gpus']}x {best['gpu']} at "
        f"{best['request_rate_per_s']:g} QPS, {best[_COST]:.3f}; 4 cards: {_by_load(_costs(four))}"
    )
    return Finding(four[_COST].min(), four[_COST].max(), four.index, why)


def _saving_of_clusters(study: Published) -> Finding:
    ratios = {n: study.ratio(_COST, n) for n in (2, 4, 8)}
    savings = pd.concat({n: 1 - ratio for n, (ratio, _) in ratios.items()})
    n_gpus, rate = savings.idxmax()
    rows = study.of(_RTX, n_gpus, rate).index.append(study.of(_H100, 1, rate).index)
    why = (
        f"the largest saving of 2, 4 or 8 cards is at {rate:g} QPS with {n_gpus}; "
        f"2 cards: {_by_load(1 - ratios[2][0])}"
    )
    return Finding(savings.min(), savings.max(), rows, why)


def _h100_p99_ttft(study: Published) -> Finding:
    h100 = study.of(_H100, 1)
    ttft = h100.set_index("request_rate_per_s")["p99_ttft_ms"]
    why = f"P99 TTFT by offered load: {_by_load(ttft)}"
    return Finding(ttft.min(), ttft.max(), h100.index, why)


def _cluster_p99_ttft(study: Published) -> Finding:
    clusters = study.runs[study.runs["gpu"] == _RTX]
    ttft = clusters["p99_ttft_ms"]
    best = clusters.loc[ttft.groupby(clusters["n_gpus"]).idxmin(), ["n_gpus", "p99_ttft_ms"]]
    lowest = ", ".join(f"{ms:.0f} ms with {n}" for n, ms in best.itertuples(index=False))
    why = f"P99 TTFT of 2, 4 and 8 cards; the lowest of each: {lowest}"
    return Finding(ttft.min(), ttft.max(), clusters.index, why)


def _rows_13_and_6(study: Published) -> tuple[pd.DataFrame, pd.DataFrame]:
    return study.of(_H100, 1, 16), study.of(_RTX, 2, 4)


def _energy_ratio(study: Published) -> Finding:
    h100, pair = _rows_13_and_6(study)
    ratio = pair["gpu_j_per_tok_all"].item() / h100["gpu_j_per_tok_all"].item()
    assumed = study.scenario.tdp_w[_H100]
    own = float(reference.gpus()["tdp_w"][_H100])
    why = (
        f"at {assumed:g} W for the H100 PCIe; the board's own limit is {own:g} W, "
        f"which makes it {ratio * assumed / own:.2f}; loads are unequal (16 and 4 QPS)"
    )
    return Finding(ratio, ratio, h100.index.append(pair.index), why)


def _carbon_per_mtok(study: Published) -> Finding:
    h100, pair = _rows_13_and_6(study)
    low, high = (rows["op_gco2e_per_mtok_all"].item() for rows in (h100, pair))
    printed = published_table3().set_index("gpu")
    why = (
        f"{low:.2f} and {high:.2f}; the printed {printed['op_gco2e_per_mtok_all'][_H100]:g} comes "
        f"from rounding to {printed['all_mtok_per_h'][_H100]:g} Mtok/h first"
    )
    return Finding(low, high, h100.index.append(pair.index), why)


def _edge_on_cleanest_grid(study: Published) -> Finding:
    h100, pair = _rows_13_and_6(study)
    grids = reference.grids()
    grids = grids[(grids["year"] == study.scenario.grid_year) & grids["quality"].isin(["A", "B"])]
    cleanest = grids.nsmallest(1, "gco2e_per_kwh").iloc[0]
    site_j = [rows["site_j_per_tok_all"].item() for rows in (h100, pair)]
    intensities = float(cleanest["gco2e_per_kwh"]), h100["gco2e_per_kwh"].item()
    clean, usual = (
        [cast("float", op_gco2e_per_mtok(joules, intensity)) for joules in site_j]
        for intensity in intensities
    )
    share = (clean[1] / clean[0]) / (usual[1] / usual[0])
    why = (
        f"the ratio is the same on every grid; in grams the gap shrinks from "
        f"{usual[1] - usual[0]:.1f} to {clean[1] - clean[0]:.1f} per Mtok ({cleanest['name']} "
        f"{cleanest['year']}: {cleanest['gco2e_per_kwh']:g} g/kWh); "
        "idle hardware is not in this reading"
    )
    return Finding(share, share, h100.index.append(pair.index), why)


def _throughput_advantage(study: Published) -> Finding:
    ratios = {n: 1 / study.ratio("all_tok_per_s", n)[0] for n in (2, 4, 8)}
    pooled = pd.concat(ratios)
    why = f"one H100 over 4 cards, by offered load: {_by_load(ratios[4])}"
    return Finding(pooled.min(), pooled.max(), study.runs.index, why)


def _throughput_per_dollar(study: Published) -> Finding:
    ratio, rows = study.ratio(_COST, 2)
    why = f"2x RTX 4090 over one H100, by offered load: {_by_load(1 / ratio)}"
    return Finding((1 / ratio).min(), (1 / ratio).max(), rows, why)


def _h100_plateau(study: Published) -> Finding:
    h100 = study.of(_H100, 1)
    achieved = h100.set_index("request_rate_per_s")["req_per_s"]
    plateau = achieved[achieved.index >= 16]
    why = f"achieved by offered load: {_by_load(achieved)}; 200 prompts are a burst that drains"
    return Finding(plateau.min(), plateau.max(), h100.index, why)


def _pair_plateau(study: Published) -> Finding:
    pair = study.of(_RTX, 2)
    achieved = pair.set_index("request_rate_per_s")["req_per_s"]
    return Finding(
        achieved[4.0],
        achieved[achieved.index >= 16].max(),
        pair.index,
        f"achieved by offered load: {_by_load(achieved)}",
    )


def _four_pairs_over_h100(study: Published) -> Finding:
    h100, pair = _rows_13_and_6(study)
    total = _NODES * pair["req_per_s"].item()
    share = total / h100["req_per_s"].item()
    why = (
        f"four times the 4 QPS run is {total:.1f} requests/s at {pair[_COST].item():.3f} USD/Mtok, "
        "as stated, but not measured; over the H100's measured "
        f"{h100['req_per_s'].item():.2f} it is {share:.2f}"
    )
    return Finding(share, share, h100.index.append(pair.index), why)


def _gain_from_two_to_four(study: Published) -> Finding:
    both = at_equal_load(study.runs, "all_tok_per_s", (_RTX, 4), (_RTX, 2))
    gain = both.set_index("request_rate_per_s")["ratio"]
    rows = study.of(_RTX, 2).index.append(study.of(_RTX, 4).index)
    return Finding(
        gain.min(), gain.max(), rows, f"4 over 2 cards, by offered load: {_by_load(gain)}"
    )


def _pair_cost_at_32(study: Published) -> Finding:
    pair, four = study.of(_RTX, 2, 32), study.of(_RTX, 4, 32)
    why = f"{four[_COST].item():.3f} is the cost of 4 cards at that load"
    return Finding(pair[_COST].item(), pair[_COST].item(), pair.index, why)


def _alternative_price(study: Published) -> Finding:
    sxm, as_of = "H100 SXM 80GB", study.scenario.price_as_of
    usd = [reference.price_fact(sxm, kind, as_of) for kind in ("alternative", "hyperscaler")]
    values = [np.nan if fact is None else fact["value"] for fact in usd]
    why = (
        f"{sxm}: {values[0]:g} over {values[1]:g} USD/h; of the PCIe card only an estimate is given"
    )
    return Finding(values[0] / values[1], values[0] / values[1], pd.Index([]), why)


QUANTITIES: dict[str, Callable[[Published], Finding]] = {
    function.__name__.removeprefix("_"): function
    for function in (
        _throughput_of_four_cards,
        _hourly_cost_of_four_cards,
        _cost_of_four_cards,
        _saving_of_clusters,
        _h100_p99_ttft,
        _cluster_p99_ttft,
        _energy_ratio,
        _carbon_per_mtok,
        _edge_on_cleanest_grid,
        _throughput_advantage,
        _throughput_per_dollar,
        _h100_plateau,
        _pair_plateau,
        _four_pairs_over_h100,
        _gain_from_two_to_four,
        _pair_cost_at_32,
        _alternative_price,
    )
}


def _costs(rows: pd.DataFrame) -> pd.Series:
    return rows.set_index("request_rate_per_s")[_COST]


def _by_load(values: pd.Series) -> str:
    return ", ".join(f"{value:.3g} at {rate:g}" for rate, value in values.items()) + " QPS"

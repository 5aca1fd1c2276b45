"""The printed tables of the published study, and the same figures from its result files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from hetcost import reference
from hetcost.columns import TOKEN_BASES, one_accounting, require
from hetcost.formulas.cost import mtok_per_h, usd_per_run
from hetcost.formulas.energy import mtok_per_kwh
from hetcost.impacts import evaluate
from hetcost.resources import data_dir
from hetcost.runs import load_runs
from hetcost.scenario import Scenario
from hetcost.units import WATTS_PER_KW

STUDY = "ionet-2025"
_MODEL = "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B"
_PAIR_ROW, _H100_ROW = 6, 13


def published_table2() -> pd.DataFrame:
    """Return the study's Table 2 as printed, in the run columns.

    Returns
    -------
    Twenty rows: ``row gpu n_gpus request_rate_per_s repeat`` (which of two runs was printed),
    then the figures of the table, rounded as the study rounds them.
    """
    return pd.read_csv(_table2_path())


def table2_runs() -> pd.DataFrame:
    """Return the twenty runs behind the study's Table 2, in its order, with its ``row``."""
    key = ["gpu", "n_gpus", "request_rate_per_s", "repeat"]
    runs = load_runs(STUDY)
    runs = runs[runs["model"] == _MODEL]
    rows = published_table2()[["row", *key]]
    return rows.merge(runs, on=key, how="left", validate="one_to_one")


def compare_table2() -> pd.DataFrame:
    """Set the study's Table 2 beside the same figures from its runs, rounded as it rounds.

    Returns
    -------
    One row per cell: ``row gpu n_gpus request_rate_per_s quantity published recomputed
    agrees``.
    """
    runs = evaluate(table2_runs(), Scenario.paper())
    runs["usd_per_run"] = usd_per_run(runs["usd_per_h"], runs["duration_s"])
    key = ["row", "gpu", "n_gpus", "request_rate_per_s"]
    printed = pd.read_csv(_table2_path(), dtype="str").drop(columns=["repeat"])
    text = printed.melt("row", [c for c in printed if c not in key], "quantity", "text")
    ours = runs.melt("row", text["quantity"].unique().tolist(), "quantity", "exact")
    cells = text.astype({"row": "int64"}).merge(ours, on=["row", "quantity"], validate="one_to_one")
    cells = runs[key].merge(cells, on="row", validate="one_to_many")
    decimals = cells["text"].str.partition(".")[2].str.len()
    rounded = [f"{x:.{d}f}" for x, d in zip(cells["exact"], decimals, strict=True)]
    return cells[[*key, "quantity"]].assign(
        published=cells["text"].astype("float64"),
        recomputed=pd.Series(rounded, index=cells.index).astype("float64"),
        agrees=cells["text"] == rounded,
    )


def published_table3() -> pd.DataFrame:
    """Return the study's Table 3 as printed: energy and emissions of its rows 13 and 6.

    Returns
    -------
    ``row gpu n_gpus all_tok_per_s all_mtok_per_h site_kw all_mtok_per_kwh
    op_gco2e_per_mtok_all``.
    """
    return pd.read_csv(data_dir() / "published" / f"{STUDY}-table3.csv")


def table3(scenario: Scenario) -> pd.DataFrame:
    """Recompute the study's Table 3 under a scenario.

    Returns
    -------
    The columns of :func:`published_table3`, from the runs. [tok/s, Mtok/h, kW, Mtok/kWh,
    gCO2e/Mtok; input and output tokens]
    """
    printed = published_table3()
    runs = table2_runs().pipe(evaluate, scenario).set_index("row").loc[printed["row"]]
    return runs.reset_index().assign(
        all_mtok_per_h=lambda rows: mtok_per_h(rows["all_tok_per_s"]),
        site_kw=lambda rows: rows["site_w_load"] / WATTS_PER_KW,
        all_mtok_per_kwh=lambda rows: mtok_per_kwh(rows["site_j_per_tok_all"]),
    )[list(printed.columns)]


def at_equal_load(
    frame: pd.DataFrame, column: str, over: tuple[str, int], under: tuple[str, int]
) -> pd.DataFrame:
    """Compare two configurations of one model at every offered load that both were measured at.

    Parameters
    ----------
    frame : Evaluated runs of one model; repeats of a load are averaged.
    column : What to compare.
    over, under : Card and number of cards of the two.

    Returns
    -------
    One row per load: ``request_rate_per_s over under ratio``, the latter ``over / under``; where
    the frame went through :func:`hetcost.meets_slo`, also ``over_keeps under_keeps``: whether all
    runs of that load are known to keep the SLO.
    """
    require(frame, ["gpu", "n_gpus", "request_rate_per_s", column], "at_equal_load")
    one_accounting(frame, "at_equal_load")
    sides = {}
    for side, (gpu, n_gpus) in {"over": over, "under": under}.items():
        rows = frame[(frame["gpu"] == gpu) & (frame["n_gpus"] == n_gpus)]
        sides[side] = rows.groupby("request_rate_per_s")[column].mean()
        if "meets_slo" in rows:
            known = rows.assign(meets_slo=rows["meets_slo"].fillna(False).astype(bool))
            sides[f"{side}_keeps"] = known.groupby("request_rate_per_s")["meets_slo"].all()
    both = pd.DataFrame(sides).dropna().infer_objects().reset_index()
    both["ratio"] = both["over"] / both["under"]
    kept = [name for name in ("over_keeps", "under_keeps") if name in both]
    return both[["request_rate_per_s", "over", "under", "ratio", *kept]]


def boards_own_power() -> Scenario:
    """Return the study's assumptions with every board's own power limit instead of the study's."""
    return Scenario.paper().but(tdp_w={})


def headlines() -> list[str]:
    """Return the study's headline numbers for its rows 6 and 13, each with its other reading.

    Returns
    -------
    Three sentences: cost on both token bases, the energy ratio at the study's and at the
    board's own power, emissions at the study's grid.
    """
    paper, own = (
        table2_runs().pipe(evaluate, scenario).set_index("row")
        for scenario in (Scenario.paper(), boards_own_power())
    )
    pair, h100 = paper.loc[_PAIR_ROW], paper.loc[_H100_ROW]
    card = str(h100["gpu"])
    watts, own_watts = reference.study_tdp_w()[card], reference.gpus()["tdp_w"][card]
    energy = "gpu_j_per_tok_all"
    ratios = [frame[energy][_PAIR_ROW] / frame[energy][_H100_ROW] for frame in (paper, own)]
    rows = " and ".join(
        f"{run['n_gpus']}x {run['gpu']} at {run['request_rate_per_s']:g} QPS"
        for run in (pair, h100)
    )
    costs = [
        f"{pair[f'usd_per_mtok_{basis}']:.4f} and {h100[f'usd_per_mtok_{basis}']:.4f} USD "
        f"per million {tokens}"
        for basis, tokens in TOKEN_BASES.items()
    ]
    grams = [run["op_gco2e_per_mtok_all"] for run in (pair, h100)]
    return [
        f"Cost of the study's rows {_PAIR_ROW} and {_H100_ROW} ({rows}): {'; '.join(costs)}.",
        f"Energy per token of row {_PAIR_ROW} over row {_H100_ROW}, nameplate: {ratios[0]:.2f} at "
        f"the study's {watts:g} W for the {card}, {ratios[1]:.2f} at the board's own "
        f"{own_watts:g} W.",
        f"Emissions at {h100['gco2e_per_kwh']:g} g/kWh and the study's watts: row {_PAIR_ROW} "
        f"{grams[0]:.2f}, row {_H100_ROW} {grams[1]:.2f} gCO2e per million {TOKEN_BASES['all']}.",
    ]


def _table2_path() -> Path:
    return data_dir() / "published" / f"{STUDY}-table2.csv"

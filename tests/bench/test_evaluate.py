import tracemalloc

import numpy as np
import pandas as pd
import pytest

import hetcost as hc
from hetcost import reference
from hetcost.impacts import embodied, lookups, power

ROWS = 1_000_000
GROUP, AIM = "evaluate 1,000,000 runs", "≤ 2"
BY_HAND = "numpy by hand: same look-up, same output frame"
CARDS = ["H100 PCIe 80GB", "RTX 4090", "H100 SXM 80GB"]
SCENARIO = hc.Scenario()


@pytest.fixture(scope="module")
def runs():
    random = np.random.default_rng(0)
    out = random.uniform(100, 5000, ROWS)
    return pd.DataFrame(
        {
            "model": "m",
            "gpu": random.choice(CARDS, ROWS),
            "n_gpus": pd.array(random.choice([1, 2, 4, 8], ROWS), dtype="Int64"),
            "request_rate_per_s": random.choice([1.0, 4.0, 16.0], ROWS),
            "mean_concurrency": random.uniform(1, 300, ROWS),
            "duration_s": random.uniform(20, 200, ROWS),
            "completed": pd.array(random.integers(100, 1000, ROWS), dtype="Int64"),
            "out_tok_per_s": out,
            "all_tok_per_s": out * 2,
        }
    )


def _looked_up(names):
    """What every way of computing needs of a card: once, outside of the arithmetic."""
    site = {"RTX 4090": "home"}

    def of_site(quantity, year=None):
        return [
            reference.site_fact(site.get(g, "datacentre"), quantity, year)["value"] for g in names
        ]

    return {
        "price": [reference.price_fact(g, "alternative", "2025-05")["value"] for g in names],
        "limit": [lookups.tdp(g, SCENARIO).value for g in names],
        "curve": [power.curve(g, SCENARIO) for g in names],
        "idle": [reference.idle_fact(g, bare=False)["value"] for g in names],
        "host": of_site("host_w_load_per_gpu"),
        "host_idle": of_site("host_w_idle_per_gpu"),
        "psu": of_site("psu_efficiency_frac"),
        "pue": of_site("pue", 2023),
        "life": of_site("life_yr"),
        "host_kg": of_site("host_kgco2e_per_gpu"),
        "card_kg": [embodied.card_kgco2e(g, SCENARIO).value for g in names],
    }


def by_hand(runs):
    codes, names = pd.factorize(runs["gpu"])
    known = _looked_up(names)
    of = {name: np.array(v)[codes] for name, v in known.items() if name != "curve"}
    n = runs["n_gpus"].to_numpy(dtype=float)
    usd, total = of["price"] * n, len(runs)
    load = np.log2(runs["mean_concurrency"].to_numpy())
    boards = np.empty((3, total))
    for code, curve in enumerate(known["curve"]):
        rows = codes == code
        at = np.log2(curve.at_concurrency)
        points = (curve.value, curve.low, curve.high)
        for side, watts in enumerate(points):
            boards[side, rows] = np.interp(load[rows], at, watts)
        if curve.wide:
            limit = known["limit"][code]
            boards[1, rows] = np.minimum(boards[0, rows], curve.wide[0] * limit)
            boards[2, rows] = np.maximum(boards[0, rows], curve.wide[1] * limit)
    gpu, low, high = np.minimum(boards, of["limit"]) * n
    it = (gpu + of["host"] * n) / of["psu"]
    site = it * of["pue"]
    idle = (of["idle"] + of["host_idle"]) * n / of["psu"] * of["pue"]
    kg = (of["card_kg"] + of["host_kg"]) * n
    per_h = kg * 1000 / (8760 * of["life"])

    def text(*by_card):
        words = np.array(by_card * (len(names) if len(by_card) == 1 else 1), dtype="str")
        return pd.array(words, dtype="str").take(codes)

    columns = {
        "reading": pd.Series("as_measured", index=runs.index, dtype="str"),
        "usd_per_gpu_h": of["price"],
        "price_basis": text("alternative, 2025-05"),
        "usd_per_h": usd,
        "power_quality": text(*(curve.basis for curve in known["curve"])),
        "site": text("datacentre"),
        "load_frac": np.ones(total),
        "gpu_w_load": gpu,
        "gpu_w_load_lo": low,
        "gpu_w_load_hi": high,
        "site_w_load": site,
        "site_w_idle": idle,
        "gco2e_per_kwh": np.full(total, 258.0),
        "emb_method": text("inventory, with transport and end of life, quality A"),
        "emb_kgco2e": kg,
        "emb_share_frac": np.ones(total),
        "emb_gco2e_per_h": per_h,
    }
    for name in (
        "cost_basis",
        "acquisition",
        "licence_note",
        "idle_basis",
        "cost_note",
        "energy_note",
        "carbon_note",
        "power_model",
        "energy_boundary",
    ):
        columns[name] = pd.Series("", index=runs.index, dtype="str")
    for name in ("idle_baseline", "perspective", "grid_method", "grid_basis", "emb_boundary"):
        columns[name] = pd.Series("", index=runs.index, dtype="str")
    for basis in ("out", "all"):
        rate = runs[f"{basis}_tok_per_s"].to_numpy()
        columns[f"usd_per_mtok_{basis}"] = usd / (3600 * rate) * 1e6
        for boundary, watts in (("gpu", gpu), ("it", it), ("site", site)):
            columns[f"{boundary}_j_per_tok_{basis}"] = watts / rate
        operational = site / rate * 1e6 / 3.6e6 * 258.0
        emb = per_h / (3600 * rate) * 1e6
        columns[f"op_gco2e_per_mtok_{basis}"] = operational
        columns[f"emb_gco2e_per_mtok_{basis}"] = emb
        columns[f"gco2e_per_mtok_{basis}"] = operational + emb
    return runs.assign(**columns)


def test_both_do_the_same(runs):
    few = runs.head(1000)
    ours, theirs = hc.evaluate(few, SCENARIO), by_hand(few)
    assert set(ours.columns) == set(theirs.columns)
    for name in ("site_j_per_tok_out", "emb_gco2e_per_mtok_all", "site_w_idle", "gpu_w_load_hi"):
        np.testing.assert_allclose(ours[name], theirs[name])


def test_baseline(case, runs):
    case(GROUP, AIM, lambda: by_hand(runs), baseline=BY_HAND)


def test_ours(case, runs):
    case(GROUP, AIM, lambda: hc.evaluate(runs, SCENARIO))


def _peak(call):
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


MEMORY, MEMORY_AIM = "evaluate 1,000,000 runs: peak memory", "≤ 3"


def test_memory_baseline(case, runs, benchmark):
    benchmark.extra_info["value"] = int(runs.memory_usage(deep=True).sum())
    case(MEMORY, MEMORY_AIM, lambda: None, baseline="the input frame", rounds=1)


def test_memory_ours(case, runs, benchmark):
    benchmark.extra_info["value"] = _peak(lambda: hc.evaluate(runs, SCENARIO))
    case(MEMORY, MEMORY_AIM, lambda: None, rounds=1)

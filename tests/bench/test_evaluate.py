import tracemalloc

import numpy as np
import pandas as pd
import pytest

import hetcost as hc
from hetcost import reference

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
            "duration_s": random.uniform(20, 200, ROWS),
            "completed": pd.array(random.integers(100, 1000, ROWS), dtype="Int64"),
            "out_tok_per_s": out,
            "all_tok_per_s": out * 2,
        }
    )


def by_hand(runs):
    codes, names = pd.factorize(runs["gpu"])
    price = np.array([reference.price_fact(g, "alternative", "2025-05")["value"] for g in names])
    watts = np.array([reference.gpu_fact(g, "tdp_w")["value"] for g in names])
    n = runs["n_gpus"].to_numpy(dtype=float)
    usd, site = price[codes], watts[codes] * n
    text = {name: pd.Series([""] * len(runs), dtype="str") for name in ("cost", "energy", "carbon")}
    bases = np.array(["alternative, 2025-05"] * len(names), dtype=object)
    quality = np.array(["nameplate, quality A"] * len(names), dtype=object)
    columns = {
        "reading": pd.Series(["as_measured"] * len(runs), dtype="str"),
        "usd_per_gpu_h": usd,
        "price_basis": pd.Series(bases[codes], dtype="str"),
        "usd_per_h": usd * n,
        "cost_note": text["cost"],
        "power_model": pd.Series(["nameplate"] * len(runs), dtype="str"),
        "power_quality": pd.Series(quality[codes], dtype="str"),
        "energy_boundary": pd.Series(["boards"] * len(runs), dtype="str"),
        "site_w_load": site,
        "energy_note": text["energy"],
        "gco2e_per_kwh": np.full(len(runs), 242.0),
        "grid_basis": pd.Series(["EU27 2023"] * len(runs), dtype="str"),
        "carbon_note": text["carbon"],
    }
    for basis in ("out", "all"):
        rate = runs[f"{basis}_tok_per_s"].to_numpy()
        joules = site / rate
        columns[f"usd_per_mtok_{basis}"] = usd * n / (3600 * rate) * 1e6
        columns |= {f"{b}_j_per_tok_{basis}": joules.copy() for b in ("gpu", "it", "site")}
        columns[f"op_gco2e_per_mtok_{basis}"] = joules * 1e6 / 3.6e6 * 242
        columns[f"emb_gco2e_per_mtok_{basis}"] = np.full(len(runs), np.nan)
        columns[f"gco2e_per_mtok_{basis}"] = np.full(len(runs), np.nan)
    return runs.assign(**columns)


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

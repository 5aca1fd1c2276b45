import numpy as np
import pytest
from peak import peak_bytes
from scipy.stats import qmc

import hetcost as hc

DRAWS = 2**17
GROUP, AIM = "monte_carlo: 131,072 draws × 130 runs", "≤ 1.5"
BY_HAND = "bare numpy: the same points and arithmetic"
ON = "gco2e_per_mtok_out"
RANGES = {
    "pue": hc.Range(1.0, 1.2, 1.6),
    "gco2e_per_kwh": hc.Range(50, 250, 700),
    "life_yr": hc.Range(2, 4, 7),
    "load_frac": hc.Range(0.3, 0.6, 0.9),
    "host_kgco2e_per_gpu": hc.Range(100, 300, 700),
}
SCENARIO = hc.Scenario(**RANGES)


@pytest.fixture(scope="module")
def runs():
    return hc.load_runs("ionet-2025")


@pytest.fixture(scope="module")
def known(runs):
    out = hc.evaluate(runs, SCENARIO)
    n = out["n_gpus"].astype(float)
    return {
        "rate": out["out_tok_per_s"].to_numpy()[:, None],
        "load_w": (out["site_w_load"] / 1.2).to_numpy()[:, None],  # of servers
        "idle_w": (out["site_w_idle"] / 1.2).to_numpy()[:, None],
        "card_kg": (out["emb_kgco2e"] / n - 300).to_numpy()[:, None],
        "n": n.to_numpy()[:, None],
    }


def triangular(u, low, mode, high):
    corner = (mode - low) / (high - low)
    rising = low + np.sqrt(u * (high - low) * (mode - low))
    falling = high - np.sqrt((1 - u) * (high - low) * (high - mode))
    return np.where(u < corner, rising, falling)


def by_hand(known, rows):
    seeds = np.random.SeedSequence(0).spawn(8)
    engines = [qmc.Sobol(len(RANGES), rng=np.random.default_rng(seed)) for seed in seeds]
    points = np.concatenate([engine.random(DRAWS // 8) for engine in engines])
    names = [name for name in hc.Scenario.model_fields if name in RANGES]
    values = np.empty((rows, DRAWS))
    width = 2**17 // rows
    for start in range(0, DRAWS, width):
        part = slice(start, min(start + width, DRAWS))
        drawn = {
            name: triangular(points[part, i], *RANGES[name])[None] for i, name in enumerate(names)
        }
        u, pue = drawn["load_frac"], drawn["pue"]
        watts = known["load_w"] * pue + known["idle_w"] * pue * ((1 - u) / u)
        op = watts / known["rate"] * (1e6 / 3.6e6 * drawn["gco2e_per_kwh"])
        kg = (known["card_kg"] + drawn["host_kgco2e_per_gpu"]) * known["n"]
        per_h = kg * (1000 / (8760 * drawn["life_yr"] * u))
        values[:, part] = op + per_h * (1e6 / (3600 * known["rate"]))
    return values


def test_both_do_the_same(runs, known):
    ours = hc.monte_carlo(runs, SCENARIO, on=ON, n=DRAWS, facts=False).values[ON]
    theirs = by_hand(known, len(runs))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_baseline(case, runs, known):
    case(GROUP, AIM, lambda: by_hand(known, len(runs)), baseline=BY_HAND, rounds=3)


def test_ours(case, runs):
    case(
        GROUP,
        AIM,
        lambda: hc.monte_carlo(runs, SCENARIO, on=ON, n=DRAWS, facts=False),
        rounds=3,
    )


MEMORY_RUN = f"import hetcost as hc; hc.monte_carlo(hc.load_runs('ionet-2025'), n={DRAWS})"
MEMORY, MEMORY_AIM = "monte_carlo, two results, all facts: peak memory of the process", "≤ 1"


def test_memory_baseline(case, benchmark):
    benchmark.extra_info["value"] = 2**30
    case(MEMORY, MEMORY_AIM, lambda: None, baseline="1 GiB", rounds=1)


def test_memory_ours(case, benchmark):
    benchmark.extra_info["value"] = peak_bytes(MEMORY_RUN)
    case(MEMORY, MEMORY_AIM, lambda: None, rounds=1)


MAP, MAP_AIM = "breakeven_map 200 × 200", "≤ 1"
PAIR, ONE = "gpu == 'RTX 4090' and n_gpus == 2", "gpu == 'H100 PCIe 80GB' and n_gpus == 1"


def test_map_baseline(case, benchmark):
    benchmark.extra_info["value"] = 1.0
    case(MAP, MAP_AIM, lambda: None, baseline="1 second", rounds=1)


def test_map_ours(case, runs):
    best = hc.highest_measured(hc.of_model(runs, "DeepSeek-R1-Distill-Qwen-14B"))
    owned = hc.Scenario(acquisition={"RTX 4090": "own"})
    vary = ("usd_per_kwh", "load_frac")
    case(
        MAP,
        MAP_AIM,
        lambda: hc.breakeven_map(best, PAIR, ONE, owned, vary=vary, on="usd_per_mtok_out"),
    )

"""The arithmetic from figures to results: of rows, or of rows and draws alike.

Figures are arrays by name, of one value per row, or of rows by draws. Each function is a few
formulas in a row; nothing is looked up here.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hetcost.columns import CARBON_STAGES, ENERGY_BOUNDARIES, TOKEN_BASES
from hetcost.errors import unknown_name
from hetcost.formulas import carbon, cost, energy, ownership
from hetcost.impacts.lookups import Floats, Mask

Figures = Mapping[str, Floats]

WAYS = ("rent", "spot", "own", "idle")
OUTCOMES = (
    "usd_per_h",
    *(
        f"{rate}_{basis}"
        for basis in TOKEN_BASES
        for rate in (
            "usd_per_mtok",
            *(f"{boundary}_j_per_tok" for boundary in ENERGY_BOUNDARIES),
            *(f"{stage}gco2e_per_mtok" for stage in CARBON_STAGES),
        )
    ),
)


def gpu_w(of: Figures) -> Floats:
    """Return the power of all boards under load, in W."""
    wanted = of["wanted_w"] + of["wanted_frac"] * of["limit_w"]
    busy = energy.capped_w(wanted, of["limit_w"])
    part = of["busy_frac"]
    # An unknown idle power does not matter to a board that is always busy.
    resting = np.where(part == 1, 0.0, of["idle_w"]) if np.any(part < 1) else 0.0
    return np.asarray(energy.duty_w(busy, resting, part) * of["n_gpus"])


def load_w(of: Figures, boundary: str = "site") -> Floats:
    """Return the power under load at a boundary: gpu, it or site, in W."""
    host = of["host_w_load"] * of["n_gpus"]
    return _at(boundary, gpu_w(of), host, _psu_under_load(of), of["pue"])


def idle_w(of: Figures, boundary: str = "site", *, bare: bool = False) -> Floats:
    """Return the power of the idle machine at a boundary, in W: with weights loaded, or bare."""
    boards = of["idle_bare_w" if bare else "idle_w"] * of["n_gpus"]
    host = of["host_w_idle"] * of["n_gpus"]
    return _at(boundary, boards, host, of["psu_efficiency_frac"], of["pue"])


def counted_w(of: Figures, baseline: str, boundary: str = "site") -> Floats:
    """Return the power to charge to a loaded hour at a boundary, by the idle baseline, in W."""
    if baseline == "in_use":
        boards = load_w(of, "gpu"), idle_w(of, "gpu", bare=True)
        extra = np.asarray(energy.incremental_w(*boards))
        return _at(boundary, extra, np.zeros(1), _psu_under_load(of), of["pue"])
    load = load_w(of, boundary)
    if baseline == "idle":
        extra = np.asarray(energy.incremental_w(load, idle_w(of, boundary, bare=True)))
        return np.where(below_idle(of, baseline), np.nan, extra)
    return _charged_w(of, load, boundary)


def below_idle(of: Figures, baseline: str) -> Mask:
    """Say where a loaded machine draws less than the idle one, at any boundary that counts."""
    if baseline == "off":
        return np.zeros(1, dtype=bool)
    compared = ["gpu"] if baseline == "in_use" else list(ENERGY_BOUNDARIES)
    less = [load_w(of, name) < idle_w(of, name, bare=True) for name in compared]
    return np.asarray(np.logical_or.reduce(less))


def emb_kgco2e(of: Figures) -> Floats:
    """Return the embodied emissions of a configuration on its boundary, in kgCO2e."""
    host = of["host_kgco2e_per_gpu"] * of["host_counted"]
    return np.asarray((of["card_kgco2e"] + host) * of["n_gpus"])


def share_frac(of: Figures) -> Floats:
    """Return the share of the embodied emissions that is charged; of some the time share."""
    timed = of["is_time_share"]
    return np.asarray(of["share_frac"] * (1 - timed + timed * of["assigned_frac"]))


def emb_gco2e_per_h(of: Figures) -> Floats:
    """Return embodied emissions of an hour under load, in gCO2e/h."""
    return np.asarray(
        carbon.emb_gco2e_per_h(
            emb_kgco2e(of), of["life_yr"], of["assigned_frac"], of["load_frac"], share_frac(of)
        )
    )


def usd_per_h(of: Figures, ways: Mapping[str, Mask]) -> dict[str, Floats]:
    """Return the cost of an hour in use, and its shares, in USD/h.

    `ways` says by way of acquisition which rows are had that way. The shares are of cards, of
    the host with its space, and of electricity; a rent is not split.
    """
    parts = {way: _COST[way](of) for way in ways}
    if len(parts) == 1:
        return next(iter(parts.values()))
    masks = list(ways.values())
    return {
        share: np.select(masks, [parts[way][share] for way in ways], np.nan)
        for share in next(iter(parts.values()))
    }


def outcome(of: Figures, ways: Mapping[str, Mask], baseline: str, name: str) -> Floats:
    """Return a cost, an energy or an emission per token, by column name.

    Raises
    ------
    UnknownNameError
        The column is not one of :data:`OUTCOMES`.
    """
    if name not in OUTCOMES:
        raise unknown_name("on", name, OUTCOMES)
    if name == "usd_per_h":
        return usd_per_h(of, ways)["usd_per_h"]
    rate = of[f"{name.rpartition('_')[2]}_tok_per_s"]
    if name.startswith("usd_per_mtok"):
        return np.asarray(cost.usd_per_mtok(usd_per_h(of, ways)["usd_per_h"], rate))
    if "_j_per_tok_" in name:
        watts = counted_w(of, baseline, name.partition("_")[0])
        return np.asarray(energy.j_per_tok(watts, rate))
    op: Floats | float = 0.0
    emb: Floats | float = 0.0
    if not name.startswith("emb_"):
        joules = energy.j_per_tok(counted_w(of, baseline), rate)
        op = np.asarray(carbon.op_gco2e_per_mtok(joules, of["gco2e_per_kwh"]))
    if not name.startswith("op_"):
        emb = np.asarray(carbon.emb_gco2e_per_mtok(emb_gco2e_per_h(of), rate))
    return np.asarray(carbon.gco2e_per_mtok(op, emb))


def _at(boundary: str, gpu: Floats, host: Floats, psu: Floats, pue: Floats) -> Floats:
    if boundary == "gpu":
        return gpu
    it = np.asarray(energy.it_w(gpu, host, psu))
    return it if boundary == "it" else np.asarray(energy.site_w(it, pue))


def _psu_under_load(of: Figures) -> Floats:
    """Return the power supply's efficiency, 1 where power is stated at the plug."""
    plug = of["at_plug"]
    return np.asarray(plug + (1 - plug) * of["psu_efficiency_frac"])


def _charged_w(of: Figures, load: Floats, boundary: str) -> Floats:
    """Charge idle hours, whose power does not matter where there are none."""
    u = of["load_frac"]
    if np.all(u == 1):
        return load
    idle = np.where(u == 1, 0.0, idle_w(of, boundary)) if np.any(u == 1) else idle_w(of, boundary)
    return np.asarray(energy.charged_w(load, idle, u))


def _shared(gpu: Floats, host: Floats, power: Floats) -> dict[str, Floats]:
    return {
        "usd_per_h": gpu + host + power,
        "gpu_usd_per_h": gpu,
        "host_usd_per_h": host,
        "power_usd_per_h": power,
    }


def _rent(of: Figures) -> dict[str, Floats]:
    usd = np.asarray(cost.usd_per_h(of["usd_per_gpu_h"], of["n_gpus"]))
    unknown = np.broadcast_to(np.nan, usd.shape)
    return {**_shared(usd, unknown, unknown), "usd_per_h": usd}


def _spot(of: Figures) -> dict[str, Floats]:
    of_rent = _rent(of)
    interrupts = of["interrupts_per_h"], of["restart_h"], of["lost_h"]
    usd = np.asarray(ownership.spot_usd_per_h(of_rent["usd_per_h"], *interrupts))
    return {**of_rent, "usd_per_h": usd, "gpu_usd_per_h": usd}


def _own(of: Figures) -> dict[str, Floats]:
    bought = of["n_gpus"] * (1 + of["spares_frac"])
    u, life = of["load_frac"], of["life_yr"]
    rate = ownership.real_frac(of["discount_frac"], of["inflation_frac"])
    left = of["residual_frac"] + ownership.decayed_frac(of["value_decay_frac"], life)

    def capital(usd: Floats) -> Floats:
        """Return the yearly cost of a purchase: annuity, upkeep, and what fails and is replaced."""
        yearly = ownership.annuity_usd_per_yr(
            usd,
            of["install_frac"] * usd,
            ownership.residual_usd(usd, left),
            rate,
            life,
        )
        return np.asarray(yearly + (of["upkeep_frac"] + of["failure_frac"]) * usd)

    def hourly(usd_per_yr: Floats) -> Floats:
        per_used_h = ownership.usd_per_used_h(usd_per_yr, of["avail_frac"], u)
        return np.asarray(ownership.with_fee(per_used_h, of["platform_fee_frac"]))

    space = np.asarray(ownership.colo_usd_per_yr(of["colo_usd_per_kw_month"], load_w(of, "it")))
    charged = _charged_w(of, load_w(of), "site")
    electricity = ownership.power_usd_per_h(of["usd_per_kwh"], charged)
    return _shared(
        hourly(capital(of["capex_usd"] * bought)),
        hourly(capital(of["host_capex_usd_per_gpu"] * bought) + space),
        np.asarray(ownership.with_fee(electricity, of["platform_fee_frac"])),
    )


def _idle(of: Figures) -> dict[str, Floats]:
    replicas = 1 + of["churn_frac"]
    extra = energy.incremental_w(load_w(of), idle_w(of, bare=True))
    wear = ownership.wear_usd_per_h(of["capex_usd"], of["wear_frac"]) * of["n_gpus"]
    electricity = ownership.power_usd_per_h(of["usd_per_kwh"], extra)
    gpu, power = (
        np.asarray(ownership.with_fee(usd * replicas, of["platform_fee_frac"]))
        for usd in (wear, electricity)
    )
    return _shared(gpu, np.zeros(1), power)


_COST = {"rent": _rent, "spot": _spot, "own": _own, "idle": _idle}

"""The arithmetic from figures to results: of rows, or of rows and draws alike.

Figures are arrays by name, of one value per row, or of rows by draws. Each function is a few
formulas in a row; nothing is looked up here.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hetcost.columns import ENERGY_BOUNDARIES, TOKEN_BASES
from hetcost.formulas import carbon, cost, energy, ownership
from hetcost.impacts.lookups import Floats, Mask

Figures = Mapping[str, Floats]
Watts = dict[str, Floats]

WAYS = ("rent", "spot", "own", "idle")


def gpu_w(of: Figures) -> Floats:
    """Return the power of all boards under load, in W."""
    wanted = of["wanted_w"] + of["wanted_frac"] * of["limit_w"]
    busy = energy.capped_w(wanted, of["limit_w"])
    part = of["busy_frac"]
    # An unknown idle power does not matter to a board that is always busy.
    resting = np.where(part == 1, 0.0, of["idle_w"]) if np.any(part < 1) else 0.0
    return np.asarray(energy.duty_w(busy, resting, part) * of["n_gpus"])


def load_w(of: Figures) -> Watts:
    """Return the power under load at each boundary, in W."""
    return _boundaries(gpu_w(of), of["host_w_load"] * of["n_gpus"], of["psu_load"], of["pue"])


def idle_w(of: Figures, name: str = "idle_w") -> Watts:
    """Return the power of the idle machine at each boundary, in W.

    `name` is ``idle_w``, weights loaded, or ``idle_bare_w``, of a machine without the service.
    """
    boards, host = of[name] * of["n_gpus"], of["host_w_idle"] * of["n_gpus"]
    return _boundaries(boards, host, of["psu_efficiency_frac"], of["pue"])


def counted_w(of: Figures, baseline: str) -> Watts:
    """Return the power to charge to a loaded hour, by the idle baseline, in W."""
    load = load_w(of)
    idle = idle_w(of) if baseline == "off" else idle_w(of, "idle_bare_w")
    if baseline == "in_use":
        extra = np.asarray(energy.incremental_w(load["gpu"], idle["gpu"]))
        return _boundaries(extra, np.zeros(1), of["psu_load"], of["pue"])
    if baseline == "idle":
        return {name: np.asarray(energy.incremental_w(load[name], idle[name])) for name in load}
    u = of["load_frac"]
    # An unknown idle power does not matter where no hour is idle.
    return {
        name: np.asarray(energy.charged_w(load[name], np.where(u == 1, 0.0, idle[name]), u))
        for name in load
    }


def emb_gco2e_per_h(of: Figures) -> Floats:
    """Return embodied emissions of an hour under load, in gCO2e/h."""
    return np.asarray(
        carbon.emb_gco2e_per_h(
            (of["card_kgco2e"] + of["host_kgco2e"]) * of["n_gpus"],
            of["life_yr"],
            of["assigned_frac"],
            of["load_frac"],
            of["share_frac"],
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


def outcomes(of: Figures, ways: Mapping[str, Mask], baseline: str) -> dict[str, Floats]:
    """Return cost, energies and emissions per token on both bases, by column name."""
    usd, emb_h = usd_per_h(of, ways)["usd_per_h"], emb_gco2e_per_h(of)
    counted, out = counted_w(of, baseline), {"usd_per_h": usd}
    for basis in TOKEN_BASES:
        rate = of[f"{basis}_tok_per_s"]
        out[f"usd_per_mtok_{basis}"] = np.asarray(cost.usd_per_mtok(usd, rate))
        for boundary in ENERGY_BOUNDARIES:
            joules = np.asarray(energy.j_per_tok(counted[boundary], rate))
            out[f"{boundary}_j_per_tok_{basis}"] = joules
        op = carbon.op_gco2e_per_mtok(out[f"site_j_per_tok_{basis}"], of["gco2e_per_kwh"])
        emb = carbon.emb_gco2e_per_mtok(emb_h, rate)
        out[f"op_gco2e_per_mtok_{basis}"] = np.asarray(op)
        out[f"emb_gco2e_per_mtok_{basis}"] = np.asarray(emb)
        out[f"gco2e_per_mtok_{basis}"] = np.asarray(carbon.gco2e_per_mtok(op, emb))
    return out


def _boundaries(gpu: Floats, host: Floats, psu: Floats, pue: Floats) -> Watts:
    it = np.asarray(energy.it_w(gpu, host, psu))
    return {"gpu": gpu, "it": it, "site": np.asarray(energy.site_w(it, pue))}


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
    load, idle, u = load_w(of), idle_w(of), of["load_frac"]

    def capital(usd: Floats) -> Floats:
        """Return the yearly cost of a purchase: annuity, upkeep, and what fails and is replaced."""
        yearly = ownership.annuity_usd_per_yr(
            usd,
            of["install_frac"] * usd,
            ownership.residual_usd(usd, of["residual_frac"]),
            of["discount_frac"],
            of["life_yr"],
        )
        return np.asarray(yearly + (of["upkeep_frac"] + of["failure_frac"]) * usd)

    def hourly(usd_per_yr: Floats) -> Floats:
        per_used_h = ownership.usd_per_used_h(usd_per_yr, of["avail_frac"], u)
        return np.asarray(ownership.with_fee(per_used_h, of["platform_fee_frac"]))

    space = np.asarray(ownership.colo_usd_per_yr(of["colo_usd_per_kw_month"], load["it"]))
    charged = energy.charged_w(load["site"], np.where(u == 1, 0.0, idle["site"]), u)
    electricity = ownership.power_usd_per_h(of["usd_per_kwh"], charged)
    return _shared(
        hourly(capital(of["capex_usd"] * bought)),
        hourly(capital(of["host_capex_usd_per_gpu"] * bought) + space),
        np.asarray(ownership.with_fee(electricity, of["platform_fee_frac"])),
    )


def _idle(of: Figures) -> dict[str, Floats]:
    replicas = 1 + of["churn_frac"]
    extra = energy.incremental_w(load_w(of)["site"], idle_w(of, "idle_bare_w")["site"])
    wear = ownership.wear_usd_per_h(of["capex_usd"], of["wear_frac"]) * of["n_gpus"]
    electricity = ownership.power_usd_per_h(of["usd_per_kwh"], extra)
    gpu, power = (
        np.asarray(ownership.with_fee(usd * replicas, of["platform_fee_frac"]))
        for usd in (wear, electricity)
    )
    return _shared(gpu, np.zeros(1), power)


_COST = {"rent": _rent, "spot": _spot, "own": _own, "idle": _idle}

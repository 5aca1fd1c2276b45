"""Greenhouse gas emissions per million tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hetcost.formulas import above, at_least, below, fraction, positive_fraction
from hetcost.units import (
    GRAMS_PER_KG,
    HOURS_PER_YEAR,
    JOULES_PER_KWH,
    SECONDS_PER_HOUR,
    TOKENS_PER_MTOK,
)

if TYPE_CHECKING:
    from hetcost.formulas import Numeric


def op_gco2e_per_mtok(site_j_per_tok: Numeric, gco2e_per_kwh: Numeric) -> Numeric:
    r"""Operational emissions of a million tokens: the electricity's, at the site's meter.

    .. math:: g_{\mathrm{op}} = \frac{e_{\mathrm{site}}\,10^6}{3.6\cdot10^6}\,I

    Parameters
    ----------
    site_j_per_tok : Site energy per token, PUE included. [J/tok]
    gco2e_per_kwh : Carbon intensity of the electricity. [gCO2e/kWh]

    Returns
    -------
    Operational emissions, of the same tokens as the energy. [gCO2e/Mtok]

    References
    ----------
    .. [1] A. Ribeiro de Almeida, AIBC 2025, doi:10.1145/3775043.3775047, table 3.
    .. [2] ISO/IEC 21031:2024, Software Carbon Intensity (SCI), operational term E·I.

    Examples
    --------
    >>> round(op_gco2e_per_mtok(700.0 / 3011.13, 242.0), 2)
    15.63
    """
    at_least(0, site_j_per_tok=site_j_per_tok, gco2e_per_kwh=gco2e_per_kwh)
    return site_j_per_tok * (TOKENS_PER_MTOK / JOULES_PER_KWH * gco2e_per_kwh)


def consumed_gco2e_per_kwh(generated_gco2e_per_kwh: Numeric, td_loss_frac: Numeric) -> Numeric:
    r"""Carbon intensity at the socket, from that of generation and the loss on the way.

    .. math:: I = I_{\mathrm{gen}} / (1 - \ell)

    Parameters
    ----------
    generated_gco2e_per_kwh : Emissions per kilowatt-hour generated. [gCO2e/kWh]
    td_loss_frac : Share lost in transmission and distribution, below 1. [1]

    Returns
    -------
    Emissions per kilowatt-hour consumed. [gCO2e/kWh]

    Examples
    --------
    >>> round(consumed_gco2e_per_kwh(242.0, 0.065), 1)
    258.8
    """
    at_least(0, generated_gco2e_per_kwh=generated_gco2e_per_kwh, td_loss_frac=td_loss_frac)
    below(1, td_loss_frac=td_loss_frac)
    return generated_gco2e_per_kwh / (1 - td_loss_frac)


def emb_gco2e_per_h(
    kgco2e: Numeric,
    life_yr: Numeric,
    assigned_frac: Numeric,
    load_frac: Numeric,
    share_frac: Numeric,
) -> Numeric:
    r"""Embodied emissions of hardware per loaded hour, so that its life pays for all of them.

    .. math:: h = \frac{s\,K\cdot 10^3}{8760\,L\,a\,u}

    Parameters
    ----------
    kgco2e : Embodied emissions of the configuration, host share included. [kgCO2e]
    life_yr : Calendar life. [yr]
    assigned_frac : Share of its life that the hardware is assigned to the service. [1]
    load_frac : Share of the assigned hours that it is loaded. [1]
    share_frac : Share of the embodied emissions that is charged to the service. [1]

    Returns
    -------
    Embodied emissions of an hour under load. [gCO2e/h]

    References
    ----------
    .. [1] ISO/IEC 21031:2024, Software Carbon Intensity (SCI): M = TE · TS · RS.

    Examples
    --------
    >>> round(emb_gco2e_per_h(164.0, 6.0, 1.0, 1.0, 1.0), 3)
    3.12
    """
    at_least(0, kgco2e=kgco2e)
    above(0, life_yr=life_yr)
    positive_fraction(assigned_frac=assigned_frac, load_frac=load_frac)
    fraction(share_frac=share_frac)
    hours = HOURS_PER_YEAR * life_yr * assigned_frac * load_frac
    return kgco2e * (share_frac * GRAMS_PER_KG / hours)


def emb_gco2e_per_mtok(emb_gco2e_per_h: Numeric, tok_per_s: Numeric) -> Numeric:
    r"""Embodied emissions of a million tokens.

    .. math:: g_{\mathrm{emb}} = \frac{h}{3600\,\lambda}\,10^6

    Parameters
    ----------
    emb_gco2e_per_h : Embodied emissions of an hour under load. [gCO2e/h]
    tok_per_s : Throughput; the result counts the same tokens as this does. [tok/s]

    Returns
    -------
    Embodied emissions, on the token basis of the throughput. [gCO2e/Mtok]

    Examples
    --------
    >>> round(emb_gco2e_per_mtok(3.12, 1000.0), 3)
    0.867
    """
    at_least(0, emb_gco2e_per_h=emb_gco2e_per_h)
    above(0, tok_per_s=tok_per_s)
    return emb_gco2e_per_h * (TOKENS_PER_MTOK / (SECONDS_PER_HOUR * tok_per_s))


def gco2e_per_mtok(op_gco2e_per_mtok: Numeric, emb_gco2e_per_mtok: Numeric) -> Numeric:
    r"""Whole emissions of a million tokens: operational and embodied.

    .. math:: g = g_{\mathrm{op}} + g_{\mathrm{emb}}

    Parameters
    ----------
    op_gco2e_per_mtok : Operational emissions. [gCO2e/Mtok]
    emb_gco2e_per_mtok : Embodied emissions, on the same token basis. [gCO2e/Mtok]

    Returns
    -------
    Their sum. [gCO2e/Mtok]

    References
    ----------
    .. [1] ISO/IEC 21031:2024, Software Carbon Intensity (SCI), O + M.

    Examples
    --------
    >>> gco2e_per_mtok(15.5, 8.0)
    23.5
    """
    at_least(0, op_gco2e_per_mtok=op_gco2e_per_mtok, emb_gco2e_per_mtok=emb_gco2e_per_mtok)
    return op_gco2e_per_mtok + emb_gco2e_per_mtok


def sci_gco2e(
    energy_kwh: Numeric, gco2e_per_kwh: Numeric, emb_gco2e: Numeric, functional_units: Numeric
) -> Numeric:
    r"""Software Carbon Intensity: emissions per functional unit.

    .. math:: \mathrm{SCI} = (E\,I + M) / R

    Parameters
    ----------
    energy_kwh : Energy that the software consumed. [kWh]
    gco2e_per_kwh : Location-based intensity of that energy. [gCO2e/kWh]
    emb_gco2e : Embodied emissions charged to the same use. [gCO2e]
    functional_units : Units served with it: requests, tokens. [1]

    Returns
    -------
    Emissions per functional unit. [gCO2e]

    References
    ----------
    .. [1] ISO/IEC 21031:2024, Software Carbon Intensity (SCI) specification.

    Examples
    --------
    >>> round(sci_gco2e(0.5, 242.0, 3.0, 1000.0), 3)
    0.124
    """
    at_least(0, energy_kwh=energy_kwh, gco2e_per_kwh=gco2e_per_kwh, emb_gco2e=emb_gco2e)
    above(0, functional_units=functional_units)
    return (energy_kwh * gco2e_per_kwh + emb_gco2e) / functional_units

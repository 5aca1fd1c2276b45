"""Greenhouse gas emissions per million tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hetcost.formulas import at_least
from hetcost.units import JOULES_PER_KWH, TOKENS_PER_MTOK

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
    return site_j_per_tok * TOKENS_PER_MTOK / JOULES_PER_KWH * gco2e_per_kwh


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

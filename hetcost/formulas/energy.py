"""Power of a configuration and energy per token, from the boards to the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hetcost.formulas import above, at_least
from hetcost.units import JOULES_PER_KWH, TOKENS_PER_MTOK

if TYPE_CHECKING:
    from hetcost.formulas import Numeric


def nameplate_gpu_w(tdp_w: Numeric, n_gpus: Numeric) -> Numeric:
    r"""Power of the boards if each drew its thermal design power.

    .. math:: P_{\mathrm{gpu}} = P_{\mathrm{TDP}}\,n

    Parameters
    ----------
    tdp_w : Thermal design power of one board. [W]
    n_gpus : Boards in the configuration. [1]

    Returns
    -------
    Power of all boards: a limit, not a measurement. [W]

    References
    ----------
    .. [1] A. Ribeiro de Almeida, AIBC 2025, doi:10.1145/3775043.3775047, table 3.

    Examples
    --------
    >>> nameplate_gpu_w(450.0, 2)
    900.0
    """
    above(0, tdp_w=tdp_w)
    at_least(1, n_gpus=n_gpus)
    return tdp_w * n_gpus


def site_w(it_w: Numeric, pue: Numeric) -> Numeric:
    r"""Power that the site draws for its IT equipment: the one place where PUE is applied.

    .. math:: P_{\mathrm{site}} = \mathrm{PUE}\cdot P_{\mathrm{it}}

    Parameters
    ----------
    it_w : Power of the IT equipment. [W]
    pue : Power usage effectiveness, at least 1. [1]

    Returns
    -------
    Power at the site's meter. [W]

    References
    ----------
    .. [1] ISO/IEC 30134-2:2016, Power usage effectiveness (PUE).

    Examples
    --------
    >>> site_w(900.0, 1.5)
    1350.0
    """
    at_least(0, it_w=it_w)
    at_least(1, pue=pue)
    return it_w * pue


def j_per_tok(power_w: Numeric, tok_per_s: Numeric) -> Numeric:
    r"""Energy per token at a steady power and throughput.

    .. math:: e = P / \lambda

    Parameters
    ----------
    power_w : Power at the boundary the result is to have (boards, servers or site). [W]
    tok_per_s : Throughput; the result counts the same tokens as this does. [tok/s]

    Returns
    -------
    Energy per token. [J/tok]

    References
    ----------
    .. [1] A. Ribeiro de Almeida, AIBC 2025, doi:10.1145/3775043.3775047, table 3.

    Examples
    --------
    >>> round(j_per_tok(700.0, 3011.13), 4)
    0.2325
    """
    at_least(0, power_w=power_w)
    above(0, tok_per_s=tok_per_s)
    return power_w / tok_per_s


def mtok_per_kwh(j_per_tok: Numeric) -> Numeric:
    r"""Million tokens served with one kilowatt-hour: the inverse of energy per token.

    .. math:: \eta = \frac{3.6\cdot10^6}{e\,10^6}

    Parameters
    ----------
    j_per_tok : Energy per token. [J/tok]

    Returns
    -------
    Tokens per energy. [Mtok/kWh]

    References
    ----------
    .. [1] A. Ribeiro de Almeida, AIBC 2025, doi:10.1145/3775043.3775047, table 3.

    Examples
    --------
    >>> round(mtok_per_kwh(0.2325), 2)
    15.48
    """
    above(0, j_per_tok=j_per_tok)
    return JOULES_PER_KWH / (j_per_tok * TOKENS_PER_MTOK)

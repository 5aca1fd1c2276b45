"""Power of a configuration and energy per token, from the boards to the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hetcost.formulas import above, at_least, fraction, positive_fraction
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


def load_w(mean_concurrency: Numeric, at_concurrency: Numeric, at_w: Numeric) -> Numeric:
    r"""Power of a board by load: measured watts, straight between them in log2 of concurrency.

    .. math:: P(c) = \mathrm{interp}(\log_2 c;\ \log_2 c_i, P_i)

    Parameters
    ----------
    mean_concurrency : Requests in flight, on average. [1]
    at_concurrency, at_w : Points of the curve, concurrency rising. [1], [W]

    Returns
    -------
    Power of one board without a limit; beyond the ends of the curve the last point holds. [W]

    References
    ----------
    .. [1] J.-W. Chung et al., Where Do the Joules Go?, arXiv:2601.22076 (ML.ENERGY v3): power of
       serving rises with batch size and saturates below TDP.

    Examples
    --------
    >>> round(float(load_w(8.0, [4.0, 16.0], [440.0, 470.0])), 1)
    455.0
    """
    above(0, mean_concurrency=mean_concurrency)
    at_least(0, at_w=at_w)
    along = np.log2(np.asarray(mean_concurrency, dtype="float64"))
    points = np.log2(np.asarray(at_concurrency, dtype="float64"))
    return np.asarray(np.interp(along, points, np.asarray(at_w, dtype="float64")))


def capped_w(wanted_w: Numeric, limit_w: Numeric) -> Numeric:
    r"""Power of a board that is held at its power limit.

    .. math:: P = \min(P_{\mathrm{wanted}}, P_{\mathrm{limit}})

    Parameters
    ----------
    wanted_w : Power that the board would draw without a limit. [W]
    limit_w : Its power limit. [W]

    Returns
    -------
    Power of the board. [W]

    Examples
    --------
    >>> float(capped_w(470.0, 350.0))
    350.0
    """
    at_least(0, wanted_w=wanted_w)
    above(0, limit_w=limit_w)
    return np.minimum(wanted_w, limit_w)


def duty_w(busy_w: Numeric, idle_w: Numeric, busy_frac: Numeric) -> Numeric:
    r"""Mean power of a board that is busy part of the time.

    .. math:: P = b\,P_{\mathrm{busy}} + (1 - b)\,P_{\mathrm{idle}}

    Parameters
    ----------
    busy_w, idle_w : Power with a request in flight and without. [W]
    busy_frac : Share of the time that a request is in flight. [1]

    Returns
    -------
    Mean power. [W]

    Examples
    --------
    >>> duty_w(250.0, 50.0, 0.5)
    150.0
    """
    at_least(0, busy_w=busy_w, idle_w=idle_w)
    fraction(busy_frac=busy_frac)
    return busy_frac * busy_w + (1 - busy_frac) * idle_w


def it_w(gpu_w: Numeric, host_w: Numeric, psu_efficiency_frac: Numeric) -> Numeric:
    r"""Power of whole servers at their plug: boards and host, and what the power supply loses.

    .. math:: P_{\mathrm{it}} = (P_{\mathrm{gpu}} + P_{\mathrm{host}}) / \eta

    Parameters
    ----------
    gpu_w : Power of the boards. [W]
    host_w : Power of everything else in the server, behind the power supply. [W]
    psu_efficiency_frac : Efficiency of the power supply, above 0 and at most 1. [1]

    Returns
    -------
    Power of the servers. [W]

    Examples
    --------
    >>> round(it_w(350.0, 150.0, 0.94), 1)
    531.9
    """
    at_least(0, gpu_w=gpu_w, host_w=host_w)
    positive_fraction(psu_efficiency_frac=psu_efficiency_frac)
    return (gpu_w + host_w) / psu_efficiency_frac


def charged_w(w_load: Numeric, w_idle: Numeric, load_frac: Numeric) -> Numeric:
    r"""Power to charge to a loaded hour if the machine serves nothing else: idle hours too.

    .. math:: P = P_{\mathrm{load}} + P_{\mathrm{idle}}\,\frac{1-u}{u}

    Parameters
    ----------
    w_load, w_idle : Power under load and idle, at one boundary. [W]
    load_frac : Share of its hours that the machine is loaded, above 0 and at most 1. [1]

    Returns
    -------
    Average energy per loaded hour, as a power. [W]

    Examples
    --------
    >>> charged_w(500.0, 100.0, 0.5)
    600.0
    """
    at_least(0, w_load=w_load, w_idle=w_idle)
    positive_fraction(load_frac=load_frac)
    return w_load + w_idle * ((1 - load_frac) / load_frac)


def incremental_w(w_load: Numeric, w_idle: Numeric) -> Numeric:
    r"""Power that serving adds to a machine that would idle otherwise.

    .. math:: P = P_{\mathrm{load}} - P_{\mathrm{idle}}

    Parameters
    ----------
    w_load, w_idle : Power under load and idle, at one boundary. [W]

    Returns
    -------
    The difference; NaN where there is less power under load than idle, since no machine adds
    that by serving. [W]

    Examples
    --------
    >>> float(incremental_w(500.0, 100.0))
    400.0
    """
    at_least(0, w_load=w_load, w_idle=w_idle)
    extra = np.asarray(w_load - w_idle)
    return np.where(extra >= 0, extra, np.nan)[()]


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

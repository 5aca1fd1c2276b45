"""Cost of tokens on rented hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hetcost.formulas import above, at_least
from hetcost.units import SECONDS_PER_HOUR, TOKENS_PER_MTOK

if TYPE_CHECKING:
    from hetcost.formulas import Numeric


def usd_per_h(usd_per_gpu_h: Numeric, n_gpus: Numeric) -> Numeric:
    r"""Hourly price of a whole configuration rented by the card.

    .. math:: p = p_{\mathrm{gpu}}\,n

    Parameters
    ----------
    usd_per_gpu_h : Price of one card. [USD/h]
    n_gpus : Cards in the configuration. [1]

    Returns
    -------
    Price of the configuration. [USD/h]

    Examples
    --------
    >>> usd_per_h(0.25, 2)
    0.5
    """
    at_least(0, usd_per_gpu_h=usd_per_gpu_h)
    at_least(1, n_gpus=n_gpus)
    return usd_per_gpu_h * n_gpus


def usd_per_mtok(usd_per_h: Numeric, tok_per_s: Numeric) -> Numeric:
    r"""Cost of a million tokens on hardware billed by the hour.

    .. math:: c = \frac{p}{3600\,\lambda}\,10^6

    Parameters
    ----------
    usd_per_h : Price of the whole configuration. [USD/h]
    tok_per_s : Throughput; the result counts the same tokens as this does. [tok/s]

    Returns
    -------
    Cost per million tokens. [USD/Mtok]

    References
    ----------
    .. [1] A. Ribeiro de Almeida, AIBC 2025, doi:10.1145/3775043.3775047, sec. 2.3.

    Examples
    --------
    >>> round(usd_per_mtok(2.00, 3011.13), 3)
    0.185
    """
    at_least(0, usd_per_h=usd_per_h)
    above(0, tok_per_s=tok_per_s)
    return usd_per_h / (SECONDS_PER_HOUR * tok_per_s) * TOKENS_PER_MTOK


def mtok_per_h(tok_per_s: Numeric) -> Numeric:
    r"""Million tokens served in an hour.

    .. math:: N = \frac{3600\,\lambda}{10^6}

    Parameters
    ----------
    tok_per_s : Throughput; the result counts the same tokens as this does. [tok/s]

    Returns
    -------
    Tokens per hour. [Mtok/h]

    References
    ----------
    .. [1] A. Ribeiro de Almeida, AIBC 2025, doi:10.1145/3775043.3775047, table 3.

    Examples
    --------
    >>> round(mtok_per_h(3011.13), 2)
    10.84
    """
    at_least(0, tok_per_s=tok_per_s)
    return tok_per_s * SECONDS_PER_HOUR / TOKENS_PER_MTOK


def usd_per_run(usd_per_h: Numeric, duration_s: Numeric) -> Numeric:
    r"""Rent of a configuration for as long as one benchmark run takes.

    .. math:: C = p\,t / 3600

    Parameters
    ----------
    usd_per_h : Price of the whole configuration. [USD/h]
    duration_s : Duration of the run. [s]

    Returns
    -------
    Rent of the run. [USD]

    References
    ----------
    .. [1] A. Ribeiro de Almeida, AIBC 2025, doi:10.1145/3775043.3775047, table 2.

    Examples
    --------
    >>> round(usd_per_run(2.00, 27.68), 3)
    0.015
    """
    at_least(0, usd_per_h=usd_per_h, duration_s=duration_s)
    return usd_per_h * duration_s / SECONDS_PER_HOUR


def usd_per_api_h(
    in_tok_per_s: Numeric,
    out_tok_per_s: Numeric,
    usd_per_mtok_in: Numeric,
    usd_per_mtok_out: Numeric,
) -> Numeric:
    r"""Cost of an hour's tokens from an API that is paid by the token.

    .. math:: p = 3600\,\frac{\lambda_{\mathrm{in}} c_{\mathrm{in}}
        + \lambda_{\mathrm{out}} c_{\mathrm{out}}}{10^6}

    Parameters
    ----------
    in_tok_per_s, out_tok_per_s : Input and output tokens. [tok/s]
    usd_per_mtok_in, usd_per_mtok_out : Prices of the API. [USD/Mtok]

    Returns
    -------
    Cost of an hour. [USD/h]

    Examples
    --------
    >>> round(usd_per_api_h(1000.0, 500.0, 0.1, 0.4), 2)
    1.08
    """
    at_least(
        0,
        in_tok_per_s=in_tok_per_s,
        out_tok_per_s=out_tok_per_s,
        usd_per_mtok_in=usd_per_mtok_in,
        usd_per_mtok_out=usd_per_mtok_out,
    )
    per_s = in_tok_per_s * usd_per_mtok_in + out_tok_per_s * usd_per_mtok_out
    return per_s * SECONDS_PER_HOUR / TOKENS_PER_MTOK

"""Cost of hardware that is owned, interrupted, or idle otherwise.

What bears no reference is a definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hetcost.formulas import above, at_least, below, fraction, positive_fraction
from hetcost.units import HOURS_PER_DAY, HOURS_PER_YEAR, MONTHS_PER_YEAR, WATTS_PER_KW

if TYPE_CHECKING:
    from hetcost.formulas import Numeric


def crf(discount_frac: Numeric, life_yr: Numeric) -> Numeric:
    r"""Capital recovery factor: the yearly payment that pays one unit back over a life.

    .. math:: \mathrm{CRF} = \frac{r}{1 - (1+r)^{-L}}, \qquad
        \lim_{r \to 0} \mathrm{CRF} = \frac{1}{L}

    Parameters
    ----------
    discount_frac : Discount rate a year, real or nominal as the costs are. [1]
    life_yr : Life. [yr]

    Returns
    -------
    Yearly payment per unit. [1/yr]

    References
    ----------
    .. [1] W. Short et al., A Manual for the Economic Evaluation of Energy Efficiency and
       Renewable Energy Technologies, NREL/TP-462-5173, 1995.

    Examples
    --------
    >>> round(float(crf(0.08, 4.0)), 4), float(crf(0.0, 4.0))
    (0.3019, 0.25)
    """
    at_least(0, discount_frac=discount_frac)
    above(0, life_yr=life_yr)
    rate = np.asarray(discount_frac, dtype="float64")
    some = np.where(rate > 0, rate, 1.0)
    return np.where(rate > 0, some / -np.expm1(-life_yr * np.log1p(some)), 1 / life_yr)[()]


def real_frac(nominal_frac: Numeric, inflation_frac: Numeric) -> Numeric:
    r"""Real discount rate from a nominal one (Fisher).

    .. math:: r = \frac{1 + n}{1 + i} - 1

    Parameters
    ----------
    nominal_frac, inflation_frac : Nominal rate and inflation a year. [1]

    Returns
    -------
    Real rate a year. [1]

    References
    ----------
    .. [1] I. Fisher, The Theory of Interest, 1930.

    Examples
    --------
    >>> round(real_frac(0.1, 0.02), 4)
    0.0784
    """
    at_least(0, nominal_frac=nominal_frac, inflation_frac=inflation_frac)
    return (1 + nominal_frac) / (1 + inflation_frac) - 1


def residual_usd(capex_usd: Numeric, residual_frac: Numeric) -> Numeric:
    r"""Value at the end of the life, as a fixed share of the price.

    .. math:: R = \rho\,C

    Parameters
    ----------
    capex_usd : Purchase price. [USD]
    residual_frac : Share of it that is left. [1]

    Returns
    -------
    Residual value, at the end of the life. [USD]

    Examples
    --------
    >>> residual_usd(30_000.0, 0.2)
    6000.0
    """
    at_least(0, capex_usd=capex_usd)
    fraction(residual_frac=residual_frac)
    return capex_usd * residual_frac


def decayed_frac(value_decay_frac: Numeric, life_yr: Numeric) -> Numeric:
    r"""Share of the price that is left if the market value falls by a fixed share a year.

    .. math:: \rho = (1 - d)^L

    Parameters
    ----------
    value_decay_frac : Share of its value that the hardware loses a year. [1]
    life_yr : Life. [yr]

    Returns
    -------
    Residual share. [1]

    Examples
    --------
    >>> decayed_frac(0.5, 2.0)
    0.25
    """
    fraction(value_decay_frac=value_decay_frac)
    above(0, life_yr=life_yr)
    return (1 - value_decay_frac) ** life_yr


def annuity_usd_per_yr(
    capex_usd: Numeric,
    install_usd: Numeric,
    residual_usd: Numeric,
    discount_frac: Numeric,
    life_yr: Numeric,
) -> Numeric:
    r"""Yearly capital cost of a purchase, its residual value discounted.

    .. math:: A = \left(C + I - \frac{R}{(1+r)^L}\right)\mathrm{CRF}(r, L)

    Parameters
    ----------
    capex_usd, install_usd : Purchase price and installation. [USD]
    residual_usd : Value at the end of the life. [USD]
    discount_frac : Discount rate a year. [1]
    life_yr : Life. [yr]

    Returns
    -------
    Yearly capital cost. [USD/yr]

    References
    ----------
    .. [1] As for :func:`crf`.

    Examples
    --------
    >>> round(float(annuity_usd_per_yr(30_000.0, 0.0, 6_000.0, 0.08, 4.0)))
    7726
    """
    at_least(0, capex_usd=capex_usd, install_usd=install_usd, residual_usd=residual_usd)
    factor = crf(discount_frac, life_yr)
    return (capex_usd + install_usd - residual_usd / (1 + discount_frac) ** life_yr) * factor


def usd_per_used_h(usd_per_yr: Numeric, avail_frac: Numeric, load_frac: Numeric) -> Numeric:
    r"""Yearly cost spread over the hours in use.

    .. math:: p = \frac{A}{8760\,a\,u}

    Parameters
    ----------
    usd_per_yr : Yearly cost. [USD/yr]
    avail_frac : Share of the year that the hardware works, above 0. [1]
    load_frac : Share of that time that it is in use, above 0. [1]

    Returns
    -------
    Cost of an hour in use. [USD/h]

    Examples
    --------
    >>> round(usd_per_used_h(9226.1, 0.98, 0.5), 3)
    2.149
    """
    at_least(0, usd_per_yr=usd_per_yr)
    positive_fraction(avail_frac=avail_frac, load_frac=load_frac)
    return usd_per_yr / (HOURS_PER_YEAR * avail_frac * load_frac)


def colo_usd_per_yr(colo_usd_per_kw_month: Numeric, it_w: Numeric) -> Numeric:
    r"""Yearly cost of space and power capacity in a colocation site.

    .. math:: A = 12\,c\,P_{\mathrm{it}}/1000

    Parameters
    ----------
    colo_usd_per_kw_month : Price of a kilowatt of IT capacity for a month. [USD/kW/month]
    it_w : IT power that is reserved. [W]

    Returns
    -------
    Yearly cost. [USD/yr]

    Examples
    --------
    >>> colo_usd_per_yr(150.0, 1000.0)
    1800.0
    """
    at_least(0, colo_usd_per_kw_month=colo_usd_per_kw_month, it_w=it_w)
    return colo_usd_per_kw_month * MONTHS_PER_YEAR * it_w / WATTS_PER_KW


def power_usd_per_h(usd_per_kwh: Numeric, power_w: Numeric) -> Numeric:
    r"""Cost of the electricity of an hour.

    .. math:: p = k\,P/1000

    Parameters
    ----------
    usd_per_kwh : Price of electricity. [USD/kWh]
    power_w : Power at the site's meter; with idle hours charged where they are. [W]

    Returns
    -------
    Cost. [USD/h]

    Examples
    --------
    >>> round(power_usd_per_h(0.12, 750.0), 4)
    0.09
    """
    at_least(0, usd_per_kwh=usd_per_kwh, power_w=power_w)
    return usd_per_kwh * power_w / WATTS_PER_KW


def spot_usd_per_h(
    usd_per_h: Numeric, interrupts_per_h: Numeric, restart_h: Numeric, lost_h: Numeric
) -> Numeric:
    r"""Price of an hour of work on hardware that is taken away now and then.

    .. math:: p' = \frac{p}{1 - \lambda\,(t_{\mathrm{restart}} + t_{\mathrm{lost}})}

    Parameters
    ----------
    usd_per_h : Price of an hour. [USD/h]
    interrupts_per_h : Interruptions an hour. [1/h]
    restart_h : Time to start anew after each. [h]
    lost_h : Work lost at each. [h]

    Returns
    -------
    Price of an hour of work that is done. [USD/h]

    Examples
    --------
    >>> round(spot_usd_per_h(1.0, 0.1, 0.1, 0.05), 4)
    1.0152
    """
    at_least(
        0,
        usd_per_h=usd_per_h,
        interrupts_per_h=interrupts_per_h,
        restart_h=restart_h,
        lost_h=lost_h,
    )
    lost_frac = interrupts_per_h * (restart_h + lost_h)
    below(1, lost_frac=lost_frac)
    return usd_per_h / (1 - lost_frac)


def wear_usd_per_h(capex_usd: Numeric, wear_frac: Numeric) -> Numeric:
    r"""Wear of an hour of use: what it costs an owner in value, beyond what age costs anyway.

    .. math:: p = \frac{w\,C}{8760}

    Parameters
    ----------
    capex_usd : Purchase price. [USD]
    wear_frac : Share of it that a year of use around the clock wears off. [1]

    Returns
    -------
    Wear of an hour in use. [USD/h]

    Examples
    --------
    >>> round(wear_usd_per_h(2_000.0, 0.1), 4)
    0.0228
    """
    at_least(0, capex_usd=capex_usd)
    fraction(wear_frac=wear_frac)
    return capex_usd * wear_frac / HOURS_PER_YEAR


def machines_per_replica(hours_per_day: Numeric, churn_frac: Numeric) -> Numeric:
    r"""Offered machines that keep one replica up around the clock.

    .. math:: m = \frac{24}{h}\,(1 + c)

    Parameters
    ----------
    hours_per_day : Hours a day that a machine is offered, above 0. [h]
    churn_frac : Extra machines that cover those which leave. [1]

    Returns
    -------
    Machines. [1]

    Examples
    --------
    >>> round(machines_per_replica(16.0, 0.2), 2)
    1.8
    """
    above(0, hours_per_day=hours_per_day)
    at_least(0, churn_frac=churn_frac)
    return HOURS_PER_DAY / hours_per_day * (1 + churn_frac)


def with_fee(usd_per_h: Numeric, platform_fee_frac: Numeric) -> Numeric:
    r"""Price that a user pays on a platform which keeps a share of it.

    .. math:: p' = p / (1 - f)

    Parameters
    ----------
    usd_per_h : What the owner needs. [USD/h]
    platform_fee_frac : Share of the user's price that the platform keeps, below 1. [1]

    Returns
    -------
    Price to the user. [USD/h]

    Examples
    --------
    >>> with_fee(0.75, 0.25)
    1.0
    """
    at_least(0, usd_per_h=usd_per_h, platform_fee_frac=platform_fee_frac)
    below(1, platform_fee_frac=platform_fee_frac)
    return usd_per_h / (1 - platform_fee_frac)

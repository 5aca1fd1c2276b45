"""Embodied carbon of a card from what it is made of: the ACT model, and yields of large dies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hetcost.formulas import above, at_least, positive_fraction
from hetcost.units import GRAMS_PER_KG, MM2_PER_CM2

if TYPE_CHECKING:
    from hetcost.formulas import Numeric


def act_embodied(
    die_mm2: Numeric,
    epa_kwh_per_cm2: Numeric,
    gpa_gco2e_per_cm2: Numeric,
    mpa_gco2e_per_cm2: Numeric,
    ci_fab_gco2e_per_kwh: Numeric,
    yield_frac: Numeric,
    packaging_gco2e: Numeric = 0.0,
) -> Numeric:
    r"""Embodied emissions of a logic die, cradle to gate, after ACT.

    .. math:: K = A\,\frac{\mathrm{CI}\cdot\mathrm{EPA} + \mathrm{GPA} + \mathrm{MPA}}{Y}
        + K_{\mathrm{pkg}}

    Parameters
    ----------
    die_mm2 : Area of the die. [mm²]
    epa_kwh_per_cm2 : Energy of the fab per area. [kWh/cm²]
    gpa_gco2e_per_cm2 : Direct gas emissions of the fab per area. [gCO2e/cm²]
    mpa_gco2e_per_cm2 : Emissions of raw materials per area. [gCO2e/cm²]
    ci_fab_gco2e_per_kwh : Carbon intensity of the fab's electricity. [gCO2e/kWh]
    yield_frac : Share of good dies. [1]
    packaging_gco2e : Emissions of packaging the chip. [gCO2e]

    Returns
    -------
    Embodied emissions of one packaged die. [kgCO2e]

    References
    ----------
    .. [1] U. Gupta et al., ACT: Designing sustainable computer systems with an architectural
       carbon modeling tool, ISCA 2022; facebookresearch/ACT @abc9fbb.

    Examples
    --------
    >>> round(act_embodied(814.0, 2.75, 327.5, 500.0, 583.0, 0.875, 150.0), 2)
    22.76
    """
    above(0, die_mm2=die_mm2)
    at_least(
        0,
        epa_kwh_per_cm2=epa_kwh_per_cm2,
        gpa_gco2e_per_cm2=gpa_gco2e_per_cm2,
        mpa_gco2e_per_cm2=mpa_gco2e_per_cm2,
        ci_fab_gco2e_per_kwh=ci_fab_gco2e_per_kwh,
        packaging_gco2e=packaging_gco2e,
    )
    positive_fraction(yield_frac=yield_frac)
    per_cm2 = ci_fab_gco2e_per_kwh * epa_kwh_per_cm2 + gpa_gco2e_per_cm2 + mpa_gco2e_per_cm2
    return (die_mm2 / MM2_PER_CM2 * per_cm2 / yield_frac + packaging_gco2e) / GRAMS_PER_KG


def act_memory(
    memory_gb: Numeric,
    memory_kgco2e_per_gb: Numeric,
    memory_ics: Numeric,
    packaging_gco2e: Numeric,
) -> Numeric:
    r"""Embodied emissions of memory, cradle to gate, after ACT.

    .. math:: K = C\,k + N\,K_{\mathrm{pkg}}

    Parameters
    ----------
    memory_gb : Capacity. [GB]
    memory_kgco2e_per_gb : Emissions per capacity, yield included. [kgCO2e/GB]
    memory_ics : Packaged chips or stacks. [1]
    packaging_gco2e : Emissions of packaging each. [gCO2e]

    Returns
    -------
    Embodied emissions of the memory. [kgCO2e]

    References
    ----------
    .. [1] facebookresearch/ACT @abc9fbb, storage model.

    Examples
    --------
    >>> round(act_memory(24.0, 0.4, 12.0, 150.0), 2)
    11.4
    """
    at_least(
        0,
        memory_gb=memory_gb,
        memory_kgco2e_per_gb=memory_kgco2e_per_gb,
        memory_ics=memory_ics,
        packaging_gco2e=packaging_gco2e,
    )
    return memory_gb * memory_kgco2e_per_gb + memory_ics * packaging_gco2e / GRAMS_PER_KG


def murphy_yield_frac(die_mm2: Numeric, defects_per_cm2: Numeric) -> Numeric:
    r"""Share of good dies after Murphy: large dies catch more defects.

    .. math:: Y = \left(\frac{1 - e^{-AD}}{AD}\right)^2

    Parameters
    ----------
    die_mm2 : Area of the die. [mm²]
    defects_per_cm2 : Density of killing defects, above 0. [1/cm²]

    Returns
    -------
    Yield. [1]

    References
    ----------
    .. [1] B. T. Murphy, Cost-size optima of monolithic integrated circuits, Proc. IEEE 52 (1964).

    Examples
    --------
    >>> round(float(murphy_yield_frac(608.5, 0.1)), 2)
    0.56
    """
    above(0, die_mm2=die_mm2, defects_per_cm2=defects_per_cm2)
    defects = die_mm2 / MM2_PER_CM2 * defects_per_cm2
    return (-np.expm1(-defects) / defects) ** 2


def poisson_yield_frac(die_mm2: Numeric, defects_per_cm2: Numeric) -> Numeric:
    r"""Share of good dies if defects fall independently.

    .. math:: Y = e^{-AD}

    Parameters
    ----------
    die_mm2 : Area of the die. [mm²]
    defects_per_cm2 : Density of killing defects. [1/cm²]

    Returns
    -------
    Yield. [1]

    References
    ----------
    .. [1] J. A. Cunningham, The use and evaluation of yield models in integrated circuit
       manufacturing, IEEE Trans. Semicond. Manuf. 3 (1990).

    Examples
    --------
    >>> round(float(poisson_yield_frac(814.0, 0.08345)), 3)
    0.507
    """
    above(0, die_mm2=die_mm2)
    at_least(0, defects_per_cm2=defects_per_cm2)
    return np.exp(-die_mm2 / MM2_PER_CM2 * defects_per_cm2)

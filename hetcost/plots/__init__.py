"""Axes-level figures of evaluated runs: data first, ``ax=`` last, the same colour per card.

Every function draws on one Axes and returns it; a function that ends in ``_grid`` makes a
Figure of panels. Names from data are drawn literally. No global style is touched.
"""

from hetcost.plots.carbon import carbon_bars, embodied_methods
from hetcost.plots.energy import carbon_vs_grid, energy_bars, ratio_by_load
from hetcost.plots.findings import findings_by_check
from hetcost.plots.load import cost_vs_latency, cost_vs_latency_grid, scaling
from hetcost.plots.ownership import carbon_crossings, cost_by_use, ownership_bars, winner_map
from hetcost.plots.power import energy_boundaries, power_ladder
from hetcost.plots.style import GPU_COLOURS, configuration, gpu_colour
from hetcost.plots.uncertainty import factor_name, tornado, variance_shares, win_shares

__all__ = [
    "GPU_COLOURS",
    "carbon_bars",
    "carbon_crossings",
    "carbon_vs_grid",
    "configuration",
    "cost_by_use",
    "cost_vs_latency",
    "cost_vs_latency_grid",
    "embodied_methods",
    "energy_bars",
    "energy_boundaries",
    "factor_name",
    "findings_by_check",
    "gpu_colour",
    "ownership_bars",
    "power_ladder",
    "ratio_by_load",
    "scaling",
    "tornado",
    "variance_shares",
    "win_shares",
    "winner_map",
]

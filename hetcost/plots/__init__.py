"""Axes-level figures of evaluated runs: data first, ``ax=`` last, the same colour per card.

Every function draws on one Axes and returns it; a function that ends in ``_grid`` makes a
Figure of panels. Names from data are drawn literally. No global style is touched.
"""

from hetcost.plots.energy import carbon_vs_grid, energy_bars, ratio_by_load
from hetcost.plots.load import cost_vs_latency, cost_vs_latency_grid, scaling
from hetcost.plots.style import GPU_COLOURS, configuration, gpu_colour

__all__ = [
    "GPU_COLOURS",
    "carbon_vs_grid",
    "configuration",
    "cost_vs_latency",
    "cost_vs_latency_grid",
    "energy_bars",
    "gpu_colour",
    "ratio_by_load",
    "scaling",
]

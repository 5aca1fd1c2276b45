"""How sure a result is: draws, what moves it most, and which conclusions survive."""

from hetcost.uncertainty.draws import Draws, monte_carlo
from hetcost.uncertainty.repeats import repeat_noise
from hetcost.uncertainty.sensitivity import indices, sobol, tornado

__all__ = ["Draws", "indices", "monte_carlo", "repeat_noise", "sobol", "tornado"]

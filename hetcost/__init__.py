"""hetcost: cost, energy and carbon per token from measured LLM-serving benchmarks.

>>> import hetcost as hc
>>> runs = hc.load_runs("ionet-2025")
>>> chat = hc.SLO(p99_ttft_ms=300, p99_tpot_ms=50)
>>> tested = runs.pipe(hc.evaluate, hc.Scenario()).pipe(hc.meets_slo, chat)
>>> int(tested["meets_slo"].sum())
69
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hetcost import plots, report
    from hetcost.claims import audit_claims
    from hetcost.crossover import api_breakeven, breakeven, breakeven_map, breakeven_table
    from hetcost.errors import DataWarning, HetcostError
    from hetcost.frontier import pareto, sweet_spots
    from hetcost.impacts import (
        embodied_by_method,
        evaluate,
        facts_used,
        sci,
        with_carbon,
        with_cost,
        with_energy,
    )
    from hetcost.metering import attach_power
    from hetcost.power_logs import PowerScan, read_power, scan_power
    from hetcost.runs import Scan, highest_measured, load_runs, of_model, read_runs, scan_runs
    from hetcost.scenario import Range, Scenario
    from hetcost.slo import SLO, meets_slo
    from hetcost.uncertainty import Draws, monte_carlo, repeat_noise, sobol, tornado

_HOME = {
    "api_breakeven": "crossover",
    "breakeven": "crossover",
    "breakeven_map": "crossover",
    "breakeven_table": "crossover",
    "highest_measured": "runs",
    "DataWarning": "errors",
    "Draws": "uncertainty",
    "PowerScan": "power_logs",
    "HetcostError": "errors",
    "SLO": "slo",
    "Range": "scenario",
    "Scan": "runs",
    "Scenario": "scenario",
    "attach_power": "metering",
    "audit_claims": "claims",
    "embodied_by_method": "impacts",
    "diagnose": "findings",
    "evaluate": "impacts",
    "facts_used": "impacts",
    "load_runs": "runs",
    "meets_slo": "slo",
    "monte_carlo": "uncertainty",
    "repeat_noise": "uncertainty",
    "sobol": "uncertainty",
    "tornado": "uncertainty",
    "of_model": "runs",
    "pareto": "frontier",
    "plots": "",
    "read_power": "power_logs",
    "read_runs": "runs",
    "report": "",
    "scan_power": "power_logs",
    "scan_runs": "runs",
    "sci": "impacts",
    "sweet_spots": "frontier",
    "with_carbon": "impacts",
    "with_cost": "impacts",
    "with_energy": "impacts",
}

__all__ = [
    "SLO",
    "DataWarning",
    "Draws",
    "HetcostError",
    "PowerScan",
    "Range",
    "Scan",
    "Scenario",
    "api_breakeven",
    "attach_power",
    "audit_claims",
    "breakeven",
    "breakeven_map",
    "breakeven_table",
    "diagnose",
    "embodied_by_method",
    "evaluate",
    "facts_used",
    "highest_measured",
    "load_runs",
    "meets_slo",
    "monte_carlo",
    "of_model",
    "pareto",
    "plots",
    "read_power",
    "read_runs",
    "repeat_noise",
    "report",
    "scan_power",
    "scan_runs",
    "sci",
    "sobol",
    "sweet_spots",
    "tornado",
    "with_carbon",
    "with_cost",
    "with_energy",
]


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562)."""
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    home = _HOME[name]
    if not home:
        return import_module(f"{__name__}.{name}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

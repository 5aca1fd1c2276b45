"""The data dictionary, and checks of frames against it."""

from hetcost.columns.checks import (
    check,
    conform,
    numbers,
    numbers_or_missing,
    one_accounting,
    out_of_bounds,
    require,
)
from hetcost.columns.column import Column
from hetcost.columns.dictionary import (
    CARBON_STAGES,
    COLUMNS,
    DTYPES,
    ENERGY_BOUNDARIES,
    SCI_UNITS,
    TOKEN_BASES,
    label,
)
from hetcost.columns.runs import LATENCIES, OPTIONAL_RUN_COLUMNS, RUN_COLUMNS, STATISTICS

__all__ = [
    "CARBON_STAGES",
    "COLUMNS",
    "DTYPES",
    "ENERGY_BOUNDARIES",
    "LATENCIES",
    "OPTIONAL_RUN_COLUMNS",
    "RUN_COLUMNS",
    "SCI_UNITS",
    "STATISTICS",
    "TOKEN_BASES",
    "Column",
    "check",
    "conform",
    "label",
    "numbers",
    "numbers_or_missing",
    "one_accounting",
    "out_of_bounds",
    "require",
]

"""Published claims, recomputed from the published runs, with a verdict.

``data/claims.csv`` states each claim as a range with a tolerance and names what has to be
recomputed; :mod:`hetcost.claims.quantities` recomputes it. The verdict follows from the numbers
alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from hetcost.claims.quantities import QUANTITIES, Finding, Published
from hetcost.errors import ReferenceDataError, unknown_name
from hetcost.resources import data_dir

__all__ = ["audit_claims", "stated"]

READING = "as_published"
REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
NOT_COMPUTABLE = "not computable yet"


def audit_claims() -> pd.DataFrame:
    """Recompute every published claim and compare.

    Returns
    -------
    One row per claim: ``claim reading stated unit recomputed rows verdict cause why``. The
    verdict is ``reproduced``, ``not reproduced`` or ``not computable yet``; ``rows`` are run
    ids; ``cause`` says what a difference, or the figure itself, rests on.

    Raises
    ------
    ReferenceDataError
        ``data/claims.csv`` asks for a quantity or test that does not exist.
    """
    published = Published()
    rows = [_audit(claim, published) for _, claim in _claims().iterrows()]
    return pd.DataFrame(rows)


def stated(claim: str) -> float:
    """Return the number that a published claim states, the upper one of a range.

    Raises
    ------
    UnknownNameError
        There is no such claim; the message lists the nearest.
    """
    table = _claims().set_index("claim")
    if claim not in table.index:
        raise unknown_name("claim", claim, table.index)
    return float(table["high"][claim] or "nan")


def _claims() -> pd.DataFrame:
    return pd.read_csv(data_dir() / "claims.csv", dtype="str", keep_default_na=False)


def _audit(claim: pd.Series, published: Published) -> dict[str, str]:
    high = float(claim["high"] or "nan")
    ends = (float(claim["low"] or high), high)
    row = {
        "claim": claim["claim"],
        "reading": READING,
        "stated": _WORDS.get(claim["test"], "") + _range(*ends),
        "unit": claim["unit"],
        "recomputed": "",
        "rows": "",
        "verdict": NOT_COMPUTABLE,
        "cause": claim["cause"],
        "why": claim["note"],
    }
    if not claim["quantity"]:
        return row
    if claim["quantity"] not in QUANTITIES or claim["test"] not in TESTS:
        message = f"claims.csv, {claim['claim']}: unknown quantity or test"
        raise ReferenceDataError(message)
    found = QUANTITIES[claim["quantity"]](published)
    agrees = TESTS[claim["test"]](found, ends, float(claim["tolerance_frac"]))
    return row | {
        "recomputed": _range(found.low, found.high),
        "rows": " ".join(found.rows),
        "verdict": REPRODUCED if agrees else NOT_REPRODUCED,
        "why": found.why,
    }


def _range(low: float, high: float) -> str:
    if np.isnan(low):
        return ""
    return f"{low:.4g}" if f"{low:.4g}" == f"{high:.4g}" else f"{low:.4g} to {high:.4g}"


def _close(value: float, stated: float, tolerance_frac: float) -> bool:
    return abs(value - stated) <= tolerance_frac * abs(stated)


_WORDS = {"highest": "up to ", "at most": "at most ", "below": "below "}
TESTS: dict[str, Callable[[Finding, tuple[float, float], float], bool]] = {
    "equal": lambda f, s, t: _close(f.low, s[0], t) and _close(f.high, s[1], t),
    "highest": lambda f, s, t: _close(f.high, s[1], t),
    "at most": lambda f, s, t: f.high <= s[1] * (1 + t),
    "below": lambda f, s, t: f.high < s[1] * (1 - t),
}

"""What runs can be used for: of which no check has found what would spoil it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hetcost.findings import CHECKS
from hetcost.findings.check import plain
from hetcost.findings.load import saturated

FELL_BEHIND = "fell_behind"
_LOAD = (
    "burst",
    "littles_law",
    "memory",
    "request_counts",
    "short_run",
    "survivors",
    "token_sum",
    "warm_prefix",
)
_FIRST = (
    *_LOAD,
    "client_limit",
    "cold_start",
    "e2e_identity",
    "falling_latency",
    FELL_BEHIND,
    "latency_units",
    "merged_chunks",
    "percentile_order",
    "ttft_over_e2e",
)
_TIMED = ("completed", "request_rate_per_s", "duration_s", "prefix_state")
_STREAMED = (*_TIMED, "mean_ttft_ms", "mean_itl_ms", "mean_tpot_ms")
# For each use the checks whose findings spoil it, and what a run must tell to be checked.
USES = {
    "throughput at a steady load": (_LOAD, (*_TIMED, "out_tok_per_s")),
    "first-token latency": (_FIRST, _STREAMED),
    "P99 of first-token latency": ((*_FIRST, "few_requests"), (*_STREAMED, "p99_ttft_ms")),
}
# These compare figures or runs, and spoil no run by itself.
COMPARISONS = ("rate_differs", "gpu_identity", "power", "duplicate", "mixed_dtypes")


def flags(runs: pd.DataFrame) -> pd.DataFrame:
    """Return which check found something of which run: a column of flags for each check.

    ``fell_behind`` says where the server fell behind an offered rate: latency then grows with the
    length of the run.
    """
    rows = plain(runs, "flags")
    found = {check.name: check.find(rows) != "" for check in CHECKS}
    rates = pd.to_numeric(rows.get("request_rate_per_s", pd.Series(np.nan, rows.index)))
    behind = saturated(rows).fillna(value=False).to_numpy(dtype=bool)
    found[FELL_BEHIND] = behind & np.isfinite(rates.to_numpy(dtype="float64", na_value=np.nan))
    return pd.DataFrame(found, index=rows.index).set_axis(runs.index)


def standing(runs: pd.DataFrame) -> pd.DataFrame:
    """Say of every run whether it stands, for each use: yes, no or not known.

    Parameters
    ----------
    runs : Rows in the run columns.

    Returns
    -------
    One column per use. *No*: a check found what spoils it. *Not known*: the run does not tell what
    the checks need.

    Examples
    --------
    >>> import hetcost as hc
    >>> standing(hc.load_runs("ionet-2025"))["P99 of first-token latency"].unique().tolist()
    ['no']
    """
    found, told = flags(runs), _told(runs)
    out = {}
    for use, (checks, facts) in USES.items():
        spoilt, silent = found[[*checks]].any(axis=1), ~told[[*facts]].all(axis=1)
        out[use] = np.select([spoilt, silent], ["no", "not known"], "yes")
    return pd.DataFrame(out, index=runs.index)


def uses(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per use: how many runs stand, and why the others do not.

    Parameters
    ----------
    runs : Rows in the run columns.

    Returns
    -------
    ``use``, the numbers ``stand spoilt not_known``, ``spoilt_by`` (checks, with their numbers of
    runs) and ``lacks`` (what the runs not known do not tell, with their numbers).
    """
    found, told, verdicts = flags(runs), _told(runs), standing(runs)
    rows = []
    for use, (checks, facts) in USES.items():
        verdict = verdicts[use]
        lacking = (~told.loc[verdict == "not known", [*facts]]).sum()
        rows.append(
            {
                "use": use,
                "stand": int((verdict == "yes").sum()),
                "spoilt": int((verdict == "no").sum()),
                "spoilt_by": _counted(found[[*checks]].sum()),
                "not_known": int((verdict == "not known").sum()),
                "lacks": _counted(lacking),
            }
        )
    return pd.DataFrame(rows)


def _told(runs: pd.DataFrame) -> pd.DataFrame:
    names = dict.fromkeys(name for _, facts in USES.values() for name in facts)
    told = {name: runs[name].notna() if name in runs else False for name in names}
    if "prefix_state" in runs:
        told["prefix_state"] &= runs["prefix_state"].astype("object") != "unknown"
    return pd.DataFrame(told, index=runs.index)


def _counted(numbers: pd.Series) -> str:
    ranked = numbers[numbers > 0].sort_values(ascending=False, kind="stable")
    return ", ".join(f"{str(name).replace('_', ' ')} {count}" for name, count in ranked.items())

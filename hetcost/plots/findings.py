"""What checks found of runs: how many each of them concerns, worst first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from hetcost.columns import require
from hetcost.findings.check import Severity
from hetcost.plots import bars, style
from hetcost.plots.bars import Bar

# The worse, the darker: apart for every eye, in print too. No card has these; words say it as well.
_SHADES: Mapping[str, str] = {"error": "#7A1021", "warning": "#D9774F", "note": "#B3B3B3"}
_SEVERITIES = get_args(Severity)
_BAR_IN = 0.3
_TICKS = 8


def counted(number: int, noun: str, many: str = "") -> str:
    """Write a number of things, in the singular where it is one.

    Examples
    --------
    >>> counted(1, "run"), counted(1016, "run"), counted(0, "entry", "entries")
    ('1 run', '1,016 runs', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def findings_by_check(
    found: pd.DataFrame,
    runs: pd.DataFrame,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how many runs each check found something of, and their share of all runs.

    Parameters
    ----------
    found : Rows of :func:`hetcost.diagnose`: ``check severity``, one per check and run.
    runs : The runs that were checked.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes. Bars stand worst severity first, then by number; the shade is that of the
    severity, which is written as well.
    """
    require(found, ["check", "severity"], "plots.findings_by_check")
    require(runs, [], "plots.findings_by_check")
    counts = found.groupby(["check", "severity"], sort=False).size().rename("runs").reset_index()
    counts = counts.assign(rank=counts["severity"].map(_rank))
    counts = counts.sort_values(["rank", "runs"], ascending=[True, False], kind="stable")
    groups = {
        str(check).replace("_", " "): [_bar(severity, number, len(runs))]
        for check, severity, number in counts[["check", "severity", "runs"]].itertuples(index=False)
    }
    ax = style.axes(ax, bars.height_in(groups.values(), _BAR_IN))
    bars.draw(ax, groups)
    all_runs = counted(len(runs), "run")
    if not groups:
        ax.text(0.5, 0.5, f"nothing was found of {all_runs}", ha="center", transform=ax.transAxes)
    ax.set_xlim(0, max(len(runs), ax.get_xlim()[1]))
    locator = MaxNLocator(nbins=_TICKS, integer=True, min_n_ticks=1)
    ticks = locator.tick_values(0, len(runs))
    ax.set_xticks([tick for tick in ticks if tick <= len(runs)])  # beyond stand only texts
    ax.set_xlabel(f"Runs that a check found something of (of {all_runs})")
    return bars.finish(ax, title)


def _rank(severity: str) -> int:
    return _SEVERITIES.index(severity) if severity in _SEVERITIES else len(_SEVERITIES)


def _bar(severity: str, number: int, runs: int) -> Bar:
    percent = f"{100 * number / max(runs, 1):.0f}" if 200 * number >= runs else "under 1"
    text = f"{severity}: {number:,} of {counted(runs, 'run')} ({percent} %)"
    return Bar((number,), _SHADES.get(severity, style.OTHER_COLOUR), text)

"""The figure of what checks found of runs."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import assert_nothing_is_cut_off, every_text
from matplotlib.colors import to_rgb
from matplotlib.text import Text

import hetcost as hc
from hetcost import findings, plots
from hetcost.errors import ColumnError
from hetcost.plots.findings import counted

TITLE = "A finding long enough to need two lines in the width of a figure, says the test"


@pytest.fixture(scope="module")
def found(runs):
    return hc.diagnose(runs)


def _of(*counts):
    rows = [(check, severity) for check, severity, number in counts for _ in range(number)]
    return pd.DataFrame(rows, columns=["check", "severity"])


def _names(ax):
    return [text.get_text().replace("\n", " ") for text in ax.get_yticklabels()]


def _lightness(colour):
    return float(np.dot(to_rgb(colour), (0.2126, 0.7152, 0.0722)))


def test_a_bar_is_the_number_of_runs_of_a_check(runs, found):
    ax = plots.findings_by_check(found, runs)
    counts = found["check"].value_counts()
    drawn = dict(zip(_names(ax), (bar.get_width() for bar in ax.patches), strict=True))
    assert drawn == {check.replace("_", " "): number for check, number in counts.items()}
    written = {text.get_text() for text in ax.texts}
    burst = counts["burst"]
    assert f"warning: {burst} of 130 runs ({burst / 1.3:.0f} %)" in written
    assert "(of 130 runs)" in ax.get_xlabel()


def test_the_worst_severity_stands_first_then_the_most_frequent(runs):
    mixed = _of(
        ("few", "note", 9), ("rare", "warning", 1), ("many", "warning", 5), ("sum", "error", 2)
    )
    ax = plots.findings_by_check(mixed, runs)
    assert ax.yaxis.get_inverted()
    assert _names(ax) == ["sum", "many", "rare", "few"]
    said = [text.get_text().partition(":")[0] for text in ax.texts]
    assert said == ["error", "warning", "warning", "note"], "words, not colour alone"
    shades = [_lightness(bar.get_facecolor()[:3]) for bar in ax.patches]
    assert shades[1] == shades[2]
    assert shades[1] - shades[0] > 0.2
    assert shades[3] - shades[1] > 0.1


def test_a_severity_has_no_cards_colour(runs):
    ax = plots.findings_by_check(
        _of(("a", "error", 1), ("b", "warning", 1), ("c", "note", 1)), runs
    )
    cards = {to_rgb(colour) for colour in plots.GPU_COLOURS.values()}
    assert not cards & {bar.get_facecolor()[:3] for bar in ax.patches}


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "nothing was found of 0 runs"), (1, "nothing was found of 1 run")],
)
def test_where_nothing_was_found_that_is_said(runs, found, number, text):
    ax = plots.findings_by_check(found.iloc[:0], runs.head(number), title=TITLE)
    assert [each.get_text() for each in ax.texts] == [text]
    assert not ax.patches
    assert_nothing_is_cut_off(ax)


def test_one_run_is_written_as_one(runs):
    ax = plots.findings_by_check(_of(("burst", "warning", 1)), runs.head(1))
    assert [text.get_text() for text in ax.texts] == ["warning: 1 of 1 run (100 %)"]
    assert "(of 1 run)" in ax.get_xlabel()
    assert ax.get_xticks().tolist() == [0, 1]


def test_a_small_share_is_not_written_as_none(runs):
    many = pd.concat([runs] * 3)
    ax = plots.findings_by_check(_of(("burst", "warning", 1)), many)
    assert ax.texts[0].get_text() == "warning: 1 of 390 runs (under 1 %)"


def test_ticks_are_whole_runs_and_end_with_them(runs):
    for number in (1, 2, 3, 7, 130):
        ax = plots.findings_by_check(_of(("burst", "warning", number)), runs.head(number))
        ticks = ax.get_xticks()
        assert (ticks % 1 == 0).all()
        assert ticks.max() <= number
        assert ax.get_xlim()[1] >= number


def test_it_draws_on_the_axes_it_is_given_and_touches_nothing_else(runs, found):
    before = dict(mpl.rcParams)
    copies = found.copy(deep=True), runs.copy(deep=True)
    _, (ax, other) = plt.subplots(1, 2)
    assert plots.findings_by_check(found, runs, title="A finding", ax=ax) is ax
    assert not other.has_data()
    assert dict(mpl.rcParams) == before
    pd.testing.assert_frame_equal(found, copies[0])
    pd.testing.assert_frame_equal(runs, copies[1])
    assert ax.get_title(loc="left") == "A finding"


def test_no_text_is_cut_off_with_every_check_there_is(runs):
    checks = [(each.name, each.severity, 1 + 7 * i) for i, each in enumerate(findings.CHECKS)]
    ax = plots.findings_by_check(_of(*checks), runs, title=TITLE)
    assert_nothing_is_cut_off(ax)
    assert len(every_text(ax)) >= 2 * len(checks)


def test_what_is_missing_is_named(runs, found):
    with pytest.raises(ColumnError, match=r"plots.findings_by_check.*severity"):
        plots.findings_by_check(found.drop(columns="severity"), runs)
    with pytest.raises(ColumnError, match=r"plots.findings_by_check.*not list"):
        plots.findings_by_check(found, [])


def test_names_are_drawn_literally(runs):
    ax = plots.findings_by_check(_of((r"a$x^2\frac$", r"w$\frac$", 3)), runs, title=r"5 $ \frac$")
    ax.figure.canvas.draw()
    assert not any(text.get_parse_math() for text in ax.findobj(Text))


def test_numbers_of_things():
    assert counted(1, "entry", "entries") == "1 entry"
    assert [counted(n, "run") for n in (0, 1, 2, 1000)] == [
        "0 runs",
        "1 run",
        "2 runs",
        "1,000 runs",
    ]

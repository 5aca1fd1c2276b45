"""Figures of owning, of break-evens, and of what is uncertain."""

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import MODEL_14B, assert_nothing_is_cut_off, every_text
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import hetcost as hc
from hetcost import plots
from hetcost.errors import ColumnError

H100, RTX = "H100 PCIe 80GB", "RTX 4090"
COST = "usd_per_mtok_out"
TITLE = "A finding long enough to need two lines in the width of a figure, says the test"
SIDES = (f"gpu == '{RTX}' and n_gpus == 2", f"gpu == '{H100}'")
NAMED = {"names": ("pair", "H100"), "gpus": (RTX, H100)}
WAYS = {"rented": "rent", "owned": "own", "idle otherwise": "idle"}


@pytest.fixture(scope="module")
def rows():
    runs = hc.of_model(hc.highest_measured(hc.load_runs("ionet-2025")), MODEL_14B)
    return runs.assign(name=list(map(plots.configuration, runs["gpu"], runs["n_gpus"])))


def _ways(rows):
    parts = [
        hc.evaluate(rows, hc.Scenario(acquisition=way)).assign(way=name)
        for name, way in WAYS.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _use(rows):
    parts = []
    for share in (0.05, 0.2, 1.0):
        owned = hc.evaluate(rows.iloc[:2], hc.Scenario(acquisition="own", load_frac=share))
        parts.append(owned.assign(way="owned"))
        parts.append(hc.evaluate(rows.iloc[:2]).assign(way="rented", load_frac=share))
    lines = pd.concat(parts)
    return lines.assign(name=lines["name"] + ", " + lines["way"])


def _map(rows, **changes):
    own = hc.Scenario(acquisition="own", **changes)
    vary = {"vary": ("load_frac", "usd_per_kwh"), "side": ("a", "a"), "points": (40, 30)}
    return hc.breakeven_map(rows, *SIDES, own, on=COST, **vary)


def _crossings(rows):
    over = {
        "method": {name: {"embodied_method": name} for name in ("inventory", "boavizta")},
        "site": {"home": {}, "one": {"site": "datacentre"}},
    }
    on = {"vary": "gco2e_per_kwh", "on": "gco2e_per_mtok_out"}
    return hc.breakeven_table(rows, *SIDES, over=over, **on)


def _shares(rows):
    draws = hc.monte_carlo(rows, n=64)
    parts = [
        draws.beats(f"gpu == '{RTX}' and n_gpus == {n}", SIDES[1], on="gco2e_per_mtok_out").assign(
            case=f"{n} cards", question="carbon, at home"
        )
        for n in (2, 4, 8)
    ]
    frame = pd.concat(parts)
    return pd.concat([frame, frame.assign(question="cost", p_a_beats_b=[0.5, 0.96, 0.94])])


def _tornado(rows):
    return hc.tornado(rows, SIDES[0], b=SIDES[1], on="gco2e_per_mtok_out")


def _sobol(rows):
    return hc.sobol(rows, SIDES[0], b=SIDES[1], on="gco2e_per_mtok_out", n=64)


GRIDS = pd.DataFrame({"name": ["Sweden", "European Union"], "gco2e_per_kwh": [44.0, 258.0]})
MARKS = pd.DataFrame({"load_frac": [0.3], COST: [0.358], "text": ["30 %"]})
FIGURES = {
    plots.ownership_bars: (_ways, {}, COST),
    plots.cost_by_use: (_use, {"marks": MARKS}, "way"),
    plots.winner_map: (_map, {"x": "load_frac", "y": "usd_per_kwh", **NAMED}, "a_over_b"),
    plots.carbon_crossings: (
        _crossings,
        {"grids": GRIDS, "over": {"method": "Method", "site": "Site"}, **NAMED},
        "crossing",
    ),
    plots.win_shares: (_shares, NAMED, "p_a_beats_b"),
    plots.tornado: (_tornado, {"result": "Carbon over carbon (ratio)"}, "at_high"),
    plots.variance_shares: (_sobol, {}, "total_order"),
}
each_figure = pytest.mark.parametrize("function", FIGURES, ids=lambda function: function.__name__)


@each_figure
def test_a_figure_draws_on_the_axes_it_is_given_and_touches_nothing_else(function, rows):
    before = dict(mpl.rcParams)
    data, own, _ = FIGURES[function]
    frame = data(rows)
    untouched = frame.copy(deep=True)
    _, (ax, other) = plt.subplots(1, 2, figsize=(18, 6))
    assert function(frame, ax=ax, title="A finding", **own) is ax
    assert not other.has_data()
    assert dict(mpl.rcParams) == before
    pd.testing.assert_frame_equal(frame, untouched)
    assert ax.get_title(loc="left") == "A finding"
    if function is not plots.winner_map:
        assert "(" in ax.get_xlabel(), "units stand on the axis"


@each_figure
def test_a_missing_column_is_named(function, rows):
    data, own, column = FIGURES[function]
    with pytest.raises(ColumnError, match=f"plots.{function.__name__}.*{column}"):
        function(data(rows).drop(columns=column), **own)


@each_figure
def test_no_text_is_cut_off_or_written_over_another(function, rows):
    data, own, _ = FIGURES[function]
    ax = function(data(rows), title=TITLE, **own)
    assert_nothing_is_cut_off(ax)
    for one, other in itertools.combinations(every_text(ax), 2):
        overlap = one.get_window_extent().padded(-1).overlaps(other.get_window_extent().padded(-1))
        assert not overlap, (one.get_text(), other.get_text())


@each_figure
def test_texts_are_literal_and_break_no_drawing(function, rows):
    data, own, _ = FIGURES[function]
    hostile = data(rows)
    for column in ("name", "way", "method", "site", "case", "question", "factor"):
        if column in hostile:
            hostile[column] = hostile[column] + r" $x_{\frac$"
    ax = function(hostile, title=r"5 $ and \frac$ " * 12, **own)
    ax.figure.canvas.draw()
    assert not any(text.get_parse_math() for text in ax.findobj(Text))


@each_figure
def test_nothing_known_is_an_empty_figure(function, rows):
    data, own, _ = FIGURES[function]
    ax = function(data(rows).iloc[:0], title="Nothing", **own)
    ax.figure.canvas.draw()
    assert not ax.patches


def test_shares_of_owned_hardware_add_up_and_a_rent_is_one_bar(rows):
    costs = _ways(rows)
    ax = plots.ownership_bars(costs)
    widths = [bar.get_width() for bar in ax.patches]
    rented = len(rows)
    np.testing.assert_allclose(widths[:rented], costs[COST].iloc[:rented])
    owned = np.array(widths[rented:]).reshape(-1, 3)
    np.testing.assert_allclose(owned.sum(axis=1), costs[COST].iloc[rented:])
    assert any("electricity" in text.get_text() for text in ax.texts)
    assert "lightest: electricity" in ax.get_xlabel()


def test_lines_of_use_are_named_ringed_and_told_apart_by_dash(rows):
    lines = _use(rows)
    ax = plots.cost_by_use(lines, MARKS)
    assert {text.get_text() for text in ax.texts} == {*lines["name"], "30 %"}
    assert len({line.get_linestyle() for line in ax.lines}) == 2
    for line in ax.lines:
        assert max(line.get_xdata()) == pytest.approx(100)


def test_the_map_is_coloured_by_the_winner_and_ties_lie_on_the_break_even(rows):
    frame = _map(rows)
    other = {"tie in one place": _map(rows, site="datacentre")}
    level = {"homes": 0.245, "beyond": 9.0}
    named = {"x": "load_frac", "y": "usd_per_kwh", **NAMED, "tie": "tie at home"}
    ax = plots.winner_map(frame, other, levels=level, **named)
    (mesh,) = [c for c in ax.collections if c.get_array() is not None and c.get_array().size > 9]
    assert np.asarray(mesh.get_array(), dtype=float).mean() == pytest.approx(
        (frame["a_over_b"] < 1).mean()
    )
    said = {text.get_text() for text in ax.texts}
    assert said == {
        "homes",
        "costs less:\npair",
        "costs less:\nH100",
        "tie at home",
        "tie in one place",
    }
    own = hc.Scenario(acquisition="own", usd_per_kwh={RTX: 0.25})
    tie = hc.breakeven(rows, *SIDES, own, vary="load_frac", side="a", on=COST)["crossing"].item()
    at = frame[np.isclose(frame["usd_per_kwh"], frame["usd_per_kwh"].unique()[7])]
    losing, winning = at.loc[at["wins"] == "b", "load_frac"], at.loc[at["wins"] == "a", "load_frac"]
    assert losing.max() < tie + 0.03
    assert winning.min() > tie - 0.03


def test_hues_and_dots_of_grids_tell_the_table(rows):
    frame = _crossings(rows).assign(crossing=[100.0, np.nan, 400.0, np.nan])
    frame["wins_below"], frame["wins_above"] = ["a", "a", "b", "b"], ["b", "a", "a", "b"]
    ax = plots.carbon_crossings(
        frame, GRIDS, over={"method": "Method"}, bounds=(0.0, 1000.0), **NAMED
    )
    meshes = [c for c in ax.collections if c.get_array() is not None]
    assert len(meshes) == 2
    first, second = (np.asarray(mesh.get_array(), dtype=float).ravel() for mesh in meshes)
    assert (first[0], first[-1]) == (1.0, 0.5), "one of two wins throughout, one below"
    assert (second[0], second[-1]) == (0.0, 0.5)
    said = [text.get_text() for text in ax.texts]
    assert " 50 %     0 %" in said
    assert "  0 %    50 %" in said
    assert {"Sweden 44", "European Union 258"} <= set(said)
    dots = [c for c in ax.collections if c.get_array() is None and len(c.get_offsets())]
    assert sorted(float(dot.get_offsets()[0][0]) for dot in dots) == [100.0, 400.0]


def test_what_is_sure_is_framed(rows):
    ax = plots.win_shares(_shares(rows), **NAMED)
    cells = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    framed = [to_rgb(cell.get_edgecolor()) == to_rgb(plots.style.INK) for cell in cells]
    assert framed[-3:] == [False, True, False]
    bold = [text.get_fontweight() == "bold" for text in ax.texts]
    assert bold == framed
    assert [text.get_text() for text in ax.texts][-3:] == ["0.50", "0.96", "0.94"]


def test_a_tornado_has_its_widest_bar_on_top_and_names_ends(rows):
    frame = _tornado(rows)
    ax = plots.tornado(frame, result="Ratio (1)", count=3)
    assert len(ax.patches) == 6
    reach = np.array([bar.get_width() for bar in ax.patches]).reshape(3, 2)
    spans = reach.max(axis=1).clip(0) - reach.min(axis=1).clip(None, 0)
    np.testing.assert_allclose(spans, frame["span"].head(3))
    assert ax.get_yticklabels()[0].get_text() == "board power (W), RTX 4090"
    assert {"247.5", "450"} <= {text.get_text() for text in ax.texts}
    low, high = ax.get_xlim()
    assert low < 1 < high, "the tie is on the page"


def test_choices_of_a_tornado_have_no_ends(rows):
    choices = {"embodied_method": ["inventory", "boavizta"]}
    on = {"on": "gco2e_per_mtok_out", "facts": False, "choices": choices}
    frame = hc.tornado(rows, SIDES[0], b=SIDES[1], **on)
    ax = plots.tornado(frame, result="Ratio (1)", tie=None)
    assert [text.get_text() for text in ax.texts if text.get_text()] == []
    assert ax.get_yticklabels()[0].get_text() == "embodied method"


def test_shares_of_variance_are_marks_at_both_indices(rows):
    frame = _sobol(rows)
    ax = plots.variance_shares(frame, count=4)
    first, total = (line.get_xdata() for line in ax.lines)
    np.testing.assert_allclose(first, frame["first_order"].head(4))
    np.testing.assert_allclose(total, frame["total_order"].head(4))
    assert len(ax.get_yticks()) == 4

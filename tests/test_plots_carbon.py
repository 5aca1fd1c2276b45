"""Figures of the power ladder, of boundaries, and of carbon by grid and by method."""

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import assert_nothing_is_cut_off, every_text
from matplotlib.colors import to_rgb
from matplotlib.text import Text

import hetcost as hc
from hetcost import plots, published, reference
from hetcost.errors import ColumnError
from hetcost.plots import bars

PAIR, H100 = "2× RTX 4090 at 4/s", "H100 PCIe at 4/s"
CARDS = ["H100 PCIe 80GB", "RTX 4090"]
RUNGS = ("nameplate", "load", "all_in")
BOUNDARIES = ("gate", "end_of_life", "host")
ENERGY = "site_j_per_tok_out"
TITLE = "A finding long enough to need two lines in the width of a figure, says the test"


def _both(scenario):
    """Return the pair and the H100 at 4 requests/s each, evaluated."""
    runs = published.table2_runs().pipe(hc.evaluate, scenario).set_index("row").loc[[6, 5]]
    return runs.assign(name=[PAIR, H100])


def _ladder():
    parts = []
    for rung in RUNGS:
        part = _both(hc.Scenario(power_model=rung)).assign(rung=rung)
        for side in ("lo", "hi"):
            bound = part.assign(gpu_power_w=part[f"gpu_w_load_{side}"])
            part[f"{ENERGY}_{side}"] = hc.evaluate(bound, hc.Scenario(power_model="measured"))[
                ENERGY
            ]
        parts.append(part)
    return pd.concat(parts)


def _stack():
    zones = {"SE": "Sweden\n44 g/kWh", "EU27": "European Union\n258 g/kWh"}
    parts = [_both(hc.Scenario(grid_zone=z)).assign(grid=name) for z, name in zones.items()]
    return pd.concat(parts)


def _methods():
    parts = [
        hc.embodied_by_method(CARDS, hc.Scenario(embodied_boundary=boundary))
        for boundary in BOUNDARIES
    ]
    return pd.concat(parts)


def _hosts():
    sites = reference.facts("sites").query("quantity == 'host_kgco2e_per_gpu'")
    cards = {"datacentre": "H100 PCIe 80GB", "home": "RTX 4090"}
    sites = sites[sites["entity"].isin(cards)]
    return sites.assign(gpu=sites["entity"].map(cards), kgco2e=sites["value"].astype(float))


FIGURES = {
    plots.power_ladder: (_ladder, {"over": PAIR}, ENERGY),
    plots.energy_boundaries: (lambda: _both(hc.Scenario()), {}, "it_j_per_tok_out"),
    plots.carbon_bars: (_stack, {}, "op_gco2e_per_mtok_out"),
    plots.embodied_methods: (_methods, {}, "kgco2e"),
}
each_figure = pytest.mark.parametrize("function", FIGURES, ids=lambda function: function.__name__)


def _drawn(function, **options):
    data, own, _ = FIGURES[function]
    return function(data(), **own, **options)


@each_figure
def test_a_figure_draws_on_the_axes_it_is_given_and_touches_nothing_else(function):
    before = dict(mpl.rcParams)
    data, own, _ = FIGURES[function]
    frame = data()
    untouched = frame.copy(deep=True)
    _, (ax, other) = plt.subplots(1, 2, figsize=(16, 5))
    assert function(frame, ax=ax, title="A finding", **own) is ax
    assert not other.has_data()
    assert dict(mpl.rcParams) == before
    pd.testing.assert_frame_equal(frame, untouched)
    assert ax.get_title(loc="left") == "A finding"
    assert "(" in ax.get_xlabel(), "units stand on the axis"


@each_figure
def test_a_missing_column_is_named(function):
    data, own, column = FIGURES[function]
    with pytest.raises(ColumnError, match=f"plots.{function.__name__}.*{column}"):
        function(data().drop(columns=column), **own)


@each_figure
def test_no_text_is_cut_off_or_written_over_another(function):
    options = {"hosts": _hosts()} if function is plots.embodied_methods else {}
    ax = _drawn(function, title=TITLE, **options)
    assert_nothing_is_cut_off(ax)
    for one, other in itertools.combinations(every_text(ax), 2):
        overlap = one.get_window_extent().padded(-1).overlaps(other.get_window_extent().padded(-1))
        assert not overlap, (one.get_text(), other.get_text())


@each_figure
def test_texts_are_literal_and_break_no_drawing(function):
    data, own, _ = FIGURES[function]
    hostile = data()
    for column in ("name", "rung", "grid", "method"):
        if column in hostile:
            hostile[column] = hostile[column] + r" $x_{\frac$"
    own = {"over": hostile["name"].iloc[0]} if own else {}
    ax = function(hostile, title=r"5 $ and \frac$ " * 12, **own)
    ax.figure.canvas.draw()
    assert not any(text.get_parse_math() for text in ax.findobj(Text))


@each_figure
def test_nothing_known_is_an_empty_figure(function):
    data, own, _ = FIGURES[function]
    ax = function(data().iloc[:0], title="Nothing", **own)
    ax.figure.canvas.draw()
    assert not ax.patches


def test_bars_of_the_ladder_are_energies_and_their_texts_the_ratios():
    ladder = _ladder()
    ax = plots.power_ladder(ladder, over=PAIR)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], ladder[ENERGY])
    written = [text.get_text() for text in ax.texts]
    ratios = ladder.loc[6, ENERGY].to_numpy() / ladder.loc[5, ENERGY].to_numpy()
    said = [text for text in written if "ratio" in text]
    assert [float(text.rsplit(" ", 1)[1]) for text in said] == ratios.round(1).tolist()
    assert len(ax.containers) == len(ladder) + 2, "only power by load has bounds"
    assert not any("ratio" in text.get_text() for text in plots.power_ladder(ladder).texts)


def test_a_missing_energy_is_no_bar():
    ladder = _ladder()
    ladder.loc[ladder["rung"] == "load", ENERGY] = np.nan
    ax = plots.power_ladder(ladder, over=PAIR)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["nameplate", "all_in"]


def test_boundaries_add_up_to_the_site():
    both = _both(hc.Scenario())
    ax = plots.energy_boundaries(both)
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(2, 3)
    np.testing.assert_allclose(widths.sum(axis=1), both[ENERGY])
    np.testing.assert_allclose(widths[:, 0], both["gpu_j_per_tok_out"])
    assert widths[0, 2] == pytest.approx(0), "at home nothing is added"
    assert {"boards", "+ site (PUE)"} <= {text.get_text() for text in ax.texts}


def test_emissions_are_stacked_and_say_what_is_embodied():
    stack = _stack()
    ax = plots.carbon_bars(stack)
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(4, 2)
    np.testing.assert_allclose(widths.sum(axis=1), stack["gco2e_per_mtok_out"])
    share = stack["emb_gco2e_per_mtok_out"] / stack["gco2e_per_mtok_out"] * 100
    for text, wanted in zip(ax.texts, share, strict=True):
        assert f"{wanted:.0f} % embodied" in text.get_text()
    assert PAIR in ax.texts[0].get_text()
    left_out = plots.carbon_bars(_both(hc.Scenario(embodied_method="none")).assign(grid="EU27"))
    assert len(left_out.patches) == 2
    assert all("embodied not counted" in text.get_text() for text in left_out.texts)


def test_every_method_has_its_row_and_the_unassessed_card_is_called_so():
    methods, hosts = _methods(), _hosts()
    ax = plots.embodied_methods(methods, hosts)
    rows = [tick.get_text() for tick in ax.get_yticklabels()]
    of_each = methods.groupby("gpu")["method"].nunique().sum()
    assert len(rows) == of_each + 2 * len(CARDS), "a name and a row of hosts for each card"
    assert "ACT, Murphy yield" in rows
    said = [text for text in ax.texts if "no life-cycle assessment" in text.get_text()]
    assert [rows[round(text.xy[1])] for text in said] == ["RTX 4090"]
    drawn = np.concatenate([line.get_xdata() for line in ax.lines])
    assert set(methods["kgco2e"].round(6)) <= set(drawn.round(6))
    assert "used here: 712" in {text.get_text() for text in ax.texts}


@each_figure
def test_a_card_has_its_colour(function):
    ax = _drawn(function)
    colours = {to_rgb(bar.get_facecolor()) for bar in ax.patches}
    colours |= {to_rgb(line.get_color()) for line in ax.lines}
    assert {to_rgb(plots.gpu_colour(gpu)) for gpu in CARDS} <= colours


def test_parts_of_a_bar_grow_lighter_and_stay_apart():
    for gpu in plots.GPU_COLOURS:
        light = [sum(to_rgb(bars.tint(plots.gpu_colour(gpu), part))) for part in range(3)]
        assert light == sorted(light)
        assert min(np.diff(light)) > 0.15, gpu


def test_marks_are_open_where_the_slo_is_broken():
    runs = published.table2_runs().pipe(hc.evaluate).pipe(hc.meets_slo, hc.SLO(p99_ttft_ms=500))
    line = published.at_equal_load(runs, ENERGY, ("RTX 4090", 4), ("H100 PCIe 80GB", 1))
    assert line["over_keeps"].tolist() == [False, True, True, True, False]
    assert line["under_keeps"].all()
    ax = plots.ratio_by_load({"4×": line.assign(gpu="RTX 4090", n_gpus=4)})
    _, kept, broken = ax.lines
    assert (len(kept.get_xdata()), len(broken.get_xdata())) == (3, 2)
    assert broken.get_markerfacecolor() == "white"
    assert {mark.get_marker() for mark in (kept, broken)} == {"^"}
    unknown = runs.assign(meets_slo=pd.NA)
    unknown = published.at_equal_load(unknown, ENERGY, ("RTX 4090", 4), ("H100 PCIe 80GB", 1))
    assert not unknown["over_keeps"].any(), "what is not known is not kept"


def test_more_lines_than_greys_are_all_drawn():
    line = pd.DataFrame({"request_rate_per_s": [1.0, 4.0], "ratio": [1.0, 2.0]})
    ax = plots.ratio_by_load({str(n): line.assign(ratio=line["ratio"] * n) for n in range(1, 6)})
    assert {text.get_text() for text in ax.texts} == set("12345")
    assert not plots.ratio_by_load({"none": line.iloc[:0]}).has_data()

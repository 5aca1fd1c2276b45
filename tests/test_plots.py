import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import MODEL_14B, assert_nothing_is_cut_off
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

import hetcost as hc
from hetcost import plots, published, reference
from hetcost.errors import ColumnError, DataWarning
from hetcost.formulas.carbon import op_gco2e_per_mtok
from hetcost.plots import style


@pytest.fixture(scope="module")
def one_model(paper):
    return paper[paper["model"] == MODEL_14B]


FUNCTIONS = [plots.scaling, plots.cost_vs_latency]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_figure_draws_on_the_axes_it_is_given_and_touches_nothing_else(function, one_model):
    before = dict(mpl.rcParams)
    data = one_model.copy(deep=True)
    _, (ax, other) = plt.subplots(1, 2)
    assert function(one_model, ax=ax, title="A finding") is ax
    assert isinstance(function(one_model), Axes)
    assert not other.has_data()
    assert dict(mpl.rcParams) == before
    pd.testing.assert_frame_equal(one_model, data)
    assert ax.get_title(loc="left") == "A finding"
    for axis in (ax.get_xlabel(), ax.get_ylabel()):
        assert "(" in axis, "units stand on the axes"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_missing_column_is_named(function, one_model):
    with pytest.raises(ColumnError, match=f"plots.{function.__name__}.*usd_per_mtok_out"):
        function(one_model.drop(columns="usd_per_mtok_out"))


def test_lines_are_named_at_the_line_and_costs_stand_at_the_points(one_model):
    ax = plots.scaling(one_model)
    written = [text.get_text() for text in ax.texts]
    for name in ("H100 PCIe  0.358", "2× RTX 4090  0.180"):
        assert name in written
    assert "0.371" in written, "the mean of the two runs at 16 requests/s"
    assert ax.get_legend() is None


def test_the_limit_and_the_sweet_spots_are_marked(one_model):
    slo = hc.SLO(p99_ttft_ms=500)
    spots = one_model[one_model["p99_ttft_ms"] < 100].head(1)
    ax = plots.cost_vs_latency(one_model, slo=slo, spots=spots)
    assert any(list(line.get_xdata()) == [500, 500] for line in ax.lines)
    assert len(ax.collections[-1].get_offsets()) == 1
    without = plots.cost_vs_latency(one_model, slo=hc.SLO(p99_tpot_ms=50))
    assert not any(list(line.get_xdata()) == [500, 500] for line in without.lines)


def test_rows_without_a_place_on_the_axis_are_told(one_model):
    burst = one_model.assign(request_rate_per_s=np.inf)
    mixed = pd.concat([one_model, burst.head(3)])
    with pytest.warns(DataWarning, match="3 of 28 rows have no finite offered load"):
        plots.scaling(mixed)
    assert plots.cost_vs_latency(burst).has_data(), "neither axis is the load"
    assert not plots.scaling(one_model.iloc[:0]).has_data()


def test_several_models_are_lines_of_their_own(paper):
    two = paper[paper["model"].str.contains("Qwen-14B|Qwen-7B")]
    names = [text.get_text() for text in plots.cost_vs_latency(two).texts]
    assert "DeepSeek-R1-Distill-Qwen-7B, RTX 4090" in names
    spots = paper.drop_duplicates(["model", "gpu", "n_gpus"])
    names = [text.get_text() for text in plots.cost_vs_latency(spots).texts]
    assert len(names) == len(spots) == 24
    assert "phi-4, H100 PCIe (1/s)" in names


def test_a_missing_cost_is_no_label(one_model):
    ax = plots.scaling(one_model.assign(usd_per_mtok_out=np.nan))
    assert not any("nan" in text.get_text() for text in ax.texts)


def test_a_grid_shows_every_model(paper):
    figure = plots.cost_vs_latency_grid(paper, slo=hc.SLO(p99_ttft_ms=500), title="A finding")
    assert isinstance(figure, Figure)
    titles = {ax.get_title(loc="left").replace("\n", "") for ax in figure.axes}
    assert {model.rsplit("/", 1)[-1] for model in paper["model"]} <= titles
    assert plots.cost_vs_latency_grid(paper.iloc[:0]).axes


def _lines_over_grids(paper, **options):
    rows = paper[paper["gpu"].isin(["RTX 4090", "H100 PCIe 80GB"])].drop_duplicates("gpu")
    grids = reference.grid_facts(["SE", "FR", "EU27", "PL"], 2023)
    return plots.carbon_vs_grid(rows, grids, names=list(rows["gpu"]), **options)


def _ratios(paper, **options):
    pair, h100 = ("RTX 4090", 2), ("H100 PCIe 80GB", 1)
    one = hc.of_model(paper, MODEL_14B)
    line = published.at_equal_load(one, "gpu_j_per_tok_all", pair, h100)
    return plots.ratio_by_load({"nameplate": line}, stated=3.1, **options)


FIGURES = {
    "scaling": lambda paper, **o: plots.scaling(hc.of_model(paper, MODEL_14B), **o),
    "cost_vs_latency": lambda paper, **o: plots.cost_vs_latency(
        hc.of_model(paper, MODEL_14B), slo=hc.SLO(p99_ttft_ms=500), **o
    ),
    "several models": lambda paper, **o: plots.cost_vs_latency(
        paper.drop_duplicates(["model", "gpu", "n_gpus"]), **o
    ),
    "energy_bars": lambda paper, **o: plots.energy_bars(paper, **o),
    "carbon_vs_grid": _lines_over_grids,
    "ratio_by_load": _ratios,
}


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_is_cut_off(name, paper):
    title = "A finding long enough to need two lines in the width of a figure, says the test"
    ax = FIGURES[name](paper, title=title)
    assert_nothing_is_cut_off(ax)


def test_bars_are_the_most_efficient_load_of_each_configuration(paper):
    ax = plots.energy_bars(paper, energy="gpu_j_per_tok_all")
    shown = sorted(bar.get_width() for bar in ax.patches)
    least = paper.groupby(["model", "gpu", "n_gpus"])["gpu_j_per_tok_all"].min()
    np.testing.assert_allclose(shown, sorted(least))


def test_emissions_over_grids_are_the_formulas(paper):
    ax = _lines_over_grids(paper, basis="all")
    first = paper.drop_duplicates("gpu").iloc[0]
    x, y = ax.lines[0].get_xdata()[1], ax.lines[0].get_ydata()[1]
    assert y == pytest.approx(op_gco2e_per_mtok(first["site_j_per_tok_all"], x))
    assert "Sweden 41" in {text.get_text() for text in ax.texts}


def test_names_from_data_are_drawn_literally(paper):
    hostile = paper.assign(model=r"a$b\frac$", gpu=r"GPU $x^2\frac$")
    figure = plots.cost_vs_latency_grid(hostile, title=r"5 $ and \frac$")
    figure.canvas.draw()
    for artist in (figure, plots.scaling(hostile), plots.cost_vs_latency(hostile)):
        assert not any(text.get_parse_math() for text in artist.findobj(Text))
        (artist if isinstance(artist, Figure) else artist.figure).canvas.draw()


def test_a_card_has_one_colour_everywhere(one_model):
    wanted = to_rgb(plots.gpu_colour("RTX 4090"))
    for ax in (plots.scaling(one_model), plots.cost_vs_latency(one_model)):
        colours = {to_rgb(line.get_color()) for line in ax.lines if line.get_marker() != "None"}
        assert colours == {wanted, to_rgb(plots.gpu_colour("H100 PCIe 80GB"))}
    assert set(plots.GPU_COLOURS) == set(reference.gpus().index)
    assert len(set(plots.GPU_COLOURS.values())) == len(plots.GPU_COLOURS)


def test_the_two_cards_of_the_study_differ_in_lightness_too():
    def lightness(gpu):
        return float(np.dot(to_rgb(plots.gpu_colour(gpu)), (0.2126, 0.7152, 0.0722)))

    assert abs(lightness("RTX 4090") - lightness("H100 PCIe 80GB")) > 0.05


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12), st.floats(0.5, 20))
def test_labels_are_spread_apart_in_their_order(heights, gap):
    heights.sort()
    spread = style.spread(heights, gap)
    assert all(b - a >= gap - 1e-6 for a, b in itertools.pairwise(spread))
    if all(b - a >= gap for a, b in itertools.pairwise(heights)):
        assert spread == pytest.approx(heights)

import os
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from hypothesis import settings

import hetcost as hc

settings.register_profile("hetcost", deadline=None)  # a busy machine is no failure
settings.load_profile("hetcost")

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(__file__).parent / "data"
MODEL_14B = "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B"


@pytest.fixture(scope="session")
def runs() -> pd.DataFrame:
    return hc.load_runs("ionet-2025")


@pytest.fixture(scope="session")
def paper(runs) -> pd.DataFrame:
    return hc.evaluate(runs, hc.Scenario.paper())


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def every_text(ax):
    """Return what is written on the page of an Axes: texts, title, labels, names of ticks."""
    written = [*ax.texts, ax._left_title, ax.xaxis.label, ax.yaxis.label]
    low, high = sorted(ax.get_ylim())
    ticks = zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    written += [label for place, label in ticks if low <= place <= high]
    return [text for text in written if text.get_text()]


def assert_nothing_is_cut_off(ax):
    ax.figure.canvas.draw()
    page = ax.figure.bbox
    for text in every_text(ax):
        box = text.get_window_extent()
        assert box.x0 >= -2, text.get_text()
        assert box.x1 <= page.x1 + 2, text.get_text()
        assert box.y0 >= -2, text.get_text()
        assert box.y1 <= page.y1 + 2, text.get_text()

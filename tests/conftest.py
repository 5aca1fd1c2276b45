import os
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import hetcost as hc

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

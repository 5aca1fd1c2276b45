import numpy as np
import pandas as pd
import paretoset
import pytest

import hetcost as hc

GROUP, AIM = "pareto of 100,000 rows × 3 columns", "-"


@pytest.fixture(scope="module", params=["independent", "on a simplex"])
def frame(request):
    random = np.random.default_rng(0)
    values = random.random((100_000, 3))
    if request.param == "on a simplex":
        values = random.dirichlet([1, 1, 1], 100_000).round(2)
    return request.param, pd.DataFrame(values, columns=list("abc"))


def test_baseline(case, frame):
    name, data = frame
    case(
        f"{GROUP}, {name}",
        AIM,
        lambda: paretoset.paretoset(data, sense=["min"] * 3, distinct=False),
        baseline="paretoset.paretoset",
        rounds=3,
    )


def test_ours(case, frame):
    name, data = frame
    found = case(f"{GROUP}, {name}", AIM, lambda: hc.pareto(data, minimize=list("abc")), rounds=2)
    assert len(found) == paretoset.paretoset(data, sense=["min"] * 3, distinct=False).sum()

import pandas as pd
import pytest

import hetcost as hc
from hetcost import claims, resources
from hetcost.errors import ReferenceDataError

COLUMNS = ["claim", "reading", "stated", "unit", "recomputed", "rows", "verdict", "cause", "why"]


@pytest.fixture(scope="module")
def audit():
    return hc.audit_claims().set_index("claim")


def test_every_claim_has_a_verdict_and_a_reason(audit):
    assert [audit.index.name, *audit.columns] == COLUMNS
    assert len(audit) == 21
    assert set(audit["verdict"]) == {"reproduced", "not reproduced", "not computable yet"}
    assert (audit["reading"] == "as_published").all()
    computed = audit[audit["verdict"] != "not computable yet"]
    assert (computed["recomputed"] != "").all()
    assert (computed["why"] != "").all()
    assert (audit.loc[audit["verdict"] == "not computable yet", "recomputed"] == "").all()


@pytest.mark.parametrize(
    ("claim", "verdict", "recomputed"),
    [
        ("half-cost", "reproduced", "0.5"),
        ("up-to-75", "reproduced", "0.7481"),
        ("energy-ratio", "reproduced", "3.096"),
        ("carbon-per-mtok", "reproduced", "15.63 to 48.38"),
        ("h100-ttft", "not reproduced", "211.4"),
        ("sweet-spot-cost", "not reproduced", "0.1392"),
        ("figure-label", "not reproduced", "0.08999"),
        ("throughput-per-dollar", "not reproduced", "1.993 to 3.97"),
        ("edge-narrows", "not reproduced", "1"),
        ("scale-out", "not reproduced", "1.666"),
        ("greener-mixed", "not computable yet", ""),
        ("near-h100-cheaper", "not computable yet", ""),
    ],
)
def test_verdicts_follow_from_the_runs(audit, claim, verdict, recomputed):
    assert audit.loc[claim, "verdict"] == verdict
    assert recomputed in audit.loc[claim, "recomputed"]


def test_the_energy_ratio_tells_what_it_rests_on(audit):
    why = audit.loc["energy-ratio", "why"]
    assert "700 W" in why
    assert "350 W" in why
    assert "6.19" in why
    assert audit.loc["energy-ratio", "cause"] == "fact"
    assert len(audit.loc["energy-ratio", "rows"].split()) == 2


@pytest.mark.parametrize(
    ("test", "low", "high", "stated", "agrees"),
    [
        ("equal", 1.0, 2.0, (1.0, 2.0), True),
        ("equal", 0.9, 2.0, (1.0, 2.0), False),
        ("equal", 0.99, 2.02, (1.0, 2.0), True),
        ("highest", -5.0, 2.02, (2.0, 2.0), True),
        ("highest", 2.0, 3.0, (2.0, 2.0), False),
        ("at most", 0.0, 54.0, (55.0, 55.0), True),
        ("at most", 0.0, 60.0, (55.0, 55.0), False),
        ("below", 0.0, 0.5, (1.0, 1.0), True),
        ("below", 1.0, 1.0, (1.0, 1.0), False),
    ],
)
def test_each_verdict_is_reachable(test, low, high, stated, agrees):
    finding = claims.Finding(low, high, pd.Index([]), "")
    assert bool(claims.TESTS[test](finding, stated, 0.02)) is agrees


def test_a_claim_that_asks_for_the_unknown_is_an_error(tmp_path, monkeypatch):
    text = (resources.data_dir() / "claims.csv").read_text("utf-8")
    (tmp_path / "claims.csv").write_text(text.replace("energy_ratio,", "energy_ration,"), "utf-8")
    monkeypatch.setattr(claims, "data_dir", lambda: tmp_path)
    with pytest.raises(ReferenceDataError, match="energy-ratio: unknown quantity or test"):
        hc.audit_claims()

"""Fields, dates and warnings; what is given; names of engines and arrivals."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from hetcost.columns import COLUMNS
from hetcost.errors import ReadError, UnknownNameError
from hetcost.readers import clients, fields
from hetcost.readers.given import Given
from hetcost.readers.pooled import Pooled, statistics_ms
from hetcost.runs import scan_runs

RESULT = {
    "model_id": "org/model-8B",
    "completed": 4,
    "duration": 2.0,
    "total_input_tokens": 40,
    "total_output_tokens": 80,
    "mean_ttft_ms": 50.0,
}
TABLE = "model,gpu,total_out_tok,date\norg/m,RTX 4090,9,{}\n"


def _only(tmp_path, **given):
    (tmp_path / "a.json").write_text(json.dumps(RESULT))
    scan = scan_runs(tmp_path / "a.json", **given)
    assert scan.refused.empty, list(scan.refused["reason"])
    return scan.runs.iloc[0]


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("2026-01-02T03:04:05+01:00", "2026-01-02T02:04:05Z"),
        ("2026-01-02 03:04:05.9-0800", "2026-01-02T11:04:05Z"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.125", "2026-01-02T03:04:05.125"),
        ("0001-01-01T00:00:00+05:00", "0001-01-01T00:00:00+05:00"),
        ("last week", "last week"),
        (None, None),
    ],
)
def test_a_date_is_in_utc_where_its_offset_is_stated(written, date):
    assert fields.date({"date": written}, "date") == date


def test_seconds_since_1970_are_a_date_up_to_the_year_9999():
    assert fields.date_utc(1_750_000_000.9, "t") == "2025-06-15T15:06:40Z"
    assert fields.date_utc(fields.LAST_S, "t") == "9999-12-31T23:59:59Z"
    assert fields.date_utc(math.nan, "t") is None
    for wrong in (-1.0, fields.LAST_S + 1, math.inf):
        with pytest.raises(ReadError, match="is no time since 1970 in seconds"):
            fields.date_utc(wrong, "t")


def test_dates_of_a_table_are_in_utc_too(tmp_path):
    (tmp_path / "a.csv").write_text(TABLE.format("2026-01-02T03:04:05+01:00"))
    assert scan_runs(tmp_path / "a.csv").runs["date"].item() == "2026-01-02T02:04:05Z"


def test_flags():
    said = {True: (True, "yes", 1), False: (False, "False", 0), None: (None, " ", "null")}
    for meant, written in said.items():
        assert [fields.flag({"a": each}, "a") for each in written] == [meant] * 3
    for wrong in ("maybe", 2, [], {}):
        with pytest.raises(ReadError, match="a: "):
            fields.flag({"a": wrong}, "a")


def test_warnings_are_added_behind_one_another():
    row = {"warnings": None}
    fields.add_warning(row, "", "")
    assert row == {"warnings": None}
    fields.add_warning(row, "one")
    fields.add_warning(row, "", "two", "three")
    assert row == {"warnings": "one; two; three"}
    fields.add_warning(row, "two", "four", "four")
    assert row == {"warnings": "one; two; three; four"}


def test_names_are_texts_and_numbers_may_be_of_numpy():
    assert fields.text({"a": math.nan}, "a") is None
    with pytest.raises(ReadError, match="a: bool where a text belongs"):
        fields.text({"a": True}, "a")
    assert fields.number({"a": np.int64(2)}, "a") == 2.0
    for value, told in ((True, "True"), ("x" * 500, r"'x{80}' …"), ([[0] * 9], "a list")):
        with pytest.raises(ReadError, match=f"a: {told} is not a number"):
            fields.number({"a": value}, "a")


def test_a_sidecar_of_aliases_is_refused_at_once(tmp_path):
    levels = ["&a [l, l, l, l, l, l, l, l, l, l]"]
    for before, name in zip("abcdefghi", "bcdefghij", strict=True):
        levels.append(f"&{name} [{', '.join([f'*{before}'] * 10)}]")
    side = tmp_path / "side.yaml"
    for text in ("by_model:\n  m:\n  - {}", "n_gpus: [{}]"):
        side.write_text(text.format("\n  - ".join(levels) if "m:" in text else ", ".join(levels)))
        with pytest.raises(ReadError, match="a list"):
            Given(side)


def test_statistics_of_an_array_are_those_of_its_values_pooled():
    values = np.random.default_rng(1).gamma(2.0, 20.0, 101)
    pooled = Pooled()
    pooled.extend(values)
    found = statistics_ms("itl", values)
    assert found == pytest.approx(statistics_ms("itl", pooled))
    assert found["p90_itl_ms"] == pytest.approx(np.sort(values)[90])
    assert statistics_ms("itl", np.empty(0)) == statistics_ms("itl", Pooled()) == {}


def test_engines_and_arrivals():
    names = ("vLLM", "vllm-chat", "sglang-oai", "tensorrt-llm", "lmdeploy", "openai-chat", None)
    engines = ["vLLM", "vLLM", "SGLang", "TensorRT-LLM", "LMDeploy", None, None]
    assert [clients.engine(name) for name in names] == engines
    none = math.nan
    assert clients.arrival(4.0, none) == clients.arrival(4.0, none, none) == "poisson"
    assert clients.arrival(4.0, 8.0, 0.5) == "gamma"
    assert clients.arrival(4.0, none, math.inf) == "constant"
    assert (clients.arrival(math.inf, none), clients.arrival(math.inf, 8.0)) == ("burst", "closed")
    assert clients.arrival(none, 8.0) is None
    for kind in ("poisson", "gamma", "constant", "burst", "closed"):
        assert kind in COLUMNS["arrival"].meaning


# What is given


def test_optional_columns_can_be_given(tmp_path):
    run = _only(tmp_path, kv_dtype="fp8", streaming="true", expert_parallel="8", data_parallel=2)
    assert (run["kv_dtype"], run["streaming"], run["expert_parallel"]) == ("fp8", True, 8)
    side = tmp_path / "side.yaml"
    side.write_text("streaming: false\ntoken_count_source: server\n")
    run = _only(tmp_path, sidecar=side)
    assert not run["streaming"]
    assert run["token_count_source"] == "server"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("n_gpus", -1, "given: n_gpus: -1 is outside 1 … inf"),
        ("n_gpus", 2.5, "given: n_gpus: 2.5 is outside 1 … inf or not a whole number"),
        ("cached_frac", 1.5, "given: cached_frac: 1.5 is outside 0 … 1"),
        ("gpu_energy_j", math.inf, "given: gpu_energy_j: inf"),
        ("streaming", "perhaps", "streaming: 'perhaps' is neither true nor false"),
        ("prefix_state", "lukewarm", "given: prefix_state: 'lukewarm' is none of 'cold', 'warm'"),
        ("cut_off", 3, "cut_off is worked out from the file"),
        ("reported_out_tok_per_s", 3, "reported_out_tok_per_s is worked out from the file"),
    ],
)
def test_what_cannot_be_given_is_told_at_once(name, value, told):
    with pytest.raises(ReadError, match=told):
        Given(None, **{name: value})


def test_a_given_name_that_is_none_is_told_the_nearest():
    with pytest.raises(UnknownNameError, match="'expert_parallel'"):
        Given(None, expert_paralel=2)
    assert Given(None, request_rate_per_s="inf") is not None


def test_what_the_file_states_still_stands(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(RESULT | {"gpu_count": 2}))
    scan = scan_runs(tmp_path / "a.json", n_gpus=1)
    assert scan.runs.empty
    assert "n_gpus: the file says 2.0, given was 1.0" in scan.refused["reason"].item()
    assert pd.isna(_only(tmp_path, gpu_energy_j=None)["gpu_energy_j"])

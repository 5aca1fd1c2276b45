"""No file is of two tools: of everything that is read, one reader says that it is its own."""

import os
from pathlib import Path

import pytest
import test_reader_aiperf as aiperf
import test_reader_console as console
import test_reader_guidellm as guidellm
import test_reader_inference_perf as inference_perf
import test_reader_inferencex as inferencex
import test_reader_llama_bench as llama_bench
import test_reader_llama_benchy as llama_benchy
import test_reader_llmd as llmd
import test_reader_llmperf as llmperf
import test_reader_mlenergy as mlenergy
import test_reader_mlperf as mlperf
import test_reader_optimum as optimum
import test_reader_sglang as sglang
import test_reader_trtllm as trtllm
import test_reader_vllm_batch as vllm_batch
from test_runs import GOOD

from hetcost.readers import HEAD, REQUEST_READERS, RESULT_READERS, TEXT_READERS, tables
from hetcost.readers.records import json_records

OBJECTS = {
    "vllm bench serve": [GOOD],
    "sglang bench_serving": [sglang.OLD, sglang.NEW, sglang.LATEST],
    "vllm bench throughput and latency": [vllm_batch.THROUGHPUT, vllm_batch.LATENCY],
    "AIPerf or GenAI-Perf": [aiperf.AIPERF, aiperf.GENAI],
    "AIPerf requests": [aiperf._request(0, 0.1, [0.1, 0.1])],
    "llmperf": [llmperf._summary(), llmperf._response(*llmperf.ANSWERS[0])],
    "llama-bench": [llama_bench.PROMPT, llama_bench.OUTPUT, llama_bench.BOTH],
    "guidellm": [guidellm.report(guidellm.new_run()), guidellm.report(guidellm.old_run())],
    "trtllm-bench": [trtllm.REPORT],
    "InferenceX": [inferencex.SINGLE, inferencex.APART],
    "ML.ENERGY": [mlenergy.V2, mlenergy.V3],
    "optimum-benchmark": [optimum.RESULT, optimum.REPORT],
    "inference-perf": [inference_perf.STAGE, inference_perf.SUMMARY, inference_perf.TWIN],
    "llm-d benchmark report": [llmd.OLD, llmd.NEW],
}
TEXTS = {
    "console text of vllm bench serve and sglang bench_serving": [
        console._block(console.VLLM),
        console._block(console.SGLANG),
    ],
    "llama-bench": [
        llama_bench._csv(llama_bench.PROMPT),
        llama_bench._markdown(llama_bench.PROMPT),
    ],
    "guidellm": [guidellm.table(guidellm.new_run())],
    "AIPerf or GenAI-Perf": [aiperf._csv_of(aiperf.AIPERF)],
    "llama-benchy": [llama_benchy.HEAD + llama_benchy.FIVE + llama_benchy.TAIL],
    "MLPerf LoadGen": [mlperf.SERVER, mlperf.OFFLINE],
    "llm-d benchmark report": [llmd._yaml(llmd.OLD), llmd._yaml(llmd.NEW)],
    tables.TOOL: ["model,gpu,out_tok_per_s\norg/m,RTX 4090,9\n"],
}


def _owners(record):
    results = [reader.TOOL for reader in RESULT_READERS if reader.claims(record)]
    return results + [reader.TOOL for reader in REQUEST_READERS if reader.claims_request(record)]


def _owners_of_text(text):
    head = text if len(text) <= 2 * HEAD else f"{text[:HEAD]}\n{text[-HEAD:]}"
    return [reader.TOOL for reader in TEXT_READERS if reader.claims_text(head)]


def test_every_reader_has_a_fixture_here():
    assert {reader.TOOL for reader in (*RESULT_READERS, *REQUEST_READERS)} <= set(OBJECTS)
    assert {reader.TOOL for reader in TEXT_READERS} <= set(TEXTS)


@pytest.mark.parametrize("tool", OBJECTS)
def test_an_object_is_of_one_tool(tool):
    for record in OBJECTS[tool]:
        assert _owners(record) == [tool]


@pytest.mark.parametrize("tool", TEXTS)
def test_a_text_is_of_one_tool(tool):
    for text in TEXTS[tool]:
        assert _owners_of_text(text) == [tool]


def test_claims_never_raise():
    odd = [None, 1, "x", [], {}, [None], {"a": 1}]
    keys = {key for records in OBJECTS.values() for record in records for key in record}
    for key in sorted(keys):
        for value in odd:
            assert len(_owners({key: value})) <= 1, key
    for value in odd:
        _owners(dict.fromkeys(keys, value))


def test_no_sample_is_of_two_tools():
    folder = os.environ.get("HETCOST_SAMPLES")
    if not folder:
        pytest.skip("HETCOST_SAMPLES is not set: the samples were not looked at")
    owned = 0
    for path in Path(folder).rglob("*"):
        if not path.is_file():
            continue
        text = path.read_text("utf-8", errors="replace")
        assert len(_owners_of_text(text)) <= 1, path
        if path.suffix not in (".json", ".jsonl"):
            owned += len(_owners_of_text(text))
            continue
        assert not _owners_of_text(text), path
        for found in json_records(text):
            if isinstance(found.value, dict):
                owners = _owners(found.value)
                assert len(owners) <= 1, (path, owners)
                owned += bool(owners)
    assert owned > 30

"""Console text of vLLM's and SGLang's serving clients: tables between ``===`` rules in a log.

A block begins with ``= Serving Benchmark Result =`` and ends with a rule; each is a run, and its
line is where the block begins. Labels are read without regard to case and to what a log driver
puts before them; a progress bar's carriage returns part a line. The labels become the fields of
the tools' JSON, so that the same rules read both (`vllm`, `sglang`).

==========================================  =====================  ==============================
label or argument                           field                  note
==========================================  =====================  ==============================
Successful, Failed requests                 completed, failed
Max(imum) request concurrency               max_concurrency        "not set" is none
Traffic request rate                        request_rate           1/s; above the block or in it
Request rate configured (RPS)               request_rate           1/s, rounded
Burstiness factor                           burstiness             above the block
Benchmark duration (s)                      duration               s
Total input, generated tokens               total_…_tokens
Total generated tokens (retokenized)        the same               SGLang
Mean, Median, Pnn TTFT, TPOT, ITL (ms)      {stat}_{metric}_ms     ms
… E2EL (ms), … E2E Latency (ms)             {stat}_e2el_ms         ms
… throughput (…/s)                          reported_…             left out below 0.5: too coarse
Namespace(model=, num_prompts=, seed=, …)   model, prompt_seed …   the last above the block
==========================================  =====================  ==============================

vLLM prints its arguments for each block; SGLang may print them once for several. Where a text has
one block only, it may also hold the client's command (``--num-prompts`` …) and the compose file of
the servers: ``--tensor-parallel-size``, ``--pipeline-parallel-size``, ``--data-parallel-size`` and
the containers ``vllm_0``, ``vllm_1`` … give the cards.

A block without its closing rule is cut short: it is read up to its last whole line, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hetcost.errors import ReadError
from hetcost.readers import console_context, sglang, vllm
from hetcost.readers.fields import add_warning, number, text
from hetcost.readers.records import Found

TOOL = "console text of vllm bench serve and sglang bench_serving"

_HEAD = "= Serving Benchmark Result ="
_SIGNS = (_HEAD, "Traffic request rate:", "Traffic ramp-up strategy:", "benchmark_args=Namespace(")
_NEXT_RUN = ("Namespace(", "Starting ")
_LABELS = {
    "backend": "backend",
    "successful requests": "completed",
    "failed requests": "failed",
    "maximum request concurrency": "max_concurrency",
    "max request concurrency": "max_concurrency",
    "max reqeuest concurrency": "max_concurrency",  # SGLang 0.4
    "traffic request rate": "request_rate",
    "request rate configured (rps)": "rounded_rate",
    "benchmark duration (s)": "duration",
    "total input tokens": "total_input_tokens",
    "total generated tokens": "total_output_tokens",
    "total generated tokens (retokenized)": "total_output_tokens_retokenized",
    "request throughput (req/s)": "request_throughput",
    "request goodput (req/s)": "request_goodput",
    "output token throughput (tok/s)": "output_throughput",
    "total token throughput (tok/s)": "total_token_throughput",
    "total throughput (tok/s)": "total_token_throughput",  # SGLang of 2024
    "total prompt tokens": "total_prompt_tokens",
    "total cached tokens": "total_cached_tokens",
}
_FROM_CONTEXT = (
    "backend",
    "num_prompts",
    "request_rate",
    "burstiness",
    "max_concurrency",
    "ramp_up_strategy",
    "ramp_up_start_rps",
    "ramp_up_end_rps",
    "tp",
    "pp",
    "dp",
    "replicas",
    "gpu_name",
    "gpu_count",
    "engine",
    "vllm_version",
)
_STATISTIC = re.compile(r"(mean|median|p[0-9.]+) (ttft|tpot|itl|e2el|e2e latency) \(ms\)")
_RATES = ("request_throughput", "output_throughput", "total_token_throughput")
_COARSE = 0.5  # below it two decimals are off by more than 1 %
# A log driver puts a name and a bar, a bracket or a time before a line.
_BEFORE = r"(?:.*[|>#\]]|[0-9TZ:.,/+ -]*[0-9Z])?\s*"
_LINE = re.compile(_BEFORE + r"([A-Za-z][\w .()/-]*?) *:\s+(\S.*)")
_RULE = re.compile(_BEFORE + r"={20,}")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST_LINE = 400  # letters
_AS_ASKED = ("random", "random-ids", "sharegpt")  # SGLang's data sets of as many prompts as asked


class _Block(NamedTuple):
    """The values of a block by field, where it ends, and whether its rule is there."""

    values: dict[str, Any]
    end: int
    is_whole: bool


def claims_text(head: str) -> bool:
    """Say whether a text that begins so is a log of one of the clients."""
    return any(sign in head for sign in _SIGNS)


def rows_of_text(text: str) -> Iterator[Found]:
    """Yield a row for each block, or why there is none."""
    starts = [match.start() for match in re.finditer(re.escape(_HEAD), text)]
    if not starts:
        yield Found(1, reason="no table of results in this console text: the run did not finish")
        return
    arguments: dict[str, str] = {}
    line, counted, behind = 1, 0, 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line += text.count("\n", counted, start)
        counted, before = start, text[behind:start]
        arguments = console_context.arguments(before) or arguments
        context = arguments | console_context.above(before)
        if len(starts) == 1:
            context = console_context.command(text) | context | console_context.servers(text)
        try:
            block = _read(text, start + len(_HEAD), end)
            row = _row(block, context)
        except ReadError as error:
            behind, arguments = start, {}
            yield Found(line, reason=str(error))
            continue
        behind = block.end
        if row["tool"] != sglang.TOOL:
            arguments = {}
        yield Found(line, row)


def _read(text: str, begin: int, end: int) -> _Block:
    """Read the lines of a block up to its rule."""
    values: dict[str, Any] = {}
    position = text.find("\n", begin, end)
    while position != -1:
        begin, position = position + 1, text.find("\n", position + 1, end)
        if position == -1 and end == len(text):
            return _Block(values, begin, is_whole=bool(_RULE.fullmatch(text[begin:].rstrip())))
        for part in text[begin : position if position != -1 else end].split("\r"):
            written = _COLOUR.sub("", part).strip()
            if len(written) > _LONGEST_LINE:
                continue
            if _RULE.fullmatch(written):
                return _Block(values, begin, is_whole=True)
            if written.startswith(_NEXT_RUN):
                return _Block(values, begin, is_whole=False)
            _take(written, values)
    return _Block(values, end, is_whole=False)


def _take(written: str, values: dict[str, Any]) -> None:
    """Take the value of a line with a known label."""
    match = _LINE.fullmatch(written)
    if match is None:
        return
    label, value = " ".join(match[1].lower().split()), match[2].strip()
    statistic = _STATISTIC.fullmatch(label)
    if statistic:
        metric = "e2el" if statistic[2] == "e2e latency" else statistic[2]
        key = f"{statistic[1]}_{metric}_ms"
    elif label in _LABELS:
        key = _LABELS[label]
    else:
        return
    if values.setdefault(key, value) != value:
        message = f"'{match[1]}' stands twice, with different values"
        raise ReadError(message)


def _row(block: _Block, context: Mapping[str, Any]) -> dict[str, Any]:
    values = {key: None if value == "not set" else value for key, value in block.values.items()}
    for key in _RATES:
        if number(values, key) < _COARSE:
            del values[key]
    make = _sglang_row if "backend" in values else _vllm_row
    try:
        row = make(values, context)
    except ReadError as error:
        message = str(error) if block.is_whole else f"the table is cut short: {error}"
        raise ReadError(message) from None
    row["prompt_seed"] = number(context, "seed")
    row["dataset"] = row.get("dataset") or text(context, "dataset_name")
    if not block.is_whole:
        add_warning(row, "the table of results is cut short")
    return row


def _vllm_row(values: dict[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    record = {
        "model_id": context.get("model"),
        "request_rate": values.pop("rounded_rate", None),
        "total_input_tokens": None,
        "total_output_tokens": None,
    }
    known = {key: context[key] for key in _FROM_CONTEXT if key in context}
    return vllm.rows({**record, **known, **values})[0]


def _sglang_row(values: dict[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    record = {key.replace("e2el", "e2e_latency"): value for key, value in values.items()}
    record["total_throughput"] = values.get("total_token_throughput")
    record["cache_report"] = {
        key: values.get(key) for key in ("total_prompt_tokens", "total_cached_tokens")
    }
    row = sglang.rows(record)[0]
    row["model"] = text(context, "model")
    if context.get("dataset_name") in _AS_ASKED:
        row["n_requests"] = number(context, "num_prompts")
    return row

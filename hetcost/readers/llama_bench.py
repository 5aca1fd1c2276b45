"""llama-bench (llama.cpp) tests: JSON and JSON Lines; the other formats have the same fields.

=============================  ======================  ==========================================
field                          column                  note
=============================  ======================  ==========================================
build_number, build_commit     engine_version          also the version of the tool
test_time                      date                    UTC
model_filename                 model                   last part, without ``.gguf`` and directory
model_type                     weight_dtype            its last word or two; model if no file name
type_k, type_v                 kv_dtype                ``k/v`` where they differ
gpu_info                       gpu, n_gpus             cards joined by ``, `` (older: ``/``)
devices, split_mode,           n_gpus                  which of these cards the test used
main_gpu, tensor_split
split_mode                     pipeline_parallel       of ``layer``
                               tensor_parallel         of ``row`` and ``tensor``
n_prompt, n_gen, n_depth       dataset                 the test's name: ``tg128 @ d4096``
n_prompt, n_gen                total_{in,out}_tok      missing where 0: that part was not tested
avg_ns                         duration_s              of one repetition; tokens / avg_ts without it
avg_ns                         mean_e2el_ms            of the tokens that were tested
avg_ts                         mean_tpot_ms            1000 / avg_ts of a test of output alone
avg_ts                         mean_ttft_ms            n_prompt / avg_ts of a test of the prompt
avg_ts                         reported_…_tok_per_s    output, or output and prompt together
=============================  ======================  ==========================================

One test is one row: a repetition is one request, alone on the engine, so ``closed`` at a
concurrency of 1. No server, tokenizer or sampler takes part, and the context of ``n_depth`` tokens
is laid in before the clock starts. A test of prompt and output together (``pp512+tg128``) has one
speed for both, and so neither TTFT nor TPOT.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from hetcost.errors import ReadError
from hetcost.readers.fields import add_warning, date, number, text
from hetcost.units import MS_PER_S, NS_PER_S

TOOL = "llama-bench"

_ESTIMATED = "TTFT is estimated from prompt speed"
_WEIGHTS = re.compile(r"\b([IT]?Q\d\w*|BF16|F16|F32|MXFP4|NVFP4)\b(?: - (Small|Medium|Large)\b)?")
_PARTS = re.compile(r"(-\d{5}-of-\d{5})?\.gguf$", re.IGNORECASE)
_DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}
_DEVICE = re.compile(r"[A-Za-z]+(\d{1,4})")
_SHARES = re.compile(r"\d+(\.\d*)?(/\d+(\.\d*)?)*")


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a test of llama-bench."""
    return "avg_ts" in record and "n_prompt" in record and "n_gen" in record


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the test into a row of run columns.

    Raises
    ------
    ReadError
        A field is not of its kind, or nothing was tested.
    """
    n_prompt, n_gen = _tested(record)
    speed, elapsed = number(record, "avg_ts"), number(record, "avg_ns") / NS_PER_S
    if math.isnan(elapsed) and speed > 0:
        elapsed = (n_prompt + n_gen) / speed
    build = _build(record)
    row: dict[str, Any] = {
        "tool": TOOL,
        "tool_version": build,
        "engine": "llama.cpp",
        "engine_version": build,
        "date": date(record, "test_time"),
        "model": _model(record),
        "weight_dtype": _weight_dtype(record),
        "kv_dtype": _kv_dtype(record),
        "dataset": _name(record, n_prompt, n_gen),
        "arrival": "closed",
        "request_rate_per_s": math.inf,
        "max_concurrency": 1,
        "n_requests": 1,
        "completed": 1,
        "failed": 0,
        "duration_s": elapsed,
        "total_in_tok": n_prompt or None,
        "total_out_tok": n_gen or None,
        "mean_e2el_ms": elapsed * MS_PER_S if elapsed > 0 else math.nan,
        "token_count_source": "requested",
        "prefix_state": "cold",
    }
    row["reported_all_tok_per_s" if n_prompt else "reported_out_tok_per_s"] = speed
    told = []
    if speed > 0 and not n_prompt:
        row["mean_tpot_ms"] = MS_PER_S / speed
    elif speed > 0 and not n_gen:
        row["mean_ttft_ms"] = n_prompt / speed * MS_PER_S
        told.append(_ESTIMATED)
    row |= _hardware(record, told)
    add_warning(row, *told)
    return [row]


def _tested(record: Mapping[str, Any]) -> tuple[float, float]:
    n_prompt, n_gen = number(record, "n_prompt"), number(record, "n_gen")
    if not (n_prompt >= 0 and n_gen >= 0 and n_prompt + n_gen > 0):
        message = f"no test: n_prompt {n_prompt:g}, n_gen {n_gen:g}"
        raise ReadError(message)
    return n_prompt, n_gen


def _name(record: Mapping[str, Any], n_prompt: float, n_gen: float) -> str:
    """Name the test as llama-bench does in its tables."""
    parts = ((n_prompt, "pp"), (n_gen, "tg"))
    name = "+".join(f"{kind}{count:.0f}" for count, kind in parts if count)
    depth = number(record, "n_depth")
    return f"{name} @ d{depth:.0f}" if depth > 0 else name


def _build(record: Mapping[str, Any]) -> str | None:
    build, commit = text(record, "build_number"), text(record, "build_commit")
    if build is None:
        return commit
    return f"b{build} ({commit})" if commit else f"b{build}"


def _model(record: Mapping[str, Any]) -> str | None:
    file = text(record, "model_filename")
    if file is None:
        return text(record, "model_type")
    return _PARTS.sub("", re.split(r"[/\\]", file)[-1]) or text(record, "model_type")


def _weight_dtype(record: Mapping[str, Any]) -> str | None:
    found = _WEIGHTS.findall(text(record, "model_type") or "")
    if not found:
        return None
    name, size = found[-1]
    return _dtype(f"{name}_{size[0]}" if size else name)


def _kv_dtype(record: Mapping[str, Any]) -> str | None:
    kinds = [_dtype(name) for key in ("type_k", "type_v") if (name := text(record, key))]
    return "/".join(dict.fromkeys(kinds)) or None


def _dtype(name: str) -> str:
    return _DTYPES.get(name.casefold(), name)


def _hardware(record: Mapping[str, Any], told: list[str]) -> dict[str, Any]:
    """Return the cards of the test and how they shared the model, as far as the test tells."""
    if number(record, "n_gpu_layers") == 0:
        told.append("n_gpu_layers is 0: the weights were in the host's memory")
    names = _cards(text(record, "gpu_info") or "")
    if not names:
        return {}
    split = text(record, "split_mode")
    used = _used(record, names, alone=split == "none")
    if not used:
        told.append("no GPU took part" if used == [] else "which GPUs took part is not known")
        return {}
    kinds = list(dict.fromkeys(used))
    if len(kinds) > 1:
        told.append("GPUs of several kinds took part")
    count = len(used)
    shared = {"n_gpus": count, "gpu": ", ".join(kinds)}
    if count == 1 or split == "layer":
        shared |= {"tensor_parallel": 1, "pipeline_parallel": count, "replicas": 1}
    elif split in ("row", "tensor"):
        shared |= {"tensor_parallel": count, "pipeline_parallel": 1, "replicas": 1}
    return shared


def _cards(info: str) -> list[str]:
    """Part the names of cards; a ``/`` parts them only where both sides begin alike."""
    names = [name.strip() for name in info.split(", ") if name.strip()]
    if len(names) == 1:
        parts = [part.strip() for part in names[0].split("/")]
        makers = {part.split(" ")[0] for part in parts}
        if len(makers) == 1 and all(" " in part for part in parts):
            return parts
    return names


def _used(record: Mapping[str, Any], names: list[str], *, alone: bool) -> list[str] | None:
    """Return the cards that the test used; None where that cannot be told."""
    used = _devices(record, names)
    if not used:
        return used
    if alone:
        main = number(record, "main_gpu")
        index = 0.0 if math.isnan(main) else main
        if index not in range(len(used)):
            message = f"main_gpu: {main:g} of {len(used)} cards"
            raise ReadError(message)
        return [used[int(index)]]
    shares = _shares(record)
    return [card for card, share in zip(used, shares, strict=False) if share] if shares else used


def _shares(record: Mapping[str, Any]) -> list[float]:
    """Return the share of each card where shares were set; else nothing."""
    written = text(record, "tensor_split") or "0"
    if not _SHARES.fullmatch(written):
        message = f"tensor_split: {written!r} is no list of shares"
        raise ReadError(message)
    shares = [float(share) for share in written.split("/")]
    return shares if any(shares) else []


def _devices(record: Mapping[str, Any], names: list[str]) -> list[str] | None:
    """Return the cards that were asked for, by their number; all where none was asked for."""
    asked = text(record, "devices") or "auto"
    if asked == "auto":
        return names
    if asked == "none":
        return []
    parts = asked.split("/")
    if len(set(names)) == 1:
        return names[:1] * len(parts)
    found = [_DEVICE.fullmatch(part) for part in parts]
    indices = [int(part[1]) for part in found if part]
    known = len(indices) == len(parts) and all(index < len(names) for index in indices)
    return [names[index] for index in indices] if known else None

"""Was the prefix cache warm? What prompts, room and the tail of ITL tell."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost import reference
from hetcost.columns import numbers_or_missing
from hetcost.findings.check import Check, Floats, Mask, Texts, column, series_of, texts, within
from hetcost.findings.load import merged
from hetcost.units import BYTES_PER_GB, BYTES_PER_GIB

_FLAT = 1.3  # P99 over P50 of ITL: no prefill delays anybody
_STEEP = 2.0  # some does
_SHOWS = 0.01  # share of gaps that prefills must lie in, for the 99th percentile to show them
_NONE, _MOST = 0.01, 0.5  # share of input tokens that the engine says came from its cache
Groups = NDArray[np.int64]
_ZONE = r"(?:Z|[+-]\d\d:\d\d)$"
_HARDWARE = ("model", "weight_dtype", "gpu", "n_gpus", "replicas", "engine", "engine_version")


def prefix_states(runs: pd.DataFrame) -> Texts:
    """Say of every run whether its prefix cache was cold, warm or that is unknown.

    *Warm*: an earlier run of the series sent the same prompts, the key-value cache holds all their
    tokens, and no prefill shows in the tail of ITL at a load where it must, as it did in the first
    run of these prompts. *Cold*: the first of its series, or the cache cannot hold them, or prefill
    shows. Where stream chunks were merged anywhere in the series, its tails are the host's and
    tell nothing. The share of cached tokens,
    where the engine tells it, goes before the tail. Which run was first is known of a series of
    dated runs only; a run by itself may have had others before it. An engine whose default is no
    prefix caching is not called warm.
    """
    stated = column(runs, "prefix_state").to_numpy(dtype=object, na_value="unknown")
    tail = _tail(runs)
    shows = _load_shows(runs)
    flat, steep = shows & (tail < _FLAT), shows & (tail > _STEEP)
    series = series_of(runs)
    seeds = within(series, runs, "prompt_seed")
    prompts = within(seeds, runs, "n_requests", "total_in_tok")
    host = pd.Series(merged(runs)).groupby(series).transform("any").to_numpy(dtype=bool)
    least, most = _room_tok(runs)
    needed = numbers_or_missing(runs, "total_in_tok") + numbers_or_missing(runs, "total_out_tok")
    first, later = _ranks(runs, series, seeds, prompts)
    began = pd.Series(first & shows & ~flat).groupby(prompts).transform("any").to_numpy(dtype=bool)
    cached = numbers_or_missing(runs, "cached_frac")
    cold = (first & ~flat) | (~first & ((most < needed) | (steep & ~host)))
    warm = later & (least >= needed) & flat & ~host & began
    warm = np.where(np.isnan(cached), warm, later & (cached >= _MOST)) & ~_off(runs)
    cold = np.where(np.isnan(cached), cold, cached <= _NONE)
    found = np.select([warm, cold], ["warm", "cold"], "unknown").astype(object)
    return np.where(np.isin(stated, ["cold", "warm"]), stated, found)


def _ranks(runs: pd.DataFrame, series: Groups, seeds: Groups, prompts: Groups) -> tuple[Mask, Mask]:
    """Say which runs of a series were the first to send their prompts, and which came later.

    The same seed with other numbers of requests sends some of the same prompts: such runs are
    neither. Nor are those whose dates are missing, alike, or some with a zone and some without.
    """
    written = column(runs, "date").astype("str")
    dates = pd.to_datetime(written, errors="coerce", utc=True, format="ISO8601")
    zoned = written.str.contains(_ZONE)
    frame = pd.DataFrame({"date": dates.dt.tz_localize(None), "zoned": zoned})
    frame = frame.reset_index(drop=True)
    of_series = frame.groupby(series)
    dated = of_series["date"].transform("count")
    known = (dated == of_series["date"].transform("size")) & (dated > 1)
    known &= of_series["zoned"].transform("nunique") == 1
    of_seed, of_prompts = (
        frame["date"] == frame["date"].groupby(key).transform("min") for key in (seeds, prompts)
    )
    single = of_seed.groupby(seeds).transform("sum") == 1
    return (known & of_seed & single).to_numpy(), (known & ~of_prompts).to_numpy()


def _off(runs: pd.DataFrame) -> Mask:
    """Say where the engine's default, on any device, is not to cache prefixes."""
    keys = [name for name in ("engine", "engine_version") if name in runs]
    if not len(runs) or len(keys) != len(("engine", "engine_version")):
        return np.zeros(len(runs), dtype=bool)
    groups = runs.groupby(keys, dropna=False, sort=False)
    off = [_caches_nothing(*_tuple(key)) for key, _ in groups]
    return np.array(off, dtype=bool)[groups.ngroup().to_numpy()]


def _caches_nothing(engine: Any, version: Any) -> bool:
    if pd.isna(engine) or pd.isna(version):
        return False
    default = reference.engine_facts(str(engine), str(version), "prefix_caching")["value"]
    return len(default) > 0 and bool((default == "off").all())


def _tail(runs: pd.DataFrame) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = numbers_or_missing(runs, "p99_itl_ms") / numbers_or_missing(runs, "p50_itl_ms")
    return np.asarray(tail)


def _load_shows(runs: pd.DataFrame) -> Mask:
    """Say where so many gaps hold a prefill that their 99th percentile shows it.

    Each request's prefill delays one gap of every other request in flight.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = numbers_or_missing(runs, "mean_concurrency") / numbers_or_missing(
            runs, "mean_out_tok"
        )
    return np.asarray(share > _SHOWS)


def _room_tok(runs: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return the least and most tokens that the key-value cache may hold.

    As logged; else what the hardware leaves, whose gigabytes may be of 10⁹ or of 2³⁰ bytes.
    """
    logged = numbers_or_missing(runs, "kv_tokens")
    keys = [name for name in _HARDWARE if name in runs]
    if not len(runs) or not {"model", "gpu", "n_gpus", "engine"} <= set(keys):
        return logged, logged
    groups = runs.groupby(keys, dropna=False, sort=False)
    rooms = [_estimated_tok(dict(zip(keys, _tuple(key), strict=True))) for key, _ in groups]
    least, most = np.array(rooms)[groups.ngroup().to_numpy()].T
    unknown = np.isnan(logged)
    return np.where(unknown, least, logged), np.where(unknown, most, logged)


def _tuple(key: Hashable) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _estimated_tok(of: dict[str, Any]) -> tuple[float, float]:
    """Return what weights leave of the memory that the engine claims, in tokens of the cache."""
    unknown = math.nan, math.nan
    if any(pd.isna(of.get(name)) for name in ("model", "gpu", "n_gpus", "engine")):
        return unknown
    memory = reference.gpu_fact(of["gpu"], "memory_gb")
    weights = reference.model_fact(of["model"], "weight_gb")
    each = reference.model_fact(of["model"], "kv_bytes_per_tok")
    version = of.get("engine_version")
    share = reference.engine_facts(
        str(of["engine"]), "" if pd.isna(version) else str(version), "gpu_memory_frac"
    )
    if memory is None or weights is None or each is None or share.empty:
        return unknown
    if not _as_measured(of):
        return unknown
    copies = 1.0 if pd.isna(of.get("replicas")) else max(float(of["replicas"]), 1.0)
    shares = pd.to_numeric(share["value"])
    cards = memory["value"] * float(of["n_gpus"]) / copies
    least = shares.min() * cards * BYTES_PER_GB
    most = shares.max() * cards * BYTES_PER_GIB
    held = weights["value"] * BYTES_PER_GB
    room = [max(claimed - held, 0.0) / each["value"] for claimed in (least, most)]
    return float(room[0]), float(room[1])


def _as_measured(of: dict[str, Any]) -> bool:
    """Say whether a model's weights are those of the table: of 16 bits, or of its own format."""
    native = reference.model_fact(of["model"], "native_dtype")
    dtype = of.get("weight_dtype")
    return native is None or pd.isna(dtype) or str(dtype) in ("float16", "bfloat16")


def warm(runs: pd.DataFrame, states: Texts | None = None) -> Texts:
    """Tell of the runs with a warm cache, by their states as :func:`prefix_states` gives them."""
    is_warm = (prefix_states(runs) if states is None else states) == "warm"
    if not is_warm.any():
        return np.full(len(runs), "", dtype=object)
    (room, _), tail = _room_tok(runs), _tail(runs)
    said = (
        "warm prefix cache: prompts of an earlier run, room for {room:,.0f} tokens, tail {tail:.2f}"
    )
    return texts(runs, is_warm, said, room=room, tail=tail)


CHECKS = (
    Check(
        "warm_prefix",
        "warning",
        warm,
        "prompts came from the cache: TTFT, and the cost of input tokens, are too low",
        "send fresh prompts to every run, or start the server with --no-enable-prefix-caching",
    ),
)

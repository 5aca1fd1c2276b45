"""Benchmarks: every figure is a ratio to a named baseline of the same run.

A group holds one `baseline` and one `hetcost` case; `table.py` divides them. Nothing is
asserted of a time.
"""

import pytest


@pytest.fixture
def case(benchmark):
    """Time a call under a group, as the baseline (with what it is) or as ours."""

    def run(group, aim, call, *, baseline=None, rounds=5, setup=None):
        benchmark.group = group
        benchmark.extra_info.update(aim=aim, baseline=baseline or "")
        return benchmark.pedantic(call, setup=setup, rounds=rounds, iterations=1, warmup_rounds=1)

    return run

"""Map jobs over any ``concurrent.futures`` executor, one result or error at a time."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any, NamedTuple

from hetcost.errors import AssumptionError

_INTERRUPTED = 130


class Done(NamedTuple):
    """A finished job: its result, or the error that ended it."""

    job: Any
    result: Any = None
    error: Exception | None = None


def run_jobs(
    function: Callable[[Any], Any],
    jobs: Iterable[Any],
    *,
    workers: int = 2,
    executor: Executor | None = None,
) -> Iterator[Done]:
    """Call a function on every job, and yield each as it finishes.

    Parameters
    ----------
    function : A function that worker processes can import.
    jobs : Its arguments.
    workers : Processes that work at once.
    executor : Any ``concurrent.futures`` executor, instead of processes of our own. It is not
        shut down.

    Yields
    ------
    Every job with its result or error, in the order in which they finish. When the iteration is
    left early, or interrupted, jobs that have not begun are cancelled.

    Raises
    ------
    AssumptionError
        `workers` is not 1 or more.
    """
    if workers < 1:
        message = f"workers={workers}: valid values are 1 or more"
        raise AssumptionError(message)
    todo = list(jobs)
    if not todo:
        return
    pool = executor or _pool(min(workers, len(todo)))
    futures: dict[Future[Any], Any] = {}
    try:
        for job in todo:
            futures[pool.submit(function, job)] = job
        for future in as_completed(futures):
            yield _outcome(futures[future], future)
    except BaseException:
        if executor is None:
            _terminate(pool)
        raise
    finally:
        for future in futures:
            future.cancel()
        if executor is None:
            pool.shutdown(cancel_futures=True)


def _pool(workers: int) -> ProcessPoolExecutor:
    # A fork has everything loaded, but of a process with threads it may hang.
    context = get_context("fork" if threading.active_count() == 1 else "forkserver")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_be_quiet)


def _be_quiet() -> None:
    """Leave the word to the process that asked: errors come back with their jobs."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    logging.lastResort = None


def _terminate(pool: Executor) -> None:
    # ProcessPoolExecutor.terminate_workers, which Python has from 3.14 on.
    for process in list((getattr(pool, "_processes", None) or {}).values()):
        process.terminate()


def _outcome(job: Any, future: Future[Any]) -> Done:
    error = future.exception()
    if error is None:
        return Done(job, future.result())
    if isinstance(error, Exception):
        return Done(job, error=error)
    raise error

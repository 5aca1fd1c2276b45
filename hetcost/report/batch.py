"""Render several reports at once; whatever ends early, what is finished stays valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

from hetcost.errors import ReportError
from hetcost.parallel import Done, run_jobs
from hetcost.report.index import check_ours, write_index
from hetcost.report.rendering import Rendered, render, report_folder


class Job(NamedTuple):
    """A report to render: notebook and parameters, as :func:`render` takes them."""

    notebook: str | Path
    parameters: Mapping[str, Any]
    out: str | Path
    timeout: float | None = None


def render_many(
    jobs: Iterable[Job], *, workers: int = 2, executor: Executor | None = None
) -> Iterator[Done]:
    """Render reports, yield each as it finishes, and keep the index over their folders.

    Parameters
    ----------
    jobs : The reports. Their parameters are checked before the first one runs.
    workers : Worker processes.
    executor : Any ``concurrent.futures`` executor, instead of processes of our own.

    Yields
    ------
    Each job with its :class:`Rendered` or the error that ended it.

    Raises
    ------
    UnknownNameError, ReportError
        A notebook or parameter is not valid, or two reports would share a folder; nothing has
        run then.
    """
    todo = list(jobs)
    outs = list(dict.fromkeys(Path(job.out) for job in todo))
    for out in outs:
        check_ours(out)
    folders = [report_folder(job.notebook, job.parameters, job.out) for job in todo]
    for folder, count in Counter(folders).items():
        if count > 1:
            message = f"{count} reports would share the folder {folder}"
            raise ReportError(message)
    try:
        yield from run_jobs(_render, todo, workers=workers, executor=executor)
    finally:
        for out in outs:
            if out.is_dir():
                write_index(out)


def _render(job: Job) -> Rendered:
    return render(job.notebook, job.parameters, out=job.out, timeout=job.timeout)

"""Reports from notebooks: executed with papermill, written as HTML with figures and tables.

Inside a notebook: :func:`save_figure`, :func:`save_table`, :func:`show_table`, :func:`say`,
:func:`cite`. From outside: :func:`render`, :func:`render_many`, :func:`write_index`,
:func:`inspect`; what they need of
papermill and nbconvert loads on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hetcost.report.outputs import cite, save_figure, save_table, say, show_table

if TYPE_CHECKING:
    from hetcost.report.batch import Job, render_many
    from hetcost.report.index import write_index
    from hetcost.report.parameters import inspect
    from hetcost.report.rendering import Rendered, render

__all__ = [
    "Job",
    "Rendered",
    "cite",
    "inspect",
    "render",
    "render_many",
    "save_figure",
    "save_table",
    "say",
    "show_table",
    "write_index",
]

_LAZY = {
    "Job": "batch",
    "Rendered": "rendering",
    "inspect": "parameters",
    "render": "rendering",
    "render_many": "batch",
    "write_index": "index",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)

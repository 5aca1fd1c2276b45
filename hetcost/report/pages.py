"""HTML of a report: the page of an executed notebook, and the index over reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from nbconvert import HTMLExporter

TEMPLATES = Path(__file__).parent / "template"


def notebook_page(node: Any, title: str, provenance: str) -> str:
    """Turn an executed notebook into a page that loads nothing from elsewhere.

    Parameters
    ----------
    node : The notebook.
    title : Title of the page.
    provenance : Line for the footer.
    """
    resources = {"title": title, "provenance": provenance, "style": _style()}
    body, _ = _exporter().from_notebook_node(node, resources=resources)
    return str(body)


def index_page(
    reports: Sequence[Any], sources: Sequence[Mapping[str, Any]], provenance: str
) -> str:
    """Write the index: a card per report, the sources of all of them, a footer."""
    page = _environment().get_template("index.html.j2")
    return page.render(reports=reports, sources=sources, provenance=provenance, style=_style())


@cache
def _exporter() -> HTMLExporter:
    return HTMLExporter(  # type: ignore[no-untyped-call]
        extra_template_basedirs=[str(TEMPLATES)],
        template_name="notebook",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
    )


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(TEMPLATES)
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)


@cache
def _style() -> str:
    return (TEMPLATES / "style.css").read_text("utf-8")

"""YAML as people mean it: `NO` is a country and `2025-05` a text, not a flag and a date.

Numbers are decimal: `010` is ten, and `1:30` and `1_0` are texts. A key stands once.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from hetcost.errors import AssumptionError

_BOOL, _TIME = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"
_INT, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_NUMBERS = "-+.0123456789"


class _Loader(yaml.SafeLoader):
    """Reads flags and numbers as YAML 1.2 does, and dates as text."""


def _whole(loader: _Loader, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node))


def _mapping(loader: _Loader, node: yaml.MappingNode) -> Any:
    seen = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                problem = f"{key.value} stands twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
    return loader.construct_yaml_map(node)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_BOOL, _TIME, _INT, _FLOAT)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for tag, pattern, starts in (
    (_BOOL, r"(?i:true|false)$", "tTfF"),
    (_INT, r"[-+]?[0-9]+$", _NUMBERS),
    (_FLOAT, r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$", _NUMBERS),
    (_FLOAT, r"([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$", _NUMBERS),
):
    _Loader.add_implicit_resolver(tag, re.compile(pattern), list(starts))
_Loader.add_constructor(_INT, _whole)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read_yaml(text: str) -> Any:
    """Read a YAML text.

    Raises
    ------
    AssumptionError
        The text is not YAML.
    """
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, TypeError, KeyError, RecursionError) as error:
        message = f"not YAML: {' '.join(str(error).split())}"
        raise AssumptionError(message) from None

"""YAML as people mean it: `NO` is a country and `2025-05` a text, not a flag and a date."""

from __future__ import annotations

import re
from typing import Any

import yaml

from hetcost.errors import AssumptionError

_BOOL, _TIME = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"


class _Loader(yaml.SafeLoader):
    """Reads flags as YAML 1.2 does (true and false alone), and dates as text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_BOOL, _TIME)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOL, re.compile(r"true|false", re.IGNORECASE), list("tTfF"))


def read_yaml(text: str) -> Any:
    """Read a YAML text.

    Raises
    ------
    AssumptionError
        The text is not YAML.
    """
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        message = f"not YAML: {' '.join(str(error).split())}"
        raise AssumptionError(message) from None

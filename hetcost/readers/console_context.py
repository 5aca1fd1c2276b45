"""What a console log says of a run outside its table of results: arguments, command, servers.

Everything is found by patterns and taken as text; nothing is evaluated. An argument that is None,
a shell variable or a list is left out.
"""

from __future__ import annotations

import re

_CALL = "Namespace("
_LONGEST_CALL = 2**14  # letters of a list of arguments
# key='…', key="…" or key=…; quoted text without a key stands in a list and is passed over.
_ARGUMENT = re.compile(
    r"""(?:(?P<key>\w+)=)?(?:'(?P<one>(?:[^'\\]|\\.)*)'|"(?P<two>(?:[^"\\]|\\.)*)")"""
    r"""|(?P<name>\w+)=(?P<plain>[^,()'"\[\]{}]*)"""
)
_NUMBER = r"([0-9][0-9.e+-]*[0-9]|[0-9]|inf)\b"
_ABOVE = {
    "request_rate": re.compile(rf"Traffic request rate: +{_NUMBER}"),
    "burstiness": re.compile(rf"Burstiness factor: +{_NUMBER}"),
    "max_concurrency": re.compile(rf"Maximum request concurrency: +{_NUMBER}"),
    "ramp_up_strategy": re.compile(r"Traffic ramp-up strategy: +(\w+)"),
    "ramp_up_start_rps": re.compile(rf"Will increase RPS from {_NUMBER}"),
    "ramp_up_end_rps": re.compile(rf"Will increase RPS from [0-9.]+ to {_NUMBER}"),
}
_COMMAND = re.compile(
    r"(?:vllm bench serve|benchmark_serving\.py|bench_serving|sglang\.benchmark\.serving)"
    r"(?=\s)((?:[^\n]*\\\n)*[^\n]*(?:\n[ \t]+--[^\n]*)*)"
)
_OPTION = re.compile(r"--([a-z][a-z-]{0,63})[= ]+(?!-)[\"']?([^\s\"'$`{}\\]+)")
_SERVERS = {
    "tp": re.compile(r"--tensor-parallel-size[= ]+([0-9]{1,4})\b"),
    "pp": re.compile(r"--pipeline-parallel-size[= ]+([0-9]{1,4})\b"),
    "dp": re.compile(r"--data-parallel-size[= ]+([0-9]{1,4})\b"),
    "vllm_version": re.compile(r"image: *vllm/vllm-openai:v?([0-9][\w.]*)"),
    "gpu_name": re.compile(r"^gpu_name: {0,9}(\S[^\n]{0,99})$", re.MULTILINE),
    "gpu_count": re.compile(r"^gpu_count: *([0-9]+) *$", re.MULTILINE),
}
_SERVER = re.compile(r"container_name: *(vllm_(?:benchmark_container_)?[0-9]{1,4})\b")


def arguments(text: str) -> dict[str, str] | None:
    """Return what the last ``Namespace(…)`` of a text holds; None where there is none."""
    begin = text.rfind(_CALL)
    if begin == -1:
        return None
    end = text.find("\n", begin)
    call = text[begin + len(_CALL) : len(text) if end == -1 else end][:_LONGEST_CALL]
    found: dict[str, str] = {}
    for match in _ARGUMENT.finditer(call):
        key = match["key"] or match["name"]
        value = next((match[each] for each in ("one", "two", "plain") if match[each]), "")
        if key and value.strip() not in ("", "None"):
            found.setdefault(key, value.strip())
    return found


def above(text: str) -> dict[str, str]:
    """Return the load that the client announces before it sends requests."""
    announced = text[max(text.rfind(_CALL), 0) :]
    found = {key: pattern.findall(announced) for key, pattern in _ABOVE.items()}
    return {key: values[-1] for key, values in found.items() if values}


def command(text: str) -> dict[str, str]:
    """Return the options of the client's command, if the text holds one and no other."""
    commands = [dict(_OPTION.findall(match[1])) for match in _COMMAND.finditer(text)]
    commands = [options for options in commands if options]
    if len(commands) != 1:
        return {}
    return {key.replace("-", "_"): value for key, value in commands[0].items()}


def servers(text: str) -> dict[str, str]:
    """Return the shape of the servers of a compose file and the card, where there is one answer."""
    found = {key: set(map(str.strip, each.findall(text))) for key, each in _SERVERS.items()}
    out = {key: values.pop() for key, values in found.items() if len(values) == 1}
    if names := set(_SERVER.findall(text)):
        out["replicas"] = str(len(names))
        out["engine"] = "vLLM"
    return out

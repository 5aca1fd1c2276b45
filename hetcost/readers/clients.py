"""What serving clients call the engines, and how requests arrive at one."""

from __future__ import annotations

import math
from functools import lru_cache

_ENGINES = {
    "vllm": "vLLM",
    "vllm_python": "vLLM",
    "sglang": "SGLang",
    "tgi": "TGI",
    "lmdeploy": "LMDeploy",
    "tensorrt-llm": "TensorRT-LLM",
    "tensorrtllm": "TensorRT-LLM",
    "trt": "TensorRT-LLM",
    "trtllm": "TensorRT-LLM",
}


@lru_cache(maxsize=256)
def engine(backend: str | None) -> str | None:
    """Return the engine that a client's backend is of; None where it names a protocol.

    Examples
    --------
    >>> engine("sglang-oai-chat"), engine("openai-chat")
    ('SGLang', None)
    """
    name = (backend or "").lower()
    return _ENGINES.get(name) or _ENGINES.get(name.partition("-")[0])


def arrival(rate: float, limit: float, burstiness: float = 1.0) -> str | None:
    """Return how requests arrive; None where no rate is known.

    Parameters
    ----------
    rate : Requests that are sent per second; inf where all are sent at once or the limit
        rules. [1/s]
    limit : Most requests in flight; NaN for none.
    burstiness : Shape of the gamma-distributed gaps; inf for equal ones.
    """
    if math.isnan(rate):
        return None
    if math.isinf(rate):
        return "closed" if limit > 0 else "burst"
    if math.isinf(burstiness):
        return "constant"
    return "poisson" if burstiness == 1 or math.isnan(burstiness) else "gamma"

"""The run columns: what is known of one measured run."""

from __future__ import annotations

from hetcost.columns.column import Column, count, number, text

STATISTICS = ("mean", "p50", "p90", "p95", "p99")
LATENCIES = {
    "ttft": "time to first token",
    "tpot": "time per output token, first token left out; averaged per request",
    "itl": "inter-token latency; gaps of all requests pooled",
    "e2el": "end-to-end latency of a request",
}


def _latency_columns() -> list[Column]:
    return [
        number(
            f"{statistic}_{short}_ms",
            "ms",
            f"{statistic.upper() if statistic != 'mean' else 'Mean'} {short.upper()}",
            f"{statistic} of {meaning}",
        )
        for short, meaning in LATENCIES.items()
        for statistic in STATISTICS
    ]


RUN_COLUMNS: tuple[Column, ...] = (
    text("run_id", "identity of the run: hash of its content"),
    text("study", "measurement campaign the run belongs to"),
    text("source", "file and line the run was read from"),
    text("tool", "load generator that wrote the result"),
    text("tool_version", "version of the load generator"),
    text("engine", "inference engine that was measured"),
    text("engine_version", "version of the engine"),
    text("date", "start or end of the run, ISO 8601; zone unknown unless it ends with Z"),
    text("model", "model, by its hub name", "Model"),
    text("weight_dtype", "number format of the weights"),
    text("gpu", "canonical name of the card", "GPU"),
    count("n_gpus", "cards of the configuration", "GPUs", low=1),
    count("tensor_parallel", "cards that share each layer", low=1),
    count("pipeline_parallel", "groups of layers on cards of their own", low=1),
    count("replicas", "independent copies of the server behind one address", low=1),
    text("dataset", "where the prompts come from"),
    text("arrival", "arrival process: poisson, gamma, constant, burst (all at once) or closed"),
    Column(
        "request_rate_per_s",
        "number",
        "1/s",
        "Offered load",
        "requests sent per second; inf where all are sent at once or concurrency is the limit",
        0,
        infinite=True,
    ),
    number("burstiness", "1", "Burstiness", "shape of the gamma-distributed gaps; 1 is Poisson"),
    count("max_concurrency", "most requests in flight that the client allowed", low=1),
    count("n_requests", "requests sent", "Requests"),
    count("prompt_seed", "seed that chose prompts and gaps"),
    count("completed", "requests answered in full", "Completed requests"),
    count("failed", "requests that were not answered in full", "Failed requests"),
    number("duration_s", "s", "Duration", "first request sent to last answer received"),
    count(
        "total_in_tok",
        "input tokens of the completed requests; of all where the tool counts those cut off, see "
        "cut_off",
        "Input tokens",
    ),
    count(
        "total_out_tok",
        "output tokens of the completed requests; of all where the tool counts those cut off, see "
        "cut_off",
        "Output tokens",
    ),
    number("mean_in_tok", "tok", "Mean input length", "input tokens per completed request"),
    number("mean_out_tok", "tok", "Mean output length", "output tokens per completed request"),
    number("req_per_s", "1/s", "Achieved load", "completed requests per second of duration"),
    number("goodput_per_s", "1/s", "Goodput", "requests per second within the tool's own limits"),
    number("out_tok_per_s", "tok/s", "Output throughput", "output tokens / duration"),
    number("all_tok_per_s", "tok/s", "Throughput", "input and output tokens / duration"),
    number(
        "mean_concurrency",
        "1",
        "Mean concurrency",
        "requests in flight: req/s × E2E, with E2E = TTFT + (n − 1)·TPOT where it is not given",
    ),
    *_latency_columns(),
    number("gpu_energy_j", "J", "Board energy", "energy of all boards during the run"),
    number("gpu_power_w", "W", "Board power", "mean power of all boards during the run"),
    text("energy_method", "how the energy was had: counter, integrated, wall or modelled"),
    count("kv_tokens", "tokens that the key-value cache holds", "KV cache"),
    text("prefix_state", "prefix cache at the start of the run: cold, warm or unknown"),
    number("cached_frac", "1", "Cached share", "share of input tokens served from cache", high=1),
    count("repeat", "1 for the first run of a configuration and load, 2 for the second …", low=1),
    text("phase", "warmup where the file says so, measure only where the user does; else missing"),
    text("warnings", "what the reader noticed, parted by '; '"),
)
# What some tools say and others do not; a table has those that any of its runs says.
OPTIONAL_RUN_COLUMNS: tuple[Column, ...] = (
    number(
        "reported_out_tok_per_s", "tok/s", "Reported output throughput", "the tool's own figure"
    ),
    number("reported_all_tok_per_s", "tok/s", "Reported throughput", "the tool's own figure"),
    number("reported_req_per_s", "1/s", "Reported load", "the tool's own figure"),
    number("reported_usd_per_mtok", "USD/Mtok", "Reported cost", "as it is stored with the run"),
    text("reported_usd_basis", "tokens that the reported cost counts: in, out or all"),
    count(
        "cut_off",
        "requests still under way when a run of fixed duration ended; their tokens are in the "
        "totals, they are not in the means",
    ),
    count("total_all_tok", "input and output tokens, where the tool does not tell them apart"),
    text(
        "token_count_source",
        "who counted output tokens: server, client_stream, retokenized, requested or nominal",
    ),
    text("itl_kind", "what ITL is taken over: pooled (all gaps) or request_mean"),
    number(
        "mean_norm_e2el_ms_per_tok",
        "ms/tok",
        "Latency per output token",
        "mean of E2E latency over output tokens, first-token wait included",
    ),
    Column("streaming", "flag", "", "Streaming", "whether answers came token by token"),
    count("expert_parallel", "cards that share the experts of a layer", low=1),
    count("data_parallel", "copies of a layer's attention within one server", low=1),
    count("prefill_gpus", "cards that do nothing but prefill"),
    text("kv_dtype", "number format of the key-value cache"),
    number("idle_power_w", "W", "Idle power", "mean power of all boards before the run"),
)

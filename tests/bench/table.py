"""Turn pytest-benchmark's JSON into one table of ratios."""

import json
import platform
import sys
from collections import defaultdict
from pathlib import Path

ROW = "| {:<44} | {:<52} | {:>10} | {:>10} | {:>6} | {:>6} |"


def rows(report):
    groups = defaultdict(dict)
    for bench in report["benchmarks"]:
        info, seconds = bench["extra_info"], bench["stats"]["min"]
        side = "baseline" if info["baseline"] else "ours"
        groups[bench["group"]][side] = (info, info.get("value", seconds))
    for name, sides in sorted(groups.items()):
        (info, ours), (base_info, base) = sides["ours"], sides["baseline"]
        ratio = f"{ours / base:.2f}"
        yield name, base_info["baseline"], f"{base:.4g}", f"{ours:.4g}", ratio, info["aim"]


def table(report):
    machine = report["machine_info"]
    lines = [
        "# Speed",
        "",
        "Ratios of hetcost to a named baseline, both timed in one run (the least of several",
        "rounds, in seconds; memory in bytes). `make bench` writes this page.",
        "",
        f"{report['datetime'][:10]}, {machine['cpu'].get('brand_raw', 'unknown processor')}, "
        f"{machine['cpu'].get('count', '?')} cores, {machine['system']} {machine['machine']}, "
        f"Python {machine['python_version']} ({platform.python_implementation()}).",
        "",
        ROW.format("what", "baseline", "baseline", "hetcost", "ratio", "aim"),
        ROW.format("---", "---", "--:", "--:", "--:", "--:"),
        *(ROW.format(*row) for row in rows(report)),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    text = table(json.loads(source.read_text("utf-8")))
    target.parent.mkdir(exist_ok=True)
    target.write_text(text, "utf-8")
    sys.stdout.write(text)

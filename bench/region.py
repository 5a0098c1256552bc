# SPDX-License-Identifier: Apache-2.0
"""What a region costs, idle and while a capture runs, against what people use today.

    python bench/region.py [--json] [--rounds N] [--calls N]

Each round times every candidate once, one after the other, so that a slow moment of the machine
falls on all of them; ratios are taken within a round. Their median says what to expect, the ratio
of the minima what the code costs where nothing disturbs it. No clock is as steady as a count of
instructions: docs/regions.md says how to take one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

from dew.telemetry.profile import profile, region

Loop = Callable[[int], None]


def loops() -> dict[str, Loop]:
    from jax.profiler import TraceAnnotation

    nullcontext = contextlib.nullcontext

    def ours(calls: int) -> None:
        for _ in range(calls):
            with region("input.wait"):
                pass

    def null(calls: int) -> None:
        for _ in range(calls):
            with nullcontext():
                pass

    def annotation(calls: int) -> None:
        for _ in range(calls):
            with TraceAnnotation("input.wait"):
                pass

    return {"region": ours, "nullcontext": null, "TraceAnnotation": annotation}


def timed(loop: Loop, calls: int) -> float:
    """Nanoseconds a call."""
    begin = time.perf_counter_ns()
    loop(calls)
    return (time.perf_counter_ns() - begin) / calls


def interleaved(candidates: dict[str, Loop], rounds: int, calls: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for loop in candidates.values():
        loop(calls // 10 + 1)
    for number in range(rounds):
        order = list(candidates)
        for name in order if number % 2 else reversed(order):
            times[name].append(timed(candidates[name], calls))
    return times


def compare(what: str, ours: list[float], other: list[float], limit: float) -> dict[str, object]:
    ratios = [a / b for a, b in zip(ours, other, strict=True)]
    return {
        "what": what,
        "ours_ns": round(min(ours), 1),
        "other_ns": round(min(other), 1),
        "ratio_of_minima": round(min(ours) / min(other), 3),
        "median_ratio": round(statistics.median(ratios), 3),
        "limit": limit,
    }


def measure(rounds: int, calls: int) -> list[dict[str, object]]:
    every = loops()
    idle = interleaved(every, rounds, calls)
    found = [
        compare("idle / nullcontext", idle["region"], idle["nullcontext"], 0.38),
        compare("idle / idle TraceAnnotation", idle["region"], idle["TraceAnnotation"], 0.38),
    ]
    del every["nullcontext"]
    with tempfile.TemporaryDirectory() as folder:
        p = profile(folder)
        p.reports = "off"
        with p:
            tracing = interleaved(every, rounds, max(calls // 10, 1))
    found.append(
        compare("tracing / TraceAnnotation", tracing["region"], tracing["TraceAnnotation"], 0.95)
    )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--calls", type=int, default=20_000)
    args = parser.parse_args()
    found = measure(args.rounds, args.calls)
    if args.json:
        json.dump({"python": sys.version.split()[0], "regions": found}, sys.stdout, indent=1)
        print()
    else:
        for row in found:
            print(
                f"{row['what']:<28} {row['ours_ns']:>8} ns against {row['other_ns']:>8} ns: "
                f"ratio {row['ratio_of_minima']} of minima, {row['median_ratio']} median, "
                f"at most {row['limit']}"
            )
    return 0 if all(row["ratio_of_minima"] <= row["limit"] for row in found) else 1  # type: ignore[operator]


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""What a region costs, idle and while a capture runs, against what people use today.

Each round times every candidate once, one after the other, so that a slow moment of the machine
falls on all of them. The ratio of the minima is what the code costs where nothing disturbs it, and
is held against the limit. No clock is as steady as a count of instructions: docs/regions.md says
how to take one. Started as a module it measures in a process of its own: `ROUNDS CALLS`.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable

from bench.harness import Line, Plan, ask, in_turns
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

    return {"region": ours, "nullcontext": null, "annotation": annotation}


def timed(loop: Loop, calls: int) -> float:
    """Nanoseconds a call."""
    begin = time.perf_counter_ns()
    loop(calls)
    return (time.perf_counter_ns() - begin) / calls


def compare(candidates: dict[str, Loop], rounds: int, calls: int) -> dict[str, list[float]]:
    def turn(loop: Loop) -> Callable[[], float]:
        loop(calls // 10 + 1)
        return lambda: timed(loop, calls)

    return in_turns(rounds, **{name: turn(loop) for name, loop in candidates.items()})


def measure(rounds: int, calls: int) -> dict[str, dict[str, list[float]]]:
    every = loops()
    idle = compare(every, rounds, calls)
    del every["nullcontext"]
    with tempfile.TemporaryDirectory() as folder:
        profiler = profile(folder)
        profiler.reports = "off"
        with profiler:
            tracing = compare(every, rounds, max(calls // 10, 1))
    return {"idle": idle, "tracing": tracing}


def lines(plan: Plan) -> list[Line]:
    found = ask("region", plan.pick(101, 15), 20_000)
    idle, tracing = found["idle"], found["tracing"]
    note = "Python {}.{}".format(*sys.version_info)
    return [
        Line(what, against, "ns", limit, ours, theirs, by="minimum", note=note)
        for what, against, limit, ours, theirs in (
            ("idle region", "nullcontext", 0.38, idle["region"], idle["nullcontext"]),
            ("idle region", "idle TraceAnnotation", 0.38, idle["region"], idle["annotation"]),
            (
                "tracing region",
                "tracing TraceAnnotation",
                0.95,
                tracing["region"],
                tracing["annotation"],
            ),
        )
    ]


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))

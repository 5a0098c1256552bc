# SPDX-License-Identifier: Apache-2.0
"""`dew-profile summary --json --top 12` as a whole process, against other ways to read the same capture.

The others are favoured: of the Python walk only the loop counts, of the protobuf parser only its
call, in the process's best of several. Started as a module: `walk FILE`, `parse FILE`.
"""

from __future__ import annotations

import json
import pathlib
import sys
import tempfile
import time
from typing import Any

from bench.harness import (
    Line,
    Plan,
    ask,
    big_capture,
    fresh_copy,
    in_turns,
    peak_without,
    program,
    run,
)

PARSES = 4
MEMORY_LIMIT_MIB = 16


def walk(file: str) -> float:
    """Sums the durations by name: the least that a summary does."""
    from jax.profiler import ProfileData

    data = ProfileData.from_file(file)
    begin = time.perf_counter()
    totals: dict[str, float] = {}
    for plane in data.planes:
        for line in plane.lines:
            for event in line.events:
                name = event.name
                totals[name] = totals.get(name, 0.0) + event.duration_ns
    return time.perf_counter() - begin


def parse(file: str) -> float:
    """The C++ protobuf parser inside xprof's library, from bytes in memory to a parsed message."""
    from xprof import profile_data

    library = profile_data._lib
    data = pathlib.Path(file).read_bytes()
    seconds = []
    for _ in range(PARSES):
        begin = time.perf_counter()
        parsed = library.profile_data_from_bytes(data, len(data))
        seconds.append(time.perf_counter() - begin)
        if not parsed:
            raise RuntimeError("xprof's library did not parse the capture")
        library.profile_data_free(parsed)
    return min(seconds)


def command(file: pathlib.Path) -> list[str]:
    """The rows of the page: writing out each of thousands of steps is nothing the others do."""
    return [str(program()), "summary", "--json", "--top", "12", str(file)]


def ours(file: pathlib.Path) -> float:
    return run(command(file)).seconds


def with_xprof(plan: Plan, tool: str, file: pathlib.Path) -> float:
    """xprof's program keeps answers by content for a day in the temporary folder, so it gets an
    empty one each time; a fresh copy of the capture alone would be answered from there."""
    copy = fresh_copy(file, plan.folder / "xprof-copy")
    with tempfile.TemporaryDirectory(dir=plan.folder) as temporary:
        ran = run([program("xprof"), tool, copy], temporary=pathlib.Path(temporary))
    if not isinstance(json.loads(ran.output), dict) or '"error"' in ran.output:
        raise RuntimeError(f"xprof {tool} gave no answer: {ran.output[:200]}")
    return ran.seconds


def against_readers(plan: Plan, events: int) -> list[Line]:
    file = big_capture(plan, events)
    found = in_turns(
        plan.pick(7, 3),
        ours=lambda: ours(file),
        walk=lambda: ask("summary", "walk", file),
        parse=lambda: ask("summary", "parse", file),
    )
    what, note = "summary, whole process", f"{events:,} events, {file.stat().st_size / 1e6:.1f} MB"
    made = [
        Line(
            what,
            "Python walk with ProfileData, its loop alone",
            "s",
            0.10,
            found["ours"],
            found["walk"],
            note=note,
        ),
        Line(
            what,
            "C++ protobuf parsing of the same bytes",
            "s",
            0.8,
            found["ours"],
            found["parse"],
            note=note,
        ),
    ]
    aggregate = Line(
        what,
        "xprof aggregate_xplane_events",
        "s",
        0.004,
        found["ours"],
        note=note,
    )
    if plan.quick:
        aggregate.skipped = "takes a quarter of a minute a run; not in --quick"
    else:
        aggregate.theirs = [with_xprof(plan, "aggregate_xplane_events", file) for _ in range(3)]
    return [*made, aggregate]


def small(plan: Plan) -> Line:
    file = big_capture(plan, 10_000)
    found = in_turns(
        plan.pick(11, 3),
        ours=lambda: ours(file),
        theirs=lambda: with_xprof(plan, "get_overview", file),
    )
    return Line(
        "summary, small capture, whole process",
        "xprof get_overview",
        "s",
        0.03,
        found["ours"],
        found["theirs"],
        note=f"10,000 events, {file.stat().st_size / 1e6:.1f} MB",
    )


def memory(plan: Plan, events: int) -> Line:
    file = big_capture(plan, events)
    rounds = plan.pick(3, 2)
    return Line(
        "summary, memory beyond the mapped file",
        "",
        "MiB",
        MEMORY_LIMIT_MIB,
        [peak_without(command(file), file) / (1 << 20) for _ in range(rounds)],
        note=f"{events:,} events; resident, looked at every millisecond",
    )


def growth(plan: Plan, events: int) -> Line:
    files = {size: big_capture(plan, size) for size in (events, events * 10)}
    found = in_turns(
        plan.pick(5, 3),
        ours=lambda: ours(files[events * 10]),
        theirs=lambda: ours(files[events]),
    )
    return Line(
        f"summary of {events * 10:,} events",
        f"summary of {events:,} events",
        "s",
        10,
        found["ours"],
        found["theirs"],
        note="cost as events grow 10x",
    )


def lines(plan: Plan) -> list[Line]:
    events = plan.pick(1_000_000, 100_000)
    sizes = [10_000, 100_000, 1_000_000]
    return [
        *against_readers(plan, events),
        small(plan),
        *[memory(plan, size) for size in (events, events * 10)[: plan.pick(2, 1)]],
        *[growth(plan, size) for size in sizes[: plan.pick(3, 1)]],
    ]


def main() -> None:
    what, file = sys.argv[1:]
    found: Any = {"walk": walk, "parse": parse}[what](file)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

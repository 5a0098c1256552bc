# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of `dew-profile summary`, written a second time: slowly, whole lists in memory.

Reads a capture through jax.profiler.ProfileData and computes what the specification says, without
one idea in common with the streaming program: no merge, no marks, plain sorting and sweeping. What
launched an op is told by the name of its module, which the tests choose so that it is known.
All times are integer picoseconds.
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from dataclasses import dataclass, field

NO_REGION = "(no region)"


@dataclass
class Event:
    line: int
    name: str
    start: int
    end: int
    stats: dict = field(default_factory=dict)


@dataclass
class Capture:
    events: int
    window: tuple[int, int]
    ops: dict[str, list[Event]]
    host: list[Event]


def _ps(nanoseconds: float) -> int:
    return round(nanoseconds * 1000)


def read(path) -> Capture:
    from jax.profiler import ProfileData

    count, host, window = 0, [], None
    ops: dict[str, list[Event]] = defaultdict(list)
    for plane in ProfileData.from_file(str(path)).planes:
        if plane.name == "Task Environment":
            times = dict(plane.stats)
            window = (0, (times["profile_stop_time"] - times["profile_start_time"]) * 1000)
        gpu = plane.name.removeprefix("/device:GPU:")
        if gpu != plane.name:
            ops.setdefault(f"gpu:{gpu}", [])
        for number, line in enumerate(plane.lines):
            for raw in line.events:
                count += 1
                start = _ps(raw.start_ns)
                event = Event(number, raw.name, start, start + _ps(raw.duration_ns))
                if gpu != plane.name and line.name.startswith("Stream #"):
                    ops[f"gpu:{gpu}"].append(event)
                elif plane.name == "/host:CPU":
                    event.stats = dict(raw.stats)
                    host.append(event)
    if not any(ops.values()) and not any(name.startswith("gpu") for name in ops):
        for event in host:
            if "hlo_op" in event.stats and not event.name.startswith("end: "):
                ops[f"cpu:{event.stats.get('device_ordinal', 0)}"].append(event)
    assert window is not None
    return Capture(count, window, ops, host)


def union(events: list[Event], window: tuple[int, int]) -> list[tuple[int, int]]:
    low, high = window
    parts: list[tuple[int, int]] = []
    for start, end in sorted((max(e.start, low), min(e.end, high)) for e in events):
        if end <= start:
            continue
        if parts and start <= parts[-1][1]:
            parts[-1] = (parts[-1][0], max(parts[-1][1], end))
        else:
            parts.append((start, end))
    return parts


def length(parts: list[tuple[int, int]]) -> int:
    return sum(end - start for start, end in parts)


def gaps(parts: list[tuple[int, int]], window: tuple[int, int]) -> list[tuple[int, int]]:
    edges = [window[0], *(edge for part in parts for edge in part), window[1]]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2]) if b > a]


def innermost(regions: list[Event], at: int) -> str:
    """The region that started last of those open at `at`; of equal starts, the shorter one."""
    last = None
    for region in regions:
        if region.start <= at < region.end and (
            last is None or (region.start, -region.end) >= (last.start, -last.end)
        ):
            last = region
    return last.name if last else NO_REGION


def idle_by_region(idle: list[tuple[int, int]], regions: list[Event]) -> dict[str, int]:
    cuts = sorted({edge for region in regions for edge in (region.start, region.end)})
    sums: dict[str, int] = defaultdict(int)
    for start, end in idle:
        inside = cuts[bisect.bisect_right(cuts, start) : bisect.bisect_left(cuts, end)]
        edges = [start, *inside, end]
        for a, b in zip(edges, edges[1:]):
            sums[innermost(regions, a)] += b - a
    return dict(sums)


def nearest_rank(values: list[int], fraction: float) -> int:
    ordered = sorted(values)
    return ordered[max(1, math.ceil(fraction * len(ordered))) - 1]


def regions_of(capture: Capture, names: set[str]) -> list[Event]:
    return [e for e in capture.host if e.name in names]


def check(answer: dict, capture: Capture, names: set[str]) -> None:
    """Every sum of the program's answer against this model, to the picosecond."""
    window = capture.window
    assert answer["capture"]["events"] == capture.events
    assert answer["window_ps"] == window[1] - window[0]
    regions = regions_of(capture, names)
    assert {d["name"] for d in answer["devices"]} == set(capture.ops)
    behind: dict[str, int] = defaultdict(int)
    for device in answer["devices"]:
        ops = capture.ops[device["name"]]
        parts = union(ops, window)
        assert device["ops"] == len(ops)
        assert device["op_time_ps"] == sum(e.end - e.start for e in ops)
        assert device["busy_ps"] == length(parts)
        assert device["busy_ps"] + device["idle_ps"] == answer["window_ps"]
        expected = idle_by_region(gaps(parts, window), regions)
        found = {part["region"]: part["idle_ps"] for part in device["idle_by_region"]}
        assert found == expected
        assert sum(found.values()) == device["idle_ps"]
        assert sum(device["idle_by_cause"].values()) == device["idle_ps"]
        for name, idle in expected.items():
            behind[name] += idle
    assert {r["name"] for r in answer["regions"]} == names
    for region in answer["regions"]:
        durations = [e.end - e.start for e in regions if e.name == region["name"]]
        assert region["calls"] == len(durations)
        assert region["total_ps"] == sum(durations)
        assert region["min_ps"] == min(durations)
        assert region["max_ps"] == max(durations)
        assert region["mean_ps"] == sum(durations) // len(durations)
        assert len(durations) <= 4096
        for key, fraction in (("p50_ps", 0.5), ("p90_ps", 0.9), ("p99_ps", 0.99)):
            assert region[key] == nearest_rank(durations, fraction)
        assert region["idle_behind_ps"] == behind[region["name"]]
    steps = [e for e in capture.host if "step_num" in e.stats]
    assert answer["steps"]["count"] == len(steps)
    if steps and capture.ops:
        unions = [union(ops, window) for ops in capture.ops.values()]
        by_key = {(e.stats["step_num"], e.end - e.start): e for e in steps}
        for step in answer["steps"]["slowest"]:
            event = by_key[(step["step"], step["duration_ps"])]
            busy = sum(
                max(0, min(b, event.end) - max(a, event.start)) for u in unions for a, b in u
            )
            assert step["busy_ps"] == busy // len(unions)
            assert step["busy_ps"] + step["idle_ps"] == step["duration_ps"]
    calls: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    on_thread: dict[tuple[str, int], list[Event]] = defaultdict(list)
    op_ids = {id(e) for ops in capture.ops.values() for e in ops}
    for event in capture.host:
        if id(event) not in op_ids and not event.name.startswith(("end: ", "ThreadpoolListener::")):
            calls[event.name][0] += 1
            on_thread[event.name, event.line].append(event)
    for (name, _), events in on_thread.items():
        everywhere = (min(e.start for e in events), max(e.end for e in events))
        calls[name][1] += length(union(events, everywhere))
    host = {
        row["name"]: [row["calls"], row["total_ps"]]
        for row in answer["host"]
        if not row["name"].startswith("ThreadpoolListener::")
    }
    assert host == dict(calls)
    table: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    if answer["platform"] == "cpu":
        for ops in capture.ops.values():
            for event in ops:
                row = table[(event.stats["hlo_module"], event.stats["hlo_op"])]
                row[0] += 1
                row[1] += event.end - event.start
        found_ops = {(r["module"], r["op"]): [r["calls"], r["total_ps"]] for r in answer["ops"]}
        assert found_ops == dict(table)


def module_time(capture: Capture, module: str) -> tuple[int, int]:
    """Op time and count of a module over all devices."""
    ops = [e for all_ in capture.ops.values() for e in all_ if e.stats.get("hlo_module") == module]
    return sum(e.end - e.start for e in ops), len(ops)

# SPDX-License-Identifier: Apache-2.0
"""What start and stop cost, against JAX's own functions, on real captures.

Started as a module it measures one thing in a process of its own: `start ROUNDS`, or `stop WAY
WORK EVENTS`, where memory and time of one stop can be told from all else.

What a stop costs depends on what the events are: JAX parses the attributes that XLA's own events
carry, and a mark of the program's has none. So there are two kinds of work, with a line for each.
"""

from __future__ import annotations

import json
import pathlib
import sys
import tempfile
import threading
import time
from typing import Any

from bench.harness import Line, Plan, ask, in_turns

EVENTS_A_CALL = 16  # of a tiny jitted call on one CPU device, about; the capture is counted


def vm_bytes(name: str) -> int:
    for row in pathlib.Path("/proc/self/status").read_text().splitlines():
        if row.startswith(f"{name}:"):
            return int(row.split()[1]) * 1024
    raise RuntimeError(f"no {name} in /proc/self/status")


class Ticker(threading.Thread):
    """The longest time that another Python thread was kept from running."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.longest_s = 0.0
        self.going = True

    def run(self) -> None:
        before = time.perf_counter()
        while self.going:
            time.sleep(0.001)
            now = time.perf_counter()
            self.longest_s = max(self.longest_s, now - before)
            before = now


def measure_start(folder: pathlib.Path, rounds: int) -> dict[str, list[float]]:
    import jax
    import jax.numpy as jnp

    from dew.telemetry.profile import capture_options, profile

    arrays = [jnp.ones(4) + i for i in range(10)]

    def ours() -> float:
        profiler = profile(folder / "ours")
        begin = time.perf_counter()
        profiler.start()
        seconds = time.perf_counter() - begin
        profiler.reports = "off"
        profiler.stop()
        return seconds

    def theirs() -> float:
        begin = time.perf_counter()
        for array in jax.live_arrays():
            array.block_until_ready()
        jax.effects_barrier()
        jax.profiler.start_trace(folder / "theirs", profiler_options=capture_options())
        seconds = time.perf_counter() - begin
        jax.profiler.stop_trace()
        return seconds

    theirs()  # JAX's own first start
    first = ours()  # the look-up of the converter, once
    found = in_turns(rounds, ours=ours, theirs=theirs)
    assert len(arrays) == 10
    return {**found, "first": [first]}


def annotate(events: int) -> None:
    import jax

    for _ in range(events):
        with jax.profiler.TraceAnnotation("work"):
            pass


def call_jitted(events: int) -> None:
    import jax
    import jax.numpy as jnp

    step = jax.jit(lambda x: x + 1)
    x = jnp.ones(4)
    for _ in range(events // EVENTS_A_CALL):
        x = step(x)
    x.block_until_ready()


WORK = {"annotations": annotate, "jitted calls": call_jitted}


def measure_stop(folder: pathlib.Path, way: str, work: str, events: int) -> dict[str, Any]:
    import jax

    from dew.telemetry.profile import capture_options, profile

    call_jitted(EVENTS_A_CALL)  # compiles
    profiler = profile(folder)
    profiler.reports = "off"
    if way == "ours":
        profiler.start()
    else:
        jax.profiler.start_trace(folder, profiler_options=capture_options())
    WORK[work](events)
    ticker = Ticker()
    ticker.start()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = vm_bytes("VmRSS")
    begin = time.perf_counter()
    if way == "ours":
        profiler.stop()
    else:
        jax.profiler.stop_trace()
    seconds = time.perf_counter() - begin
    added = vm_bytes("VmHWM") - before
    ticker.going = False
    (file,) = folder.rglob("*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(file))
    phases = {}
    if way == "ours":
        assert profiler.capture
        manifest = json.loads((profiler.capture / "manifest.json").read_text())
        phases = manifest["durations_s"]
    return {
        "seconds": seconds,
        "added_bytes": added,
        "held_s": ticker.longest_s,
        "file_bytes": file.stat().st_size,
        "events": sum(len(list(line.events)) for plane in data.planes for line in plane.lines),
        "phases": phases,
    }


def stop_lines(plan: Plan, work: str) -> list[Line]:
    events = plan.pick(1_000_000, 100_000)
    found = in_turns(
        plan.pick(5, 1),
        ours=lambda: ask("capture", "stop", "ours", work, events),
        theirs=lambda: ask("capture", "stop", "theirs", work, events),
    )
    one = found["ours"][0]
    note = f"{one['events']:,} events of {work}, {one['file_bytes'] / 1e6:.1f} MB"

    def each(key: str, scale: float = 1) -> tuple[list[float], list[float]]:
        ours, theirs = ([one[key] / scale for one in found[side]] for side in ("ours", "theirs"))
        return ours, theirs

    return [
        Line(
            "stop() until the capture is on disk",
            "jax.profiler.stop_trace",
            "s",
            0.25,
            *each("seconds"),
            note=note,
            more={side: samples for side, samples in found.items()},
        ),
        Line(
            "memory that stop adds",
            "what stop_trace adds",
            "MiB",
            0.5,
            *each("added_bytes", 1 << 20),
            note=note,
        ),
    ]


def lines(plan: Plan) -> list[Line]:
    starts = ask("capture", "start", plan.pick(21, 5))
    return [
        Line(
            "start()",
            "drain in Python + start_trace",
            "s",
            1.2,
            starts["ours"],
            starts["theirs"],
            note=f"the first, with the look-up of the converter: {starts['first'][0]:.3f} s",
            more={"first": starts["first"]},
        ),
        *(line for work in WORK for line in stop_lines(plan, work)),
    ]


def main() -> None:
    what, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        found: dict[str, Any] = (
            measure_start(folder, int(rest[0]))
            if what == "start"
            else measure_stop(folder, rest[0], rest[1], int(rest[2]))
        )
    print(json.dumps(found))


if __name__ == "__main__":
    main()

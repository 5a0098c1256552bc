# SPDX-License-Identifier: Apache-2.0
"""All non-interactive reports of one real capture, against xprof's Python, one after the other.

Both sides are whole processes and start from a fresh copy of the capture, without any cache.
Started as a module: `FOLDER CALLS` makes the capture.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
from typing import Any

from bench.harness import Line, Plan, answer, ask, fresh_copy, in_turns, program, run


def make_capture(folder: str, calls: int) -> str:
    import jax
    import jax.numpy as jnp

    from dew.telemetry.profile import profile, region

    @jax.jit
    def step(x: jax.Array) -> jax.Array:
        for _ in range(8):
            x = jnp.tanh(x @ x)
        return x

    x = step(jnp.ones((64, 64))).block_until_ready()
    profiler = profile(folder)
    profiler.reports = "off"
    with profiler:
        for number in range(calls):
            with (
                jax.profiler.StepTraceAnnotation("train", step_num=number),
                region("region.compute"),
            ):
                x = step(x)
        x.block_until_ready()
    assert profiler.capture
    (file,) = profiler.capture.rglob("*.xplane.pb")
    return str(file)


def lines(plan: Plan) -> list[Line]:
    capture = pathlib.Path(ask("reports", plan.folder / "reports-capture", plan.pick(2000, 200)))
    loops: list[dict[str, Any]] = []

    def ours() -> float:
        file = fresh_copy(capture, plan.folder / "reports-ours")
        out = file.parent / "reports"
        return run([program(), "report", "--quiet", "-o", out, file], keep_output=False).seconds

    def theirs() -> float:
        file = fresh_copy(capture, plan.folder / "reports-theirs")
        ran = run([sys.executable, "-m", "bench.reports_xprof", file])
        loops.append(answer(ran))
        return ran.seconds

    found = in_turns(plan.pick(7, 2), ours=ours, theirs=theirs)
    note = (
        f"{capture.stat().st_size / 1e6:.1f} MB, {len(loops[0]['tools'])} reports, "
        f"{os.cpu_count()} cores"
    )
    return [
        Line(
            "all non-interactive reports",
            "xprof's Python, one after the other",
            "s",
            0.8,
            found["ours"],
            found["theirs"],
            note=note,
            more={"theirs_inside": loops},
        ),
        Line(
            "all non-interactive reports",
            "the same, its import of xprof left out",
            "s",
            0.8,
            found["ours"],
            [one["loop_s"] for one in loops],
            note=note,
        ),
    ]


if __name__ == "__main__":
    print(json.dumps(make_capture(sys.argv[1], int(sys.argv[2]))))

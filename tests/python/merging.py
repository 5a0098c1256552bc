# SPDX-License-Identifier: Apache-2.0
"""`dew-profile merge` as a call, captures written for it, and what lies in the runs it makes."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jax

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from xplane_writer import Space  # noqa: E402

EPOCH = 1_700_000_000 * 10**9
MS = 1_000_000  # ns
RUN = "plugins/profile/r"


def merge(
    program: pathlib.Path, out: pathlib.Path | str, *inputs: object, status: int = 0, **more: Any
) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [program.absolute(), "merge", "--json", out, *inputs],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **more,
    )
    assert done.returncode == status, (done.returncode, done.stderr, done.stdout)
    assert "\n\n" not in done.stderr
    return json.loads(done.stdout) if done.stdout else {}, done.stderr


def merged_files(out: pathlib.Path) -> list[pathlib.Path]:
    return sorted(out.glob("plugins/profile/*/*.xplane.pb"))


def lines_of(file: pathlib.Path) -> dict[tuple[str, str], list[tuple[str, float, float]]]:
    """(plane, line) -> events as (name, start in ns, duration in ns)."""
    data = jax.profiler.ProfileData.from_file(str(file))
    return {
        (plane.name, line.name): [(e.name, e.start_ns, e.duration_ns) for e in line.events]
        for plane in data.planes
        for line in plane.lines
    }


def starts(file: pathlib.Path, name: str) -> list[float]:
    return [e[1] for events in lines_of(file).values() for e in events if e[0] == name]


def window_of(file: pathlib.Path) -> tuple[int, int]:
    data = jax.profiler.ProfileData.from_file(str(file))
    (plane,) = [p for p in data.planes if p.name == "Task Environment"]
    stats = dict(plane.stats)
    return stats["profile_start_time"], stats["profile_stop_time"]


def capture(
    path: pathlib.Path,
    *,
    began: int = EPOCH,  # by this host's clock
    lasts: int = 400 * MS,
    truth: int = 0,  # how much later it began than the others, in truth
    steps: int = 20,
    step: int = 10 * MS,
    late: int = 0,  # how long after its collective each of its steps ends, in ns
    collectives: bool = True,
    module: str = "jit_step",
    pid: int = 1,
    jax_version: str = "1.0",
    first_step: int = 0,
    host: str = "",
    joins: int | None = None,  # when in each step it joins the collective, in ns
    wakes: Callable[[int], int] = lambda step: 0,  # how late it sees its end, in ns
    hlo: bytes = b"",  # of `module`
) -> pathlib.Path:
    """A CPU capture: steps that in truth end together, each after a collective.

    Step i begins 100 ms + i * step after EPOCH in truth; the collective ends in the middle of it.
    """
    space = Space(host or f"host{pid}")
    metadata = space.plane("/host:metadata")
    metadata.stats = [("jax_version", jax_version), ("process_id", pid)]
    host = space.plane("/host:CPU")
    python = host.line("python", timestamp_ns=1000)
    worker = host.line("tf_XLAEigen/1", timestamp_ns=2000)
    for i in range(steps):
        start = 100 * MS + i * step - truth
        python.event(
            "train", (start - 1000) * 1000, (step // 2 + late) * 1000, {"step_num": first_step + i}
        )
        name = "all-reduce" if collectives else "dot"
        stats = {"hlo_op": name, "hlo_module": module, "run_id": i}
        joined = step // 4 if joins is None else joins
        worker.event(
            name, (start + joined - 2000) * 1000, (step // 2 + wakes(i) - joined) * 1000, stats
        )
    if hlo:
        metadata.metadata(f"{module}(7)", stats={"Hlo Proto": hlo})
    space.window(began, began + lasts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(space.encode())
    return path


def with_manifest(file: pathlib.Path, sections: Any = {}, **process: int) -> pathlib.Path:  # noqa: B006
    folder = file.parents[3]
    manifest = {"schema": 1, "process": process, **sections}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def placed(tmp_path: pathlib.Path, name: str, **fields: Any) -> pathlib.Path:
    return capture(tmp_path / name / RUN / "h.xplane.pb", **fields)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what many processes cost `dew-profile summary`: the tables of docs/scale.md.

    measure_scale.py PROGRAM [--processes 10,1000,10000] [--runs 5] [--folder DIR]

The job is that of mkjob.py: 100 steps, 64 kernels a step, 6 regions, one straggler. For each number
of processes: one `--partial` of one capture, joining all parts at once and in groups, and up to 1000
processes a summary straight from the captures. Each is the median of several whole processes, by
the wall clock, with the peak of resident memory (the mapped file among it); and sizes.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

from mkjob import Job

JOB = Job(processes=0, steps=100, ops=64, regions=6, kinds=64, slow=7)


@dataclasses.dataclass
class Run:
    seconds: float
    peak_kib: int


PR_SET_CHILD_SUBREAPER = 36


def timed(*command: object) -> Run:
    """A process's peak counts that of the process it was forked from. So the program is forked by a
    small shell, which ends before it lets the program begin, and is inherited by us."""
    gate, opener = os.pipe()
    script = f'{{ read _ <&{gate}; exec "$@"; }} >/dev/null & echo $!'
    shell = subprocess.run(
        ["sh", "-c", script, "sh", *map(str, command)],
        stdout=subprocess.PIPE,
        pass_fds=[gate],
        check=True,
    )
    pid = int(shell.stdout)
    started = time.perf_counter()
    os.write(opener, b"\n")
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - started
    os.close(gate)
    os.close(opener)
    if status:
        raise SystemExit(f"measure_scale.py: {command[:4]} ended with status {status}")
    return Run(seconds, usage.ru_maxrss)


def median(runs: list[Run]) -> dict[str, float]:
    return {
        "seconds": round(statistics.median(run.seconds for run in runs), 4),
        "peak_mib": round(statistics.median(run.peak_kib for run in runs) / 1024, 1),
    }


def groups(paths: list[pathlib.Path]) -> list[list[pathlib.Path]]:
    size = math.isqrt(len(paths) - 1) + 1
    return [paths[i : i + size] for i in range(0, len(paths), size)]


def measure(
    program: pathlib.Path, processes: int, runs: int, folder: pathlib.Path
) -> dict[str, object]:
    job = dataclasses.replace(JOB, processes=processes)
    root = folder / "job"
    folders = job.write(root)
    parts = [folder / f"{rank}.part" for rank in range(processes)]
    made = [
        timed(program, "summary", "--partial", part, place)
        for part, place in zip(parts, folders, strict=True)
    ]
    joins = [timed(program, "summary", *parts) for _ in range(runs)]
    whole = subprocess.check_output([program, "summary", *parts])
    pieces = groups(parts)
    halves = [folder / f"group-{i}.part" for i in range(len(pieces))]
    first = [
        timed(program, "summary", "--partial", half, *piece)
        for half, piece in zip(halves, pieces, strict=True)
    ]
    last = [timed(program, "summary", *halves) for _ in range(runs)]
    if subprocess.check_output([program, "summary", *halves]) != whole:
        raise SystemExit("measure_scale.py: parts in groups give another answer")
    captures = [timed(program, "summary", root) for _ in range(runs if processes <= 1000 else 0)]
    (file,) = folders[0].rglob("*.xplane.pb")
    one = folder / "all.part"
    timed(program, "summary", "--partial", one, *halves)
    return {
        "processes": processes,
        "capture_bytes": file.stat().st_size,
        "part_bytes": parts[0].stat().st_size,
        "parts_bytes": sum(part.stat().st_size for part in parts),
        "joined_part_bytes": one.stat().st_size,
        "one_part": median(made),
        "join_all": median(joins),
        "from_captures": median(captures) if captures else None,
        "join_one_group": median(first),
        "join_groups": median(last),
        "groups": len(halves),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--processes", default="10,1000,10000")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path, help="a folder on the disk to measure")
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for processes in map(int, given.processes.split(",")):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="scale-", dir=given.folder))
        try:
            print(json.dumps(measure(given.program, processes, given.runs, folder)), flush=True)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()

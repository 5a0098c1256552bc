#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the captures of a job of many processes, with a straggler and wrong clocks if asked for.

    mkjob.py ROOT --processes 1000 [--steps 100] [--ops 8] [--regions 2]
             [--slow RANK] [--late MS] [--clock RANK=MS] [--no-collectives] [--kinds 16]

ROOT gets process-NNNNN/capture-0001/ with manifest.json and a GPU-shaped .xplane.pb for each. In
every step a process waits for input (region `input.wait`), launches OPS kernels (region `compute`)
and ends in an all-reduce, which lasts from its own arrival to that of the last process; so do the
step and the capture. The slow one's input takes MS longer. Processes work a little differently,
but only KINDS of them: files of the same kind are one file with many names (hard links), so that
thousands of processes take no space to speak of. What is in a job is `Job`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import sys
from collections.abc import Mapping

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from xplane_writer import Space, StatValue  # noqa: E402

EPOCH_NS = 1_700_000_000 * 1_000_000_000
US = 1_000_000
MS = 1_000 * US
STEP_GAP_PS = 100 * US
INPUT_PS = 500 * US
KERNEL_PS = 200 * US
KIND_PS = 3 * US
FIRST_PS = MS
REDUCE_PS = 50 * US


def op_stats(step: int, op: str) -> dict[str, StatValue]:
    return {"correlation_id": step + 1, "hlo_op": op, "hlo_module": "jit_train"}


@dataclasses.dataclass(frozen=True)
class Job:
    processes: int
    steps: int = 100
    ops: int = 8
    regions: int = 2
    kinds: int = 16
    slow: int | None = None
    late_ps: int = 5 * MS
    clocks_ps: Mapping[int, int] = dataclasses.field(default_factory=dict)
    collectives: bool = True
    marked: bool = True
    """Whether the steps are marked as such."""
    squares: bool = False
    """Steps are numbered 0, 1, 4, 9, ..."""

    late_in: str = "input"
    """What of the slow one takes longer: "input", or its devices' own "work"."""
    late_every: int = 1
    """It is late in every step (1), every second one (2), ..."""
    in_turn: bool = False
    """Each process is the slow one in its turn."""

    def slow_in(self, step: int) -> int | None:
        if self.in_turn:
            return step % self.processes
        return None if step % self.late_every else self.slow

    def late_by_ps(self, rank: int, step: int, where: str) -> int:
        return self.late_ps if rank == self.slow_in(step) and where == self.late_in else 0

    def input_ps(self, rank: int, step: int = 0) -> int:
        return INPUT_PS + self.late_by_ps(rank, step, "input")

    def work_ps(self, rank: int, step: int = 0) -> int:
        own = self.ops * KERNEL_PS + rank % self.kinds * KIND_PS
        return own + self.late_by_ps(rank, step, "work")

    def arrival_ps(self, rank: int, step: int = 0) -> int:
        """After the step's beginning, with nothing left to do but to wait for the others."""
        return self.input_ps(rank, step) + self.work_ps(rank, step)

    def latest_ps(self, step: int = 0) -> int:
        ranks = {*range(min(self.processes, self.kinds)), self.slow_in(step)} - {None}
        return max(self.arrival_ps(rank, step) for rank in ranks if rank is not None)

    def step_ps(self, rank: int, step: int = 0) -> int:
        end = self.latest_ps(step) if self.collectives else self.arrival_ps(rank, step)
        return end + REDUCE_PS

    def pitch_ps(self) -> int:
        """From one step's beginning to the next one's, for all processes."""
        latest = max(self.latest_ps(step) for step in range(self.processes if self.in_turn else 1))
        return latest + REDUCE_PS + STEP_GAP_PS

    def lost_ps(self) -> int:
        """That all processes wait for the last one, in all steps."""
        return sum(
            self.latest_ps(step) - self.arrival_ps(rank, step)
            for step in range(self.steps)
            for rank in range(self.processes)
        )

    def kind(self, rank: int) -> tuple[int, bool, int]:
        """What decides what a file holds."""
        slow = self.in_turn or rank == self.slow
        return rank if self.in_turn else rank % self.kinds, slow, self.clocks_ps.get(rank, 0)

    def encode(self, rank: int) -> bytes:
        space = Space("node")
        device = space.plane("/device:GPU:0")
        kernels = device.line("Stream #1(Compute)", 1)
        reduces = device.line("Stream #2(Collective)", 2)
        python = space.plane("/host:CPU").line("python", 5)
        pitch = self.pitch_ps()
        for step in range(self.steps):
            start = FIRST_PS + step * pitch
            waited, work = self.input_ps(rank, step), self.work_ps(rank, step)
            whole, at = self.step_ps(rank, step), start + waited
            marker = {"step_num": step**2 if self.squares else step} if self.marked else {}
            python.event("train", start, whole, marker)
            python.event("input.wait", start, waited)
            python.event("compute", at, whole - waited)
            python.event("cuLaunchKernel", at, 20 * US, {"correlation_id": step + 1})
            for region in range(self.regions - 2):
                python.event(f"part.{region}", at + (region + 1) * US, 500_000)
            each = work // self.ops
            for op in range(self.ops):
                duration = work - (self.ops - 1) * each if op == self.ops - 1 else each
                kernels.event(f"fusion_{op}", at, duration, op_stats(step, f"fusion.{op}"))
                at += duration
            if self.collectives:
                duration = start + whole - at
                reduces.event("ncclAllReduce", at, duration, op_stats(step, "all-reduce.1"))
        end = FIRST_PS + self.steps * pitch
        zero_ns = EPOCH_NS + self.clocks_ps.get(rank, 0) // 1_000
        space.window(zero_ns, zero_ns + end // 1_000)
        return space.encode()

    def manifest(self, rank: int) -> str:
        names = ["input.wait", "compute"] + [f"part.{i}" for i in range(self.regions - 2)]
        process = {
            "index": rank,
            "count": self.processes,
            "host": f"node{rank // 8}",
            "pid": 1000 + rank % 8,
        }
        return json.dumps(
            {"schema": 1, "state": "captured", "process": process, "regions": names[: self.regions]}
        )

    def write(self, root: pathlib.Path) -> list[pathlib.Path]:
        """Each process's folder."""
        made: dict[tuple[int, bool, int], pathlib.Path] = {}
        folders = []
        for rank in range(self.processes):
            folder = root / f"process-{rank:05}"
            run = folder / "capture-0001" / "plugins" / "profile" / "run"
            run.mkdir(parents=True)
            (folder / "capture-0001" / "manifest.json").write_text(self.manifest(rank))
            file = run / "node.xplane.pb"
            same = made.setdefault(self.kind(rank), file)
            if same == file:
                file.write_bytes(self.encode(rank))
            else:
                os.link(same, file)
            folders.append(folder)
        return folders


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="mkjob.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--processes", type=int, required=True)
    for name, default in (("steps", 100), ("ops", 8), ("regions", 2), ("kinds", 16)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--slow", type=int)
    parser.add_argument("--late", type=float, default=5, metavar="MS")
    parser.add_argument("--clock", action="append", default=[], metavar="RANK=MS")
    parser.add_argument("--no-collectives", action="store_true")
    given = parser.parse_args()
    clocks = dict(pair.split("=") for pair in given.clock)
    job = Job(
        processes=given.processes,
        steps=given.steps,
        ops=given.ops,
        regions=given.regions,
        kinds=given.kinds,
        slow=given.slow,
        late_ps=round(given.late * MS),
        clocks_ps={int(rank): round(float(ms) * MS) for rank, ms in clocks.items()},
        collectives=not given.no_collectives,
    )
    job.write(given.root)


if __name__ == "__main__":
    main()

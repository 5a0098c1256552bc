# SPDX-License-Identifier: Apache-2.0
"""`dew-profile summary` of processes whose clocks are apart and whose steps are not the same ones."""

from __future__ import annotations

import itertools
import json
import pathlib
import subprocess
from typing import Any

import pytest
from merging import EPOCH, MS, placed, with_manifest

DAY = 86_400 * 1000 * MS


def summary(program: pathlib.Path, *arguments: object) -> str:
    command = [program, "summary", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def joined(program: pathlib.Path, *arguments: object) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(summary(program, "--json", "--top", "0", *arguments))
    return answer["joined"]


def job(tmp_path: pathlib.Path, *processes: tuple[int, int, int]) -> list[pathlib.Path]:
    """Captures of (first step, steps, clock off by ns); step i is at the same time in all."""
    folders = []
    for rank, (first, steps, off) in enumerate(processes):
        file = placed(
            tmp_path,
            f"p{rank}",
            # as if it began when step `first` is 100 ms away
            began=EPOCH + off + first * 10 * MS,
            lasts=200 * MS + steps * 10 * MS,
            steps=steps,
            first_step=first,
            pid=rank + 1,
        )
        folders.append(with_manifest(file, index=rank, count=len(processes)))
    return folders


def offsets(answer: dict[str, Any]) -> list[float | None]:
    for row in answer["processes"]:
        if row["start_offset_ns"] is not None:
            assert abs(row["start_offset_ns"] - row["end_offset_ns"]) <= 2
    return [
        None if row["end_offset_ns"] is None else round(row["end_offset_ns"] / MS, 4)
        for row in answer["processes"]
    ]


@pytest.mark.parametrize(
    ("processes", "expected"),
    [
        ([(0, 20, 0), (0, 20, 40)], [-40, 40]),
        ([(0, 20, 0), (0, 200, 40)], [-40, 40]),
        ([(0, 20, 0), (5, 20, 50)], [-50, 50]),
        ([(0, 20, 0), (0, 200, 40), (0, 20, 0)], [0, 40, 0]),
        ([(0, 20, 0), (0, 200, 40), (10, 30, 0)], [0, 40, 0]),
        # process 2 shares many steps with the one whose clock is wrong, and few with a right one
        ([(0, 20, 0), (10, 190, 40), (16, 184, 0), (0, 20, 0)], [0, 40, 0, 0]),
        # a chain: nobody has all steps, and no step is everybody's
        ([(i * 10, 20, [0, 9, 0, 0, -7][i]) for i in range(5)], [0, 9, 0, 0, -7]),
        # two groups without a common step: nothing says how far those are apart
        ([(0, 20, 0), (0, 30, 40), (0, 20, 0), (500, 20, 0), (500, 30, 0)], [0, 40, 0, None, None]),
        # two shared steps are too few
        ([(0, 20, 0), (0, 20, 40), (18, 20, 0)], [-40, 40, None]),
        ([(0, 20, 0), (0, 200, 3_600_000), (0, 50, 0)], [0, 3_600_000, 0]),
    ],
)
def test_offsets_are_of_steps_that_are_shared(program, tmp_path, processes, expected):
    folders = job(tmp_path, *[(first, n, ms * MS) for first, n, ms in processes])
    whole = joined(program, *folders)
    got = offsets(whole)
    assert got == pytest.approx(expected, abs=1e-5) if None not in expected else got == expected
    wrong = {i for i, off in enumerate(expected) if off}
    clocks = [row["clock"] for row in whole["processes"]]
    for i, off in enumerate(expected):
        known = {"clock off", "one clock off"} if i in wrong else {"agrees"}
        assert clocks[i] in ({"unknown"} if off is None else known), (i, clocks)

    parts = [tmp_path / f"{i}.part" for i in range(len(folders))]
    for folder, part in zip(folders, parts, strict=True):
        summary(program, "--partial", part, folder)
    for order in itertools.islice(itertools.permutations(parts), 0, None, 5):
        some = tmp_path / "some.part"
        summary(program, "--partial", some, *order[1:])
        assert joined(program, some, order[0]) == whole


def test_clocks_years_apart_are_said_as_they_are(program, tmp_path):
    folders = job(tmp_path, (0, 20, 0), (0, 20, -1111 * DAY - DAY // 9), (0, 20, 0))
    page = summary(program, *folders)
    assert f"-{(1111 * 86_400 + 9_600):d}.0 s" in page
    assert f"{(1111 * 86_400 + 9_600):d}.0 s before" in page


def test_nobody_is_the_slowest_where_nothing_is_lost(program, tmp_path):
    answer = joined(program, *job(tmp_path, (0, 20, 0), (0, 20, 0), (0, 20, 0)))
    assert answer["lost_ps"] == 0 and answer["verdict"] == "even"
    assert [row["slowest_in"] for row in answer["processes"]] == [0, 0, 0]

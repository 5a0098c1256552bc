# SPDX-License-Identifier: Apache-2.0
"""Captures of jax.distributed jobs: one folder a process, and nothing lost."""

from __future__ import annotations

import json
import pathlib

import jax
import pytest
from processes import run_processes

STEPS = """
profiler.start()
multihost_utils.sync_global_devices("ready")
with region("mark"):
    say(rank)
profiler.stop()
"""


def regions_of(capture: pathlib.Path) -> int:
    (file,) = capture.rglob("*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(file))
    return [e.name for p in data.planes for line in p.lines for e in line.events].count("mark")


def test_each_process_captures_into_a_folder_of_its_own(tmp_path):
    job = run_processes(2, STEPS, tmp_path)
    assert job.said == [[0], [1]]
    for rank, folder in enumerate(job.folders):
        manifest = json.loads((folder / "capture-0001" / "manifest.json").read_text())
        assert manifest["state"] == "captured"
        assert (manifest["process"]["index"], manifest["process"]["count"]) == (rank, 2)
        assert regions_of(folder / "capture-0001") == 1


def test_one_killed_in_the_middle_costs_only_its_own_capture(tmp_path):
    body = """
    profiler.start()
    multihost_utils.sync_global_devices("ready")
    with region("mark"):
        if rank == 1:
            die()
    profiler.stop()
    """
    job = run_processes(2, body, tmp_path, kill=[1])
    whole, dead = (folder / "capture-0001" for folder in job.folders)
    assert regions_of(whole) == 1
    assert json.loads((whole / "manifest.json").read_text())["state"] == "captured"
    assert json.loads((dead / "manifest.json").read_text())["state"] == "capturing"
    assert not list(dead.rglob("*.xplane.pb"))


def test_a_job_that_fails_says_what_it_printed(tmp_path):
    with pytest.raises(AssertionError, match="rank 1 ended with 1(?s:.*)ZeroDivisionError"):
        run_processes(2, "multihost_utils.sync_global_devices('ready')\n1 // (1 - rank)", tmp_path)

# SPDX-License-Identifier: Apache-2.0
"""Captures of jax.distributed jobs: one folder a process, and nothing lost."""

from __future__ import annotations

import json

import pytest
from captures import event_names
from processes import run_processes

STEPS = """
profiler.start()
multihost_utils.sync_global_devices("ready")
with region("mark"):
    say(rank)
profiler.stop()
"""


@pytest.mark.parametrize("count", [2, 4])
def test_each_process_captures_into_a_folder_of_its_own(tmp_path, count):
    job = run_processes(count, STEPS, tmp_path)
    assert job.said == [[rank] for rank in range(count)]
    assert sorted(job.root.iterdir()) == job.folders
    for rank, folder in enumerate(job.folders):
        manifest = json.loads((folder / "capture-0001" / "manifest.json").read_text())
        assert manifest["state"] == "captured"
        assert (manifest["process"]["index"], manifest["process"]["count"]) == (rank, count)
        assert event_names(folder / "capture-0001").count("mark") == 1


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
    assert event_names(whole).count("mark") == 1
    assert json.loads((whole / "manifest.json").read_text())["state"] == "captured"
    assert json.loads((dead / "manifest.json").read_text())["state"] == "capturing"
    assert not list(dead.rglob("*.xplane.pb"))


def test_processes_start_and_stop_when_they_like(tmp_path):
    """One starts when the others are at work already, one has stopped by then, one captures twice."""
    body = """
    early, late = rank == 0, rank == 1
    if not late:
        profiler.start()
    with region("mark"):
        multihost_utils.sync_global_devices("first")
    if early:
        profiler.stop()
    multihost_utils.sync_global_devices("one has stopped")
    if not early:
        if not late:
            profiler.stop()
        profiler.start()
        with region("mark"):
            pass
    multihost_utils.sync_global_devices("second")
    if not early:
        profiler.stop()
    """
    job = run_processes(3, body, tmp_path)
    counts = [len(list(folder.glob("capture-*"))) for folder in job.folders]
    assert counts == [1, 1, 2]
    for capture in job.root.glob("process-*/capture-*"):
        assert json.loads((capture / "manifest.json").read_text())["state"] == "captured"
        assert event_names(capture).count("mark") == 1


def test_a_job_that_fails_says_what_it_printed(tmp_path):
    with pytest.raises(AssertionError, match="rank 1 ended with 1(?s:.*)ZeroDivisionError"):
        run_processes(2, "multihost_utils.sync_global_devices('ready')\n1 // (1 - rank)", tmp_path)

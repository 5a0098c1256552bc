# SPDX-License-Identifier: Apache-2.0
"""`dew-profile merge` on real jobs of several processes."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import pytest
from merging import (
    MS,
    lines_of,
    merge,
    merged_files,
    starts,
    window_of,
)
from processes import run_processes
from xplane_writer import varint

from dew.telemetry.profile import require_profile_support


@pytest.fixture
def out(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "out"


JOB = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec
mesh = Mesh(jax.devices(), ("d",))
sharding = NamedSharding(mesh, PartitionSpec("d"))
x = jax.make_array_from_process_local_data(sharding, jnp.ones((8, 64)), (8 * count, 64))
step = jax.jit(lambda x: x + jnp.sum(x @ jnp.ones((64, 64))) * 1e-9)
x = step(x).block_until_ready()
time.sleep(0.3 * rank)
profiler.start()
multihost_utils.sync_global_devices("ready")
for i in range(19):
    with jax.profiler.StepTraceAnnotation("train", step_num=i):
        x = step(x).block_until_ready()
multihost_utils.sync_global_devices("done")
with region("mark"):
    say(time.time_ns())
time.sleep(0.2)  # windows that overlap even with a wrong clock
profiler.stop()
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return run_processes(2, JOB, tmp_path_factory.mktemp("two"))


def trace_viewer(files: list[pathlib.Path], tmp_path: pathlib.Path) -> dict[str, list[float]]:
    """Host -> when its marks begin, in ns, in the converter's own JSON."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    copies = [shutil.copy(file, scratch) for file in files]
    data, _ = require_profile_support().xspace_to_tool_data(copies, "trace_viewer@")
    events = json.loads(data)["traceEvents"]
    hosts = {
        e["pid"]: e["args"]["name"].split(" ")[0] for e in events if e.get("name") == "process_name"
    }
    found: dict[str, list[float]] = {host: [] for host in hosts.values()}
    for event in events:
        if event.get("name") == "mark":
            found[hosts[event["pid"]]].append(event["ts"] * 1000)
    return found


def assert_marks_are_true(job, out: pathlib.Path, tmp_path: pathlib.Path) -> None:
    files = merged_files(out)
    truth = [said[0] for said in job.said]
    marks = [starts(file, "mark") for file in files]
    assert [len(m) for m in marks] == [1] * len(files)
    seen = trace_viewer(files, tmp_path)
    assert sorted(seen) == [f.name.removesuffix(".xplane.pb") for f in files]
    assert len(seen) == len(truth)
    for (mark,), (_, shown), said in zip(marks, sorted(seen.items()), truth, strict=True):
        assert abs((mark - marks[0][0]) - (said - truth[0])) < MS
        assert abs(shown[0] - mark) < MS


def test_two_real_processes_lie_within_a_millisecond(program, two, tmp_path, out):
    answer, _ = merge(program, out, two.root)
    assert answer["events_before"] == answer["events_after"]
    assert [p["process"]["index"] for p in answer["processes"]] == [0, 1]
    assert answer["processes"][1]["shared_steps"] == 19
    assert answer["residual_ns"] >= 0 and answer["processes"][1]["correction_ns"] == 0
    assert_marks_are_true(two, out, tmp_path)


def test_four_real_processes(program, tmp_path, out):
    job = run_processes(4, JOB, tmp_path)
    answer, _ = merge(program, out, job.root)
    assert [p["process"]["index"] for p in answer["processes"]] == [0, 1, 2, 3]
    assert_marks_are_true(job, out, tmp_path)


def moved(source: pathlib.Path, by_ns: int) -> None:
    """Rewrites when the capture says it began and ended, in place, as a wrong clock would have."""
    data = source.read_bytes()
    for value in window_of(source):
        old, new = varint(value), varint(value + by_ns)
        assert data.count(old) == 1 and len(old) == len(new)
        data = data.replace(old, new)
    source.write_bytes(data)


def test_a_real_process_with_a_wrong_clock(program, two, tmp_path, out):
    root = tmp_path / "root"
    shutil.copytree(two.root, root)
    (file,) = (root / "process-00001").rglob("*.xplane.pb")
    moved(file, 150 * MS)
    answer, _ = merge(program, out, root)
    assert answer["processes"][1]["placed_by"] == "collectives"
    assert abs(answer["processes"][1]["correction_ns"] + 150 * MS) < MS
    assert_marks_are_true(two, out, tmp_path)


def test_reports_for_all_hosts(program, two, out):
    merge(program, out, two.root)
    environment = {
        **os.environ,
        "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    subprocess.run([program, "report", "-q", out], env=environment, check=True, timeout=100)
    index = json.loads((out / "reports" / "reports.json").read_text())
    by_tool: dict[str, list[dict[str, Any]]] = {}
    for report in index["reports"]:
        by_tool.setdefault(report["tool"], []).append(report)
    assert {r["status"] for reports in by_tool.values() for r in reports} <= {
        "ok",
        "empty",
        "interactive",
    }
    assert len(by_tool["memory_profile"]) == 2
    assert len(by_tool["overview_page"]) == 1
    page = (out / "reports" / by_tool["overview_page"][0]["file"]).read_text()
    assert '"task_count":"2 (' in page  # both processes are in it
    assert not [p for p in (out / "plugins").rglob("*") if p.is_file() and p.suffix != ".pb"]


def test_the_regions_are_known_in_the_run(program, two, out):
    merge(program, out, two.root)
    done = subprocess.run(
        [program, "summary", "--json", out], capture_output=True, text=True, check=True
    )
    processes = json.loads(done.stdout)["processes"]
    assert [[r["name"] for r in p["regions"]] for p in processes] == [["mark"], ["mark"]]


def test_one_running_another_program_is_refused(program, tmp_path, out):
    alone = """
    multihost_utils.sync_global_devices("ready")
    step = jax.jit(lambda x: x + 1)
    x = step(jnp.ones(100_000)).block_until_ready()
    profiler.start()
    for i in range(10):
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            step(x).block_until_ready()
    time.sleep(0.2 * rank)
    multihost_utils.sync_global_devices("done")  # a program that both have, and wait long in
    profiler.stop()
    """
    body = alone.replace("x + 1", "jnp.sin(x) * 2")
    job = run_processes(2, [alone, body], tmp_path)
    answer, error = merge(program, out, job.root, status=1)
    assert [r["reason"] for r in answer["refused"]] == ["other-program"]
    assert "HLO fingerprint" in error
    answer, _ = merge(program, out, "--force", job.root)
    assert answer["merged"] is True


def test_one_killed_in_the_middle_leaves_the_others_whole(program, tmp_path, out):
    body = """
    profiler.start()
    with region("mark"):
        jnp.ones(8).block_until_ready()
    multihost_utils.sync_global_devices("ready")
    if rank == 1:
        die()
    profiler.stop()
    """
    job = run_processes(3, body, tmp_path, kill=[1])
    answer, _ = merge(program, out, job.root)
    assert [p["process"]["index"] for p in answer["processes"]] == [0, 2]
    assert answer["processes_without_capture"] == [str(job.folders[1])]
    assert answer["processes_missing"] == [1]
    assert [len(starts(f, "mark")) for f in merged_files(out)] == [1, 1]


def test_same_host_second_and_folder_lose_nothing(program, two, out):
    """Both processes of the job: one host name, one root, within one second."""
    files = sorted(two.root.rglob("*.xplane.pb"))
    assert len(files) == 2 and len({f.name for f in files}) == 1
    answer, _ = merge(program, out, *files)
    assert len(merged_files(out)) == 2
    for file, process in zip(files, answer["processes"], strict=True):
        counted = sum(len(events) for events in lines_of(file).values())
        assert process["events_before"] == process["events_after"] == counted

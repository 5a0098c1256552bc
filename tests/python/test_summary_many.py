# SPDX-License-Identifier: Apache-2.0
"""`dew-profile summary` of several processes: who the others wait for, on real distributed jobs."""

from __future__ import annotations

import itertools
import json
import pathlib
import shutil
import subprocess
import sys

import jax
import pytest
from processes import Job, run_processes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from xplane_writer import varint  # noqa: E402

STEPS = 10

#: Each step ends in a sum over all processes; rank SLOW is slow before it.
TRAINING = """
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
SLOW, STEPS = {slow}, {steps}
mesh = Mesh(np.array(jax.devices()), ("d",))

@jax.jit
def train(x):
    def one(x):
        return jax.lax.psum(jnp.tanh(x @ x.T).sum(), "d")
    return jax.shard_map(one, mesh=mesh, in_specs=P("d"), out_specs=P())(x)

x = jax.make_array_from_callback(
    (64 * count, 64), NamedSharding(mesh, P("d")), lambda _: np.ones((64, 64), np.float32))
train(x).block_until_ready()
multihost_utils.sync_global_devices("compiled")
profiler.start()
multihost_utils.sync_global_devices("started")
for i in range(STEPS):
    with jax.profiler.StepTraceAnnotation("train", step_num=i):
        with region("input.wait"):
            time.sleep(0.06 if rank == SLOW else 0.002)
        with region("compute"):
            train(x).block_until_ready()
profiler.stop()
"""


def run(program: pathlib.Path, *arguments: object, status: int = 0) -> str:
    done = subprocess.run(
        [program, "summary", *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == status, done.stderr
    return done.stdout


def read(program: pathlib.Path, *arguments: object, status: int = 0) -> dict:
    answer = json.loads(run(program, "--json", "--top", "0", *arguments, status=status))
    assert answer["schema"] == 1
    return answer


@pytest.fixture(scope="module", params=[(2, 1), (4, 2)], ids=["2", "4"])
def slowed(request, tmp_path_factory) -> tuple[Job, int]:
    """A job, and which of its processes was slowed."""
    count, slow = request.param
    body = TRAINING.format(slow=slow, steps=STEPS)
    return run_processes(count, body, tmp_path_factory.mktemp("slowed")), slow


def waits_by_step(one: dict) -> dict[int, int]:
    return {s["step"]: s["collective_exposed_ps"] for s in one["steps"]["slowest"]}


def test_the_slow_process_is_named_with_what_it_costs(program, slowed):
    job, slow = slowed
    answer = read(program, job.root)
    alone = [read(program, folder) for folder in job.folders]
    assert answer["processes"] == alone, "each process's own summary, as when it is asked for alone"
    joined = answer["joined"]
    assert (joined["verdict"], joined["basis"]) == ("straggler", "collectives")
    assert joined["process_index"] == slow and joined["process"] == f"process {slow}"
    assert joined["region"] == "input.wait"

    waits = [waits_by_step(one) for one in alone]
    assert set(waits[0]) == set(range(STEPS)) and all(w.keys() == waits[0].keys() for w in waits)
    least = {step: min(w[step] for w in waits) for step in waits[0]}
    lost = [sum(w[step] - least[step] for step in w) for w in waits]
    rows = joined["processes"]
    assert [row["lost_ps"] for row in rows] == lost
    assert joined["lost_ps"] == sum(lost)
    assert joined["lost_per_step_ps"] == sum(lost) // (STEPS * (len(rows) - 1))
    steps = joined["steps"]["compared"]
    assert [s["lost_ps"] for s in steps] == [
        sum(w[s["step"]] - least[s["step"]] for w in waits) for s in steps
    ]
    assert rows[slow]["verdict"] == "straggler"
    assert all(row["verdict"] == "waits" for row in rows if row["process_index"] != slow)


def test_the_spread_of_each_region_over_processes(program, slowed):
    job, slow = slowed
    answer = read(program, job.root)
    for region in answer["joined"]["regions"]:
        each = [
            r for one in answer["processes"] for r in one["regions"] if r["name"] == region["name"]
        ]
        assert region["processes"] == len(each) == len(job.folders)
        for key in (
            "calls",
            "total_ps",
            "launches",
            "launched_ps",
            "launched_ops",
            "idle_behind_ps",
        ):
            assert region[key] == sum(r[key] for r in each), key
        assert region["min_ps"] == min(r["min_ps"] for r in each)
        assert region["max_ps"] == max(r["max_ps"] for r in each)
        means = sorted(r["mean_ps"] for r in each)
        over = region["mean_over_processes"]
        assert (over["min_ps"], over["max_ps"]) == (means[0], means[-1])
        assert over["p50_ps"] == means[(len(means) - 1) // 2]
    (waiting,) = [r for r in answer["joined"]["regions"] if r["name"] == "input.wait"]
    assert waiting["mean_over_processes"]["slowest"] == f"process {slow}"


def test_totals_are_the_sums_of_the_processes(program, slowed):
    job, _ = slowed
    answer = read(program, job.root)
    each, totals = answer["processes"], answer["joined"]["totals"]
    devices = [device for one in each for device in one["devices"]]
    assert totals["events"] == sum(one["capture"]["events"] for one in each)
    assert totals["devices"] == len(devices)
    for key in (
        "ops",
        "op_time_ps",
        "busy_ps",
        "idle_ps",
        "collective_ps",
        "collective_exposed_ps",
    ):
        assert totals[key] == sum(device[key] for device in devices), key
    assert totals["busy_ps"] + totals["idle_ps"] == totals["device_window_ps"]
    assert totals["steps"] == sum(one["steps"]["count"] for one in each)
    ops = {(op["module"], op["op"]): op for op in answer["joined"]["ops"]}
    for key in {(op["module"], op["op"]) for one in each for op in one["ops"]}:
        rows = [op for one in each for op in one["ops"] if (op["module"], op["op"]) == key]
        assert ops[key]["calls"] == sum(row["calls"] for row in rows)
        assert ops[key]["total_ps"] == sum(row["total_ps"] for row in rows)
        assert ops[key]["most_ps"] == max(row["total_ps"] for row in rows)
        assert ops[key]["processes"] == len(rows)


def test_parts_in_any_order_and_grouping_are_the_captures(program, slowed, tmp_path):
    job, _ = slowed
    whole = read(program, job.root)["joined"]
    parts = []
    for rank, folder in enumerate(job.folders):
        parts.append(tmp_path / f"{rank}.part")
        said = run(program, "--partial", parts[-1], folder)
        assert str(parts[-1]) in said and "1 process" in said
    for order in itertools.permutations(parts):
        answer = read(program, *order)
        assert answer["joined"] == whole
        assert answer["processes"] == whole["processes"], "parts have no process's own tables"
    # parts of parts, and a part beside captures
    for cut in range(1, len(parts)):
        some, rest = tmp_path / "some.part", tmp_path / "rest.part"
        run(program, "--partial", some, *reversed(parts[:cut]))
        run(program, "--partial", rest, *parts[cut:])
        assert read(program, rest, some)["joined"] == whole
        assert read(program, some, *job.folders[cut:])["joined"] == whole
    run(program, "--partial", tmp_path / "all.part", job.root)
    run(program, "--partial", tmp_path / "joined.part", *reversed(parts))
    assert (tmp_path / "all.part").read_bytes() == (tmp_path / "joined.part").read_bytes()
    assert run(program, *parts) == run(program, tmp_path / "all.part") == run(program, job.root)


def with_clock(file: pathlib.Path, off_ns: int) -> bytes:
    """The capture as it were on a host whose clock is off by that."""
    data = file.read_bytes()
    planes = jax.profiler.ProfileData.from_serialized_xspace(data).planes
    (task,) = [plane for plane in planes if plane.name == "Task Environment"]
    for key, value in task.stats:
        if key in ("profile_start_time", "profile_stop_time"):
            assert data.count(varint(value)) == 1 and len(varint(value)) == 9
            data = data.replace(varint(value), varint(value + off_ns))
    return data


@pytest.mark.parametrize("off_ms", [-700, 700])
def test_a_clock_that_is_off_is_told_from_a_straggler(program, slowed, tmp_path, off_ms):
    """The clock of a process that is not slow, then that of the one that is."""
    job, slow = slowed
    whole = read(program, job.root)["joined"]
    for rank in (0, slow):
        root = tmp_path / str(rank)
        shutil.copytree(job.root, root)
        (file,) = (root / f"process-{rank:05}").rglob("*.xplane.pb")
        file.write_bytes(with_clock(file, off_ms * 1_000_000))
        answer = read(program, root)["joined"]
        assert (answer["verdict"], answer["process_index"]) == ("straggler", slow)
        assert answer["lost_ps"] == whole["lost_ps"]
        clocks = [p["clock"] for p in answer["processes"]]
        if len(job.folders) == 2:
            assert clocks == ["one clock off"] * 2
            assert any("the clock of one of the two is off" in n for n in answer["notes"])
        else:
            assert clocks[rank] == "clock off"
            assert any(f"process {rank} " in n and "its clock is off" in n for n in answer["notes"])
        # captures made on a busy machine place themselves to some milliseconds only
        for row in answer["processes"]:
            other = -off_ms if len(job.folders) == 2 else 0
            truth = off_ms if row["process_index"] == rank else other
            assert abs(row["start_offset_ns"] - truth * 1_000_000) < 200_000_000
            assert abs(row["end_offset_ns"] - truth * 1_000_000) < 200_000_000


def test_page_for_people(program, slowed):
    job, slow = slowed
    page = run(program, job.root)
    first = page.splitlines()[0]
    assert first.startswith(f"Process {slow} of {len(job.folders)} is the straggler"), first
    assert "input.wait" in page.splitlines()[1]
    for heading in ("Processes", "Regions", "Steps", "Device ops"):
        assert f"\n{heading}" in page
    assert "\x1b" not in page


def test_a_narrow_page_keeps_what_matters(program, slowed):
    job, slow = slowed
    done = subprocess.run(
        [program, "summary", job.root],
        capture_output=True,
        text=True,
        env={"COLUMNS": "80", "LANG": "C.UTF-8"},
    )
    _, *tables = done.stdout.split("\n\n")
    for name, kept in {
        "Processes": {"process", "waits/step", "slowest in", "clock", "verdict"},
        "Regions": {"region", "median", "slowest", "slowest is", "idle behind"},
        "Steps": {"step", "number", "lost", "waited for"},
    }.items():
        (table,) = [t for t in tables if t.startswith(name)]
        assert all(len(line) <= 80 for line in table.splitlines()[1:]), table
        assert all(title in table for title in kept), table
    (processes,) = [t for t in tables if t.startswith("Processes")]
    assert "no room for" in processes
    (row,) = [line for line in processes.splitlines() if line.startswith(f"process {slow} ")]
    assert row.endswith("straggler")


def test_csv_of_several_has_all_their_rows(program, slowed):
    job, _ = slowed
    rows = run(program, "--csv", "steps", job.root).splitlines()
    each = [run(program, "--csv", "steps", folder).splitlines() for folder in job.folders]
    assert rows == each[0][:1] + [row for one in each for row in one[1:]]


def test_the_same_process_twice_is_refused(program, slowed, tmp_path):
    job, _ = slowed
    part = tmp_path / "a.part"
    run(program, "--partial", part, job.folders[0])
    for again in ([part, part], [part, job.folders[0]], [job.folders[0], job.folders[0]]):
        done = subprocess.run([program, "summary", *again], capture_output=True, text=True)
        assert done.returncode == 2 and done.stdout == ""
        assert "process 0 is there twice" in done.stderr


def test_a_merged_run_gives_the_same_verdict(program, slowed, tmp_path):
    job, slow = slowed
    merge = [program, "merge", tmp_path / "merged", job.root]
    subprocess.run(merge, check=True, capture_output=True)
    before, after = read(program, job.root)["joined"], read(program, tmp_path / "merged")["joined"]
    for key in ("verdict", "process_index", "lost_ps", "region", "shared_steps"):
        assert after[key] == before[key], key
    for key in ("events", "ops", "op_time_ps", "busy_ps", "collective_ps", "steps", "launches"):
        assert after["totals"][key] == before["totals"][key], key
    for key in ("process_index", "process_count", "lost_ps", "steps"):
        assert [p[key] for p in after["processes"]] == [p[key] for p in before["processes"]], key
    # a file of the run alone, away from its manifest, still tells by its name which it is
    (file,) = (tmp_path / "merged").rglob(f"*_process-{slow:05}.xplane.pb")
    alone = tmp_path / file.name
    alone.write_bytes(file.read_bytes())
    run(program, "--partial", tmp_path / "alone.part", alone)
    (row,) = read(program, tmp_path / "alone.part")["processes"]
    assert row["process_index"] == slow

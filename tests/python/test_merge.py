# SPDX-License-Identifier: Apache-2.0
"""`dew-profile merge`: written captures with known clocks, and real jobs of several processes."""

from __future__ import annotations

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import run_processes

from dew.telemetry.profile import require_profile_support

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from mktrace_big import write_big  # noqa: E402
from xplane_writer import Space, Unsigned, us, varint  # noqa: E402

EPOCH = 1_700_000_000 * 10**9
MS = 1_000_000  # ns
RUN = "plugins/profile/r"


def merge(
    program: pathlib.Path, out: pathlib.Path | str, *inputs: object, status: int = 0, **more: Any
) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [program, "merge", "--json", out, *inputs],
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
    space.window(began, began + lasts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(space.encode())
    return path


@pytest.fixture
def out(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "out"


# One file


def test_one_capture_is_the_same_file(program, tmp_path, out):
    file = capture(tmp_path / "h.xplane.pb")
    answer, _ = merge(program, out, file)
    (merged,) = merged_files(out)
    assert merged.name == "h.xplane.pb" and merged.read_bytes() == file.read_bytes()
    assert answer["processes"][0]["shift_ns"] == 0
    assert json.loads((out / "manifest.json").read_text())["state"] == "captured"


def test_real_captures_of_others_are_the_same_file(program, shared_captures, out):
    for file in shared_captures.glob("*.xplane.pb"):
        answer, _ = merge(program, out.with_name(file.stem), file)
        (merged,) = merged_files(out.with_name(file.stem))
        assert merged.read_bytes() == file.read_bytes()
        assert answer["events_before"] == answer["events_after"] > 0


# One axis


def test_the_clocks_put_captures_on_one_axis(program, tmp_path, out):
    a = capture(tmp_path / "a.xplane.pb", began=EPOCH + 50 * MS, truth=50 * MS, pid=1)
    b = capture(tmp_path / "b.xplane.pb", began=EPOCH, pid=2)
    answer, _ = merge(program, out, a, b)
    first, second = merged_files(out)
    assert [p["shift_ns"] for p in answer["processes"]] == [50 * MS, 0]
    assert starts(first, "train") == starts(second, "train")
    assert starts(first, "train")[0] == 100 * MS
    assert window_of(first) == (EPOCH, EPOCH + 450 * MS)
    assert window_of(second) == (EPOCH, EPOCH + 400 * MS)
    assert answer["axis_start_unix_ns"] == EPOCH
    assert answer["residual_ns"] == 0
    assert answer["processes"][1]["placed_by"] == "clock"


@pytest.mark.parametrize("wrong", [-250 * MS, -7 * MS, -MS, 60_000, MS, 30 * MS, 250 * MS])
def test_a_wrong_clock_is_found_by_collectives(program, tmp_path, out, wrong):
    """Even of a process whose steps end late, and by more than a step."""
    a = capture(tmp_path / "a.xplane.pb", pid=1)
    b = capture(
        tmp_path / "b.xplane.pb", began=EPOCH + 20 * MS + wrong, truth=20 * MS, pid=2, late=2 * MS
    )
    answer, _ = merge(program, out, a, b)
    process = answer["processes"][1]
    assert process["placed_by"] == "collectives" and process["correction_ns"] == -wrong
    assert process["shared_steps"] == 20
    assert answer["residual_ns"] == 0
    first, second = merged_files(out)
    assert starts(first, "all-reduce") == starts(second, "all-reduce")


def test_one_host_has_one_clock(program, tmp_path, out):
    """What wakes late there is the process, unless collectives left before they were joined."""
    a = capture(tmp_path / "a.xplane.pb", pid=1, host="h")
    b = capture(tmp_path / "b.xplane.pb", pid=2, host="h", began=EPOCH + MS)
    far = capture(tmp_path / "c.xplane.pb", pid=3, host="h", began=EPOCH + 3 * MS)
    answer, _ = merge(program, out, a, b, far)
    _, process, other = answer["processes"]
    assert process["correction_ns"] == 0 and process["placed_by"] == "clock"
    assert "one clock" in process["why_not_refined"]
    assert process["residual_ns"] == MS
    assert process["error_bound_ns"] == 3_500_000  # joined 2.5 ms before the end, and 1 ms off
    assert other["correction_ns"] == -3 * MS and other["placed_by"] == "collectives"
    assert answer["error_bound_ns"] == 3_500_000


def test_no_process_leaves_a_collective_before_the_other_joined_it(program, tmp_path, out):
    """One that mostly sees the end 2 ms late has no wrong clock: sometimes it sees it in time."""

    def wakes(step: int) -> int:
        return 0 if step % 4 == 0 else 2 * MS

    a = capture(tmp_path / "a.xplane.pb", pid=1, joins=5 * MS - 10_000)
    b = capture(tmp_path / "b.xplane.pb", pid=2, joins=3 * MS, late=2 * MS, wakes=wakes)
    answer, _ = merge(program, out, a, b)
    process = answer["processes"][1]
    assert (process["correction_ns"], process["placed_by"]) == (0, "clock")
    assert process["residual_ns"] == 2 * MS
    assert process["error_bound_ns"] == 2 * MS
    off = capture(
        tmp_path / "c.xplane.pb",
        pid=3,
        began=EPOCH + 4 * MS,
        joins=3 * MS,
        late=2 * MS,
        wakes=wakes,
    )
    answer, _ = merge(program, tmp_path / "p", a, off)
    assert answer["processes"][1]["correction_ns"] == -4 * MS - 10_000
    assert answer["processes"][1]["placed_by"] == "collectives"


def test_a_late_process_is_no_wrong_clock(program, tmp_path, out):
    a = capture(tmp_path / "a.xplane.pb", pid=1)
    b = capture(tmp_path / "b.xplane.pb", pid=2, late=3 * MS)
    answer, _ = merge(program, out, a, b)
    assert answer["processes"][1]["correction_ns"] == 0
    assert "agree" in answer["processes"][1]["why_not_refined"]


def test_without_collectives_the_ends_of_steps_count_up_to_half_a_step(program, tmp_path, out):
    a = capture(tmp_path / "a.xplane.pb", pid=1, collectives=False)
    near = capture(tmp_path / "b.xplane.pb", pid=2, began=EPOCH + 2 * MS, collectives=False)
    far = capture(tmp_path / "c.xplane.pb", pid=3, began=EPOCH + 6 * MS, collectives=False)
    answer, _ = merge(program, out, a, near, far)
    _, near, far = answer["processes"]
    assert (near["placed_by"], near["correction_ns"]) == ("steps", -2 * MS)
    assert (far["placed_by"], far["correction_ns"]) == ("clock", 0)
    assert far["residual_ns"] == 6 * MS and "late process" in far["why_not_refined"]
    assert answer["residual_ns"] == 6 * MS


def test_no_refine_leaves_the_clocks(program, tmp_path, out):
    a = capture(tmp_path / "a.xplane.pb", pid=1)
    b = capture(tmp_path / "b.xplane.pb", pid=2, began=EPOCH + 30 * MS)
    answer, _ = merge(program, out, "--no-refine", a, b)
    assert answer["processes"][1]["correction_ns"] == 0
    assert answer["residual_ns"] == 30 * MS


def test_without_shared_steps_the_residual_is_unknown(program, tmp_path, out):
    a = capture(tmp_path / "a.xplane.pb", pid=1)
    b = capture(tmp_path / "b.xplane.pb", pid=2, first_step=1000)
    answer, _ = merge(program, out, a, b)
    assert answer["residual_ns"] is None
    assert answer["processes"][1]["shared_steps"] == 0


def test_a_number_used_twice_pairs_with_nothing(program, tmp_path, out):
    files = []
    for pid in (1, 2):
        file = capture(tmp_path / f"{pid}.xplane.pb", pid=pid, steps=10)
        files.append(file)
    space = Space()
    host = space.plane("/host:CPU")
    line = host.line("python")
    for i in [0, 1, 2, 2, 2, 3]:
        line.event("train", us(1000 * i), us(10), {"step_num": i})
    space.window(EPOCH, EPOCH + 400 * MS)
    twice = tmp_path / "twice.xplane.pb"
    twice.write_bytes(space.encode())
    answer, _ = merge(program, out, files[0], twice)
    assert answer["processes"][1]["shared_steps"] == 3


def test_device_steps_of_a_tpu_serve_too(program, tmp_path, out):
    files = []
    for pid, wrong in ((1, 0), (2, 40 * MS)):
        space = Space(f"host{pid}")
        tpu = space.plane("/device:TPU:0")
        steps, ops = tpu.line("Steps"), tpu.line("XLA Ops")
        modules = tpu.line("XLA Modules")
        for i in range(10):
            steps.event(str(i), us(10_000 * (i + 1)), us(9_000))
            ops.event("%all-reduce.2 = f32[8] all-reduce(...)", us(10_000 * (i + 1)), us(8_000))
            modules.event("jit_f(1)", us(10_000 * (i + 1)), us(8_500))
        space.window(EPOCH + wrong, EPOCH + wrong + 400 * MS)
        file = tmp_path / f"{pid}.xplane.pb"
        file.write_bytes(space.encode())
        files.append(file)
    answer, _ = merge(program, out, *files)
    assert answer["processes"][1]["correction_ns"] == -40 * MS
    assert answer["processes"][1]["placed_by"] == "collectives"


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    shifts=st.lists(st.integers(0, 2**40), min_size=2, max_size=4),
    stamps=st.lists(st.integers(0, 2**50), min_size=1, max_size=5),
    offsets=st.lists(st.integers(0, 2**55), max_size=6),
    name=st.text(max_size=200),
)
def test_nothing_but_times_changes(program, tmp_path_factory, shifts, stamps, offsets, name):
    tmp_path = tmp_path_factory.mktemp("m")
    files = []
    for pid, shift in enumerate(shifts):
        space = Space()
        plane = space.plane("/host:CPU")
        plane.stats = [("process_id", pid)]
        for stamp in stamps:
            line = plane.line(name or "x", timestamp_ns=stamp)
            for offset in offsets:
                line.event(name, offset, 7, {"k": name or "v"})
        line.event("last", 1, 1)
        space.window(EPOCH + shift, EPOCH + 2**41)
        file = tmp_path / f"{pid}.xplane.pb"
        file.write_bytes(space.encode())
        files.append((file, space))
    answer, _ = merge(program, tmp_path / "out", *[f for f, _ in files])
    assert answer["events_before"] == answer["events_after"]
    for (_, space), shift, merged in zip(
        files, shifts, merged_files(tmp_path / "out"), strict=True
    ):
        for line in space.planes[0].lines:
            line.timestamp_ns += shift - min(shifts)
        space.planes[1].stats = [
            ("profile_start_time", Unsigned(EPOCH + min(shifts))),
            ("profile_stop_time", Unsigned(EPOCH + 2**41)),
        ]
        assert merged.read_bytes() == space.encode()


# What does not belong together


def with_manifest(file: pathlib.Path, **process: int) -> pathlib.Path:
    folder = file.parents[3]
    (folder / "manifest.json").write_text(json.dumps({"schema": 1, "process": process}))
    return folder


def placed(tmp_path: pathlib.Path, name: str, **fields: Any) -> pathlib.Path:
    return capture(tmp_path / name / RUN / "h.xplane.pb", **fields)


@pytest.mark.parametrize(
    ("fields", "reason", "words"),
    [
        ({"pid": 1}, "same-process", "are the same capture"),
        ({"jax_version": "2.0"}, "other-version", "jax 2.0"),
        ({"module": "jit_other"}, "other-program", "'jit_other'"),
        ({"began": EPOCH + 1400 * MS}, "no-overlap", "began 1.000 s after the end"),
        ({"began": EPOCH - 1400 * MS}, "no-overlap", "ended 1.000 s before"),
    ],
)
def test_what_does_not_belong_is_refused(program, tmp_path, out, fields, reason, words):
    a = capture(tmp_path / "a.xplane.pb", pid=1)
    b = capture(tmp_path / "b.xplane.pb", **{"pid": 2, **fields})
    answer, error = merge(program, out, a, b, status=1)
    assert [r["reason"] for r in answer["refused"]] == [reason]
    assert answer["merged"] is False
    assert words in error and "--force" in error
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.xplane.pb", "b.xplane.pb"]
    answer, error = merge(program, out, "--force", a, b)
    assert [r["reason"] for r in answer["overruled"]] == [reason]
    assert "overruled: " in error and words in error
    assert len(merged_files(out)) == 2


def test_manifests_tell_processes_apart(program, tmp_path, out):
    def folder(name: str, pid: int, **process: int) -> pathlib.Path:
        return with_manifest(placed(tmp_path, name, pid=pid), **process)

    one = folder("a", 1, index=1, count=2)
    zero = folder("b", 2, index=0, count=2)
    again = folder("c", 3, index=1, count=2)
    other = folder("d", 4, index=2, count=4)
    answer, _ = merge(program, out, one, zero)
    assert [f.name for f in merged_files(out)] == [
        "h_process-00000.xplane.pb",
        "h_process-00001.xplane.pb",
    ]
    assert [p["process"]["index"] for p in answer["processes"]] == [0, 1]
    answer, _ = merge(program, tmp_path / "o", one, again, status=1)
    assert [r["reason"] for r in answer["refused"]] == ["same-process"]
    answer, _ = merge(program, tmp_path / "o", zero, other, status=1)
    assert [r["reason"] for r in answer["refused"]] == ["other-process-count"]
    # Forced, both of process 1 are there.
    merge(program, tmp_path / "o", "-f", one, again)
    assert len(merged_files(tmp_path / "o")) == 2
    # A merged run knows its processes, so that it can be merged with more.
    answer, _ = merge(program, tmp_path / "p", out, folder("e", 5, index=1, count=2), status=1)
    assert [r["reason"] for r in answer["refused"]] == ["same-process"]


def test_equal_file_names_are_told_apart(program, tmp_path, out):
    merge(program, out, placed(tmp_path, "a", pid=1), placed(tmp_path, "b", pid=2))
    assert len({f.name for f in merged_files(out)}) == 2


def test_a_file_that_does_not_say_when_it_began(program, tmp_path, out):
    a = capture(tmp_path / "a.xplane.pb", pid=1)
    space = Space()
    space.plane("/host:CPU").line("python").event("e", 5000, 5000)
    b = tmp_path / "b.xplane.pb"
    b.write_bytes(space.encode())
    answer, error = merge(program, out, a, b, status=1)
    assert [r["reason"] for r in answer["refused"]] == ["no-start-time"]
    merge(program, out, "--force", a, b)
    assert starts(merged_files(out)[1], "e") == [5.0]
    assert "profile_start_time" in error


# Errors


def test_damage_is_told_with_its_byte(program, tmp_path, out):
    a = capture(tmp_path / "a.xplane.pb", pid=1)
    b = capture(tmp_path / "b.xplane.pb", pid=2)
    whole = b.read_bytes()
    for size in (0, 1, len(whole) // 3, len(whole) // 2, len(whole) - 10):
        b.write_bytes(whole[:size])
        _, error = merge(program, out, a, b, status=3)
        assert "b.xplane.pb" in error and "byte " in error
        assert not out.exists()
    assert len(list(tmp_path.iterdir())) == 2


def test_nothing_to_merge(program, tmp_path, out):
    file = tmp_path / "h.xplane.pb"
    space = Space()
    space.window(EPOCH, EPOCH + 1)
    file.write_bytes(space.encode())
    _, error = merge(program, out, file, status=5)
    assert "no event" in error and not out.exists()
    _, error = merge(program, out, tmp_path / "missing", status=3)
    assert "missing" in error


def test_out_is_a_new_or_empty_folder(program, tmp_path, out):
    file = capture(tmp_path / "h.xplane.pb")
    out.mkdir()
    merge(program, f"{out}/", file)
    assert len(merged_files(out)) == 1
    _, error = merge(program, out, file, status=2)
    assert "not empty" in error
    _, error = merge(program, file, file, status=2)
    assert "no folder" in error
    _, error = merge(program, tmp_path / "no" / "where", file, status=1)
    assert "no" in error
    assert len(merged_files(out)) == 1
    (tmp_path / "here").mkdir()
    merge(program, "here", file, cwd=tmp_path)
    assert len(merged_files(tmp_path / "here")) == 1


def test_times_that_do_not_fit_are_refused(program, tmp_path, out):
    files = []
    for pid, stamp in ((1, -10 * MS), (2, 5)):
        space = Space()
        plane = space.plane("/host:CPU")
        plane.stats = [("process_id", pid)]
        plane.line("python", timestamp_ns=stamp).event("e", 0, 1)
        space.window(EPOCH + pid, EPOCH + 400 * MS)
        file = tmp_path / f"{pid}.xplane.pb"
        file.write_bytes(space.encode())
        files.append(file)
    _, error = merge(program, out, *files, status=1)
    assert "'python'" in error and "before the common axis" in error
    far = capture(tmp_path / "far.xplane.pb", began=EPOCH + 200 * 86400 * 10**9, pid=3)
    near = capture(tmp_path / "near.xplane.pb", pid=4)
    _, error = merge(program, out, "--force", near, far, status=1)
    assert "days" in error
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".pb"] * 4


def test_a_full_disk_leaves_nothing(program, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk takes root")
    try:
        a = capture(tmp_path / "a.xplane.pb", pid=1, steps=4000, step=10_000)
        b = capture(tmp_path / "b.xplane.pb", pid=2, steps=4000, step=10_000)
        _, error = merge(program, disk / "out", a, b, status=1)
        assert "No space left" in error
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def processes_are(program, tmp_path, out, indices, count):
    folders = [
        with_manifest(placed(tmp_path, f"{out.name}{i}", pid=10 + i), index=i, count=count)
        for i in indices
    ]
    return merge(program, out, *folders)[0]["processes_missing"]


def test_processes_that_are_missing_are_named(program, tmp_path, out):
    assert processes_are(program, tmp_path, out, [0, 1, 2], 3) == []
    assert processes_are(program, tmp_path, tmp_path / "p", [1, 4], 6) == [0, 2, 3, 5]
    assert processes_are(program, tmp_path, tmp_path / "q", [1], 2**62) == [0, *range(2, 65)]
    done = subprocess.run(
        [program, "merge", tmp_path / "r", tmp_path / "p1", tmp_path / "p4"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "of the job's 6 processes these are not here: 0 2 3 5\n" in done.stdout


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A million events, which is 29 MB."""
    file = tmp_path_factory.mktemp("big") / "big.xplane.pb"
    return file, write_big(file, 1_000_000)


def test_memory_does_not_grow_with_events(program, big, out):
    file, facts = big

    def small() -> None:  # everything but the maps of the files, which is what it may take
        resource.setrlimit(resource.RLIMIT_DATA, (8 << 20, 8 << 20))

    answer, _ = merge(program, out, "--force", file, file, preexec_fn=small)
    assert answer["events_before"] == answer["events_after"] == 2 * facts.events
    assert [f.read_bytes() for f in merged_files(out)] == [file.read_bytes()] * 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_writing_leaves_nothing(program, big, tmp_path, number):
    """Nor does another file stay in the folder; OUT is there as a whole or not at all."""
    child = subprocess.Popen(
        [program, "merge", "--force", tmp_path / "out", *[big[0]] * 40],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not list(tmp_path.iterdir()):
        assert child.poll() is None
        time.sleep(0.001)
    child.send_signal(number)
    assert child.wait(timeout=60) == -number
    assert list(tmp_path.iterdir()) == []


def test_text_for_people(program, tmp_path, out):
    a = capture(tmp_path / "a.xplane.pb", pid=1)
    b = capture(tmp_path / "b.xplane.pb", pid=2, began=EPOCH + 30 * MS)
    done = subprocess.run([program, "merge", out, a, b], capture_output=True, text=True, check=True)
    assert "80 events read, 80 in the run" in done.stdout
    assert "Residual error: 0" in done.stdout and "collectives" in done.stdout
    assert f"xprof --logdir {out}" in done.stdout


# Real jobs

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
for i in range(10):
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
    assert answer["processes"][1]["shared_steps"] == 10
    assert answer["residual_ns"] < 5 * MS
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
    step = jax.jit(lambda x: x + 1)
    x = step(jnp.ones(100_000)).block_until_ready()
    profiler.start()
    for i in range(10):
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            step(x).block_until_ready()
    time.sleep(0.1)
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

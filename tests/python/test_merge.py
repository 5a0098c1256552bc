# SPDX-License-Identifier: Apache-2.0
"""`dew-profile merge`: written captures with known clocks on one axis, and nothing lost of them."""

from __future__ import annotations

import json
import pathlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from merging import (
    EPOCH,
    MS,
    capture,
    merge,
    merged_files,
    placed,
    starts,
    window_of,
    with_manifest,
)
from xplane_writer import Space, Unsigned, us


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


def test_a_merged_run_merges_with_more(program, tmp_path, out):
    """In any grouping the same files come out, but for the order of what is the reference."""
    began = [EPOCH + 30 * MS, EPOCH, EPOCH + 70 * MS]
    folders = [
        with_manifest(
            placed(tmp_path, f"{i}", pid=i, began=began[i], truth=began[i] - EPOCH),
            index=i,
            count=3,
        )
        for i in range(3)
    ]
    answer, _ = merge(program, out, *folders)
    assert answer["processes_missing"] == []
    merge(program, tmp_path / "part", folders[0], folders[2])
    answer, _ = merge(program, tmp_path / "whole", tmp_path / "part", folders[1])
    assert answer["processes_missing"] == []
    both = zip(merged_files(out), merged_files(tmp_path / "whole"), strict=True)
    for one, other in both:
        assert one.name == other.name and one.read_bytes() == other.read_bytes()

# SPDX-License-Identifier: Apache-2.0
"""`dew-profile merge`: what does not belong together, what cannot be merged, and no half results."""

from __future__ import annotations

import os
import pathlib
import resource
import signal
import subprocess
import time

import pytest
from merging import (
    EPOCH,
    MS,
    RUN,
    capture,
    merge,
    merged_files,
    placed,
    starts,
    with_manifest,
)
from mktrace_big import write_big
from xplane_writer import Space, chunk, integer, text


@pytest.fixture
def out(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "out"


# What does not belong together


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


@pytest.mark.parametrize(
    ("reason", "sections"),
    [
        ("other-version", {"versions": {"jax": "2.0"}}),
        ("other-version", {"versions": {"jaxlib": "2.0"}}),
        ("other-platform", {"backend": {"platform": "gpu"}}),
    ],
)
def test_what_only_manifests_say(program, tmp_path, out, reason, sections):
    ours = {"versions": {"jax": "1.0", "jaxlib": "1.0"}, "backend": {"platform": "cpu"}}
    files = [placed(tmp_path, f"{i}", pid=i, jax_version="") for i in range(3)]
    a = with_manifest(files[0], ours, index=0, count=3)
    b = with_manifest(files[1], ours, index=1, count=3)
    c = with_manifest(files[2], {**ours, **sections}, index=2, count=3)
    answer, _ = merge(program, out, a, b)
    assert answer["overruled"] == []
    answer, _ = merge(program, tmp_path / "p", a, b, c, status=1)
    assert [(r["reason"], r["process"]) for r in answer["refused"]] == [(reason, 2)]


def hlo(*, opcode: str = "add", source: str = "a.py", device: int = 0) -> bytes:
    instruction = text(1, "x") + text(2, opcode) + chunk(3, integer(2, 11)) + chunk(36, b"\1\2")
    metadata = chunk(7, text(3, source))
    computation = text(1, "main") + chunk(2, instruction + metadata)
    assignment = chunk(17, integer(1, 1) + chunk(3, chunk(1, integer(1, device))))
    return chunk(1, text(1, "m") + chunk(3, computation) + assignment)


def test_a_program_is_what_it_computes(program, tmp_path, out):
    a = capture(tmp_path / "a.xplane.pb", pid=1, hlo=hlo())
    b = capture(tmp_path / "b.xplane.pb", pid=2, hlo=hlo(source="b.py", device=5))
    c = capture(tmp_path / "c.xplane.pb", pid=3, hlo=hlo(opcode="multiply"))
    silent = capture(tmp_path / "d.xplane.pb", pid=4)
    garbage = capture(tmp_path / "e.xplane.pb", pid=5, hlo=b"\xff" * 40)
    answer, _ = merge(program, out, a, b, silent, garbage)
    assert answer["overruled"] == []
    answer, error = merge(program, tmp_path / "p", a, c, status=1)
    assert [r["reason"] for r in answer["refused"]] == ["other-program"]
    assert "'jit_step'" in error and error.count("HLO fingerprint") == 1


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


def test_a_cut_between_two_planes_is_told(program, tmp_path, out):
    """Such a file cannot be told from a whole one, but for the host's name at its end."""
    a = capture(tmp_path / "a.xplane.pb", pid=1)
    b = capture(tmp_path / "b.xplane.pb", pid=2)
    assert merge(program, out, a, b)[1] == ""
    b.write_bytes(b.read_bytes().removesuffix(b"\x22\x05host2"))
    _, error = merge(program, tmp_path / "p", a, b)
    assert "b.xplane.pb: without the host's name" in error and error.count("\n") == 1


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


def small_memory() -> None:
    """8 MiB for everything but the maps of the files."""
    resource.setrlimit(resource.RLIMIT_DATA, (8 << 20, 8 << 20))


def test_memory_does_not_grow_with_events(program, big, out):
    file, facts = big

    answer, _ = merge(program, out, "--force", file, file, preexec_fn=small_memory)
    assert answer["events_before"] == answer["events_after"] == 2 * facts.events
    assert [f.read_bytes() for f in merged_files(out)] == [file.read_bytes()] * 2


def test_memory_does_not_grow_with_processes(program, tmp_path, out):
    """But for little: the steps of all of them would take 9 MiB."""
    count, steps = 200, 1000
    whole = capture(tmp_path / "h.xplane.pb", pid=1, steps=steps, lasts=11_000 * MS)
    root = tmp_path / "root"
    for index in range(count):
        file = root / f"process-{index:05}" / "capture-0001" / RUN / "h.xplane.pb"
        file.parent.mkdir(parents=True)
        file.hardlink_to(whole)
        with_manifest(file, index=index, count=count)
    answer, _ = merge(program, out, "--force", root, preexec_fn=small_memory)
    assert len(merged_files(out)) == count and answer["processes_missing"] == []
    assert {p["shared_steps"] for p in answer["processes"][1:]} == {steps}


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

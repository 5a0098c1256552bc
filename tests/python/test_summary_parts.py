# SPDX-License-Identifier: Apache-2.0
"""`dew-profile summary` of made jobs, whose every answer is known, and of parts good and bad."""

from __future__ import annotations

import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from mkjob import MS, Job  # noqa: E402

HEADER_BYTES = 28


def invoke(program: pathlib.Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, "summary", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
    )


def run(program: pathlib.Path, *arguments: object, status: int = 0) -> str:
    done = invoke(program, *arguments)
    assert done.returncode == status, done.stderr
    return done.stdout


def joined(program: pathlib.Path, *arguments: object, status: int = 0) -> dict:
    answer: dict = json.loads(run(program, "--json", "--top", "0", *arguments, status=status))
    return answer["joined"]


def parts_of(program: pathlib.Path, folders: list[pathlib.Path], to: pathlib.Path) -> list:
    made = [to / f"{folder.name}.part" for folder in folders]
    for folder, part in zip(folders, made, strict=True):
        run(program, "--partial", part, folder)
    return made


# Verdicts and clocks


def test_the_straggler_and_its_cost_to_the_picosecond(program, tmp_path):
    job = Job(processes=6, steps=20, slow=3)
    job.write(tmp_path)
    answer = joined(program, tmp_path)
    assert (answer["verdict"], answer["process_index"]) == ("straggler", 3)
    assert answer["lost_ps"] == job.lost_ps()
    assert answer["region"] == "input.wait"
    assert answer["region_excess_per_step_ps"] == job.late_ps
    assert {p["clock"] for p in answer["processes"]} == {"agrees"}
    others = [job.latest_ps() - job.arrival_ps(rank) for rank in range(6)]
    assert [p["lost_ps"] for p in answer["processes"]] == [20 * wait for wait in others]
    second = sorted(others)[1]
    assert answer["processes"][3]["saved_ps"] == 20 * second


def test_devices_that_work_longer_are_told_from_regions(program, tmp_path):
    job = Job(processes=6, steps=20, slow=3, late_in="work")
    job.write(tmp_path)
    answer = joined(program, tmp_path)
    assert (answer["verdict"], answer["process_index"]) == ("straggler", 3)
    assert (answer["lost_ps"], answer["region"]) == (job.lost_ps(), None)
    # over the median process, whose work is a little less than the slow one's would be
    median = sorted(job.work_ps(rank) for rank in range(6))[2]
    assert answer["device_work_excess_per_step_ps"] == job.work_ps(3) - median
    page = run(program, tmp_path)
    assert page.splitlines()[1].startswith("Its devices work 5.003 ms a step longer")


def test_a_process_that_is_late_now_and_then_is_a_hiccup(program, tmp_path):
    job = Job(processes=6, steps=20, slow=3, late_every=5)
    job.write(tmp_path)
    answer = joined(program, tmp_path)
    assert (answer["verdict"], answer["process_index"]) == ("hiccup", 3)
    assert answer["lost_ps"] == job.lost_ps()
    row = answer["processes"][3]
    assert row["slowest_in"] == 4
    assert row["caused_ps"] == 4 * sum(job.latest_ps() - job.arrival_ps(r) for r in range(6))
    first = run(program, tmp_path).splitlines()[0]
    assert first.startswith("Process 3 held up the others in 4 of 20 steps")


def test_processes_that_are_late_in_turn_are_mixed(program, tmp_path):
    job = Job(processes=6, steps=24, in_turn=True)
    job.write(tmp_path)
    answer = joined(program, tmp_path)
    assert (answer["verdict"], answer["process"]) == ("mixed", None)
    assert answer["lost_ps"] == job.lost_ps()
    assert [p["slowest_in"] for p in answer["processes"]] == [4] * 6
    assert "no one of them is the cause" in run(program, tmp_path).splitlines()[0]


def test_processes_that_keep_step_are_even(program, tmp_path):
    Job(processes=5, steps=20).write(tmp_path)
    answer = joined(program, tmp_path)
    assert (answer["verdict"], answer["process"]) == ("even", None)
    assert {p["verdict"] for p in answer["processes"]} == {"even"}


@pytest.mark.parametrize("rank", [1, 3], ids=["a waiting one", "the straggler"])
@pytest.mark.parametrize("off", [-40 * MS, 40 * MS, 3_600_000 * MS])
def test_a_clock_that_is_off_changes_no_time(program, tmp_path, rank, off):
    job = Job(processes=6, steps=20, slow=3, clocks_ps={rank: off})
    job.write(tmp_path)
    answer = joined(program, tmp_path)
    assert (answer["verdict"], answer["process_index"]) == ("straggler", 3)
    assert answer["lost_ps"] == job.lost_ps()
    clocks = [p["clock"] for p in answer["processes"]]
    assert clocks == ["clock off" if i == rank else "agrees" for i in range(6)]
    row = answer["processes"][rank]
    assert row["start_offset_ns"] == row["end_offset_ns"] == off // 1_000
    (note,) = [n for n in answer["notes"] if "its clock is off" in n]
    assert f"process {rank}" in note


def test_without_collectives_a_shift_is_ambiguous(program, tmp_path):
    job = Job(processes=6, steps=20, clocks_ps={2: 40 * MS}, collectives=False)
    job.write(tmp_path)
    answer = joined(program, tmp_path)
    assert answer["basis"] == "step lengths"
    assert [p["clock"] for p in answer["processes"]][2] == "clock or late"
    assert any("that cannot be told" in n for n in answer["notes"])


def test_without_collectives_long_steps_are_a_straggler_if_they_end_late(program, tmp_path):
    job = Job(processes=6, steps=20, slow=4, collectives=False)
    job.write(tmp_path)
    answer = joined(program, tmp_path)
    assert (answer["verdict"], answer["process_index"]) == ("straggler", 4)
    assert answer["processes"][4]["clock"] == "ends apart"
    assert any("no collectives are in the steps" in n for n in answer["notes"])


def test_without_collectives_long_steps_that_end_with_the_others_are_ambiguous(program, tmp_path):
    job = Job(processes=6, steps=20, slow=4, collectives=False, clocks_ps={4: -5 * MS})
    job.write(tmp_path)
    answer = joined(program, tmp_path)
    assert (answer["verdict"], answer["process"]) == ("cannot tell", None)
    assert "either it is slow and its clock is off" in answer["reason"]
    page = run(program, tmp_path)
    assert "cannot be told" in page.splitlines()[0] or "either it is slow" in page


def test_nothing_to_compare_says_what_to_add(program, tmp_path):
    Job(processes=3, steps=5, marked=False).write(tmp_path)
    answer = joined(program, tmp_path)
    assert answer["verdict"] == "cannot tell" and "StepTraceAnnotation" in answer["reason"]
    assert "StepTraceAnnotation" in run(program, tmp_path)


def test_processes_that_are_missing_are_named(program, tmp_path):
    folders = Job(processes=5, steps=5).write(tmp_path)
    shutil.rmtree(folders[1])
    shutil.rmtree(folders[3] / "capture-0001" / "plugins")
    done = invoke(program, "--json", tmp_path)
    assert done.returncode == 0
    assert "process-00003" in done.stderr and "holds no capture" in done.stderr
    notes = json.loads(done.stdout)["joined"]["notes"]
    assert "2 of the job's 5 processes are not here: 1, 3" in notes


def test_a_damaged_capture_among_others(program, tmp_path):
    folders = Job(processes=3, steps=20).write(tmp_path)
    (file,) = folders[1].rglob("*.xplane.pb")
    data = file.read_bytes()
    file.unlink()  # the one with its name only, not the others of its kind
    file.write_bytes(data[: len(data) * 3 // 4])
    done = invoke(program, "--json", tmp_path)
    assert done.returncode == 3 and "is damaged at byte" in done.stderr
    answer = json.loads(done.stdout)["joined"]
    assert [p["damaged"] for p in answer["processes"]] == [False, True, False]
    part = tmp_path / "damaged.part"
    assert invoke(program, "--partial", part, folders[1]).returncode == 3
    assert joined(program, part, folders[0], folders[2], status=3)["notes"] == answer["notes"]


def test_captures_at_different_times_are_told(program, tmp_path):
    Job(processes=3, steps=20, clocks_ps={1: 3_600_000 * MS}).write(tmp_path)
    notes = joined(program, tmp_path)["notes"]
    assert any("not all captures were running at the same time" in n for n in notes)


def test_more_steps_than_are_compared(program, tmp_path):
    job = Job(processes=2, steps=5000, ops=1, slow=1)
    job.write(tmp_path)
    answer = joined(program, tmp_path)
    assert (answer["verdict"], answer["process_index"]) == ("straggler", 1)
    assert answer["lost_ps"] == job.lost_ps() // 2, "of every second step"
    assert [s["step"] for s in answer["steps"]["compared"]] == list(range(0, 5000, 2))
    assert answer["totals"]["steps"] == 10_000
    assert any("every 2nd" in n for n in answer["notes"])


def test_step_numbers_with_gaps(program, tmp_path):
    """Few gaps are followed; with many the processes' own waiting is not known, and that is said."""
    for steps, known in ((40, True), (200, False)):
        job = Job(processes=3, steps=steps, slow=1, squares=True)
        job.write(tmp_path / str(steps))
        answer = joined(program, tmp_path / str(steps))
        assert (answer["verdict"], answer["process_index"]) == ("straggler", 1)
        assert answer["lost_ps"] == job.lost_ps()
        lost = [p["lost_ps"] for p in answer["processes"]]
        assert (sum(lost) == job.lost_ps()) if known else lost == [None] * 3
        assert any("too many gaps" in n for n in answer["notes"]) != known


# Joining


@pytest.fixture(scope="module")
def some(program, tmp_path_factory):
    """Parts of 7 processes, enough calls and steps that joining leaves the exact range, and the
    answer of their captures."""
    root = tmp_path_factory.mktemp("some")
    folders = Job(processes=7, steps=900, ops=2, slow=2, kinds=5, clocks_ps={6: 9 * MS}).write(root)
    whole = run(program, "--json", "--top", "0", *folders)
    return parts_of(program, folders, root), json.loads(whole)["joined"]


def trees(leaves: int) -> st.SearchStrategy:
    """Every order and grouping: a permutation, and where it is cut into nested groups."""
    numbers = st.integers(0, 2**32)
    return st.builds(lambda seed: grouped(random.Random(seed), list(range(leaves))), numbers)


def grouped(dice: random.Random, leaves: list[int]) -> list:
    if len(leaves) < 3:
        return dice.sample(leaves, len(leaves))
    dice.shuffle(leaves)
    cuts = sorted(dice.sample(range(1, len(leaves)), dice.randint(1, len(leaves) - 1)))
    pieces = [leaves[a:b] for a, b in zip([0, *cuts], [*cuts, len(leaves)], strict=True)]
    return [piece[0] if len(piece) == 1 else grouped(dice, piece) for piece in pieces]


def join_tree(program, tree, parts, folder: pathlib.Path) -> pathlib.Path:
    if isinstance(tree, int):
        return parts[tree]
    out = folder / f"{len(list(folder.iterdir()))}.part"
    out.touch()
    run(program, "--partial", out, *[join_tree(program, t, parts, folder) for t in tree])
    return out


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tree=trees(7))
def test_any_order_and_grouping_is_the_same_bytes(program, some, tmp_path, tree):
    parts, whole = some
    folder = tmp_path / "joins"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    made = join_tree(program, tree, parts, folder)
    first = tmp_path / "first.part"
    run(program, "--partial", first, *parts)
    assert made.read_bytes() == first.read_bytes()
    assert joined(program, made) == whole
    assert not whole["steps"]["exact"] and sum(r["exact"] for r in whole["regions"]) == 0


def test_a_part_is_small_and_standard_output_is_one_too(program, some, tmp_path):
    parts, _ = some
    for part in parts:
        assert part.stat().st_size < 64 * 1024
    again = subprocess.run([program, "summary", "--partial", "-", parts[0]], capture_output=True)
    assert again.returncode == 0 and again.stdout == parts[0].read_bytes()


def test_a_part_may_be_joined_into_its_own_place(program, some, tmp_path):
    parts, whole = some
    growing = tmp_path / "all.part"
    shutil.copy(parts[0], growing)
    for part in parts[1:]:
        run(program, "--partial", growing, growing, part)
    assert joined(program, growing) == whole


def test_a_thousand_processes(program, tmp_path):
    job = Job(processes=1000, steps=40, slow=421, clocks_ps={7: -25 * MS})
    folders = job.write(tmp_path)
    whole = joined(program, tmp_path)
    assert (whole["verdict"], whole["process_index"]) == ("straggler", 421)
    assert whole["lost_ps"] == job.lost_ps()
    assert [p["process_index"] for p in whole["processes"]] == list(range(1000))
    assert [p["process_index"] for p in whole["processes"] if p["clock"] != "agrees"] == [7]
    random.Random(1).shuffle(folders)
    parts = [tmp_path / f"{i}.part" for i in range(10)]
    for i, part in enumerate(parts):
        run(program, "--partial", part, *folders[i::10])
    assert joined(program, *parts) == whole
    page = run(program, *parts)
    assert page.startswith("Process 421 of 1000 is the straggler")
    assert "and 988 more processes" in page


def test_memory_does_not_grow_with_the_captures(program, tmp_path):
    """Of a thousand captures one is held at a time."""
    Job(processes=1000, steps=40).write(tmp_path)

    def peak_kib(*arguments: object) -> int:
        code = (
            "import resource, subprocess, sys\n"
            "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        command = [sys.executable, "-c", code, program, "summary", *map(str, arguments)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert peak_kib(tmp_path) - peak_kib(tmp_path / "process-00000") < 16 * 1024


# What can be asked for


def test_step_ranges_and_region_patterns_are_those_of_each_capture(program, tmp_path):
    folders = Job(processes=3, steps=20, slow=1).write(tmp_path)
    arguments = ["--step", "3:7", "--region", "comp*"]
    answer = json.loads(run(program, "--json", *arguments, tmp_path))
    alone = [json.loads(run(program, "--json", *arguments, folder)) for folder in folders]
    assert answer["processes"] == alone
    whole = answer["joined"]
    assert [s["step"] for s in whole["steps"]["compared"]] == [3, 4, 5, 6, 7]
    assert [r["name"] for r in whole["regions"]] == ["compute"]
    assert whole["regions"][0]["total_ps"] == sum(one["regions"][0]["total_ps"] for one in alone)
    parts = [tmp_path / f"{i}.part" for i in range(3)]
    for part, folder in zip(parts, folders, strict=True):
        run(program, "--partial", part, *arguments, folder)
    assert joined(program, *parts) == whole


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--html", "page.html"], "name the capture that a part was made of"),
        (["--csv", "steps"], "--csv takes captures"),
        (["--step", "1:2"], "--step is asked for when a part is made"),
        (["--region", "a"], "--region is asked for when a part is made"),
        (["--json", "--partial", "x.part"], "exclude each other"),
        (["--partial", ""], "--partial takes the name of a file"),
        (["--partial", "/dev/null"], "no regular file"),
        (["--partial", "/"], "it is a folder"),
    ],
)
def test_what_parts_cannot_be_asked_for(program, some, arguments, words):
    done = invoke(program, *arguments, *some[0][:2])
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert words in done.stderr and done.stderr.count("\n") == 1


def test_a_part_never_replaces_the_capture(program, tmp_path):
    (folder,) = Job(processes=1, steps=2).write(tmp_path)
    (file,) = folder.rglob("*.xplane.pb")
    before = file.read_bytes()
    done = invoke(program, "--partial", file, file)
    assert done.returncode == 2 and "would replace the capture" in done.stderr
    assert file.read_bytes() == before
    done = invoke(program, "--partial", tmp_path / "missing" / "x.part", file)
    assert done.returncode == 1 and "No such file or directory" in done.stderr


# Bad parts


@pytest.fixture(scope="module")
def small(program, tmp_path_factory) -> bytes:
    root = tmp_path_factory.mktemp("small")
    folders = Job(processes=2, steps=3, ops=1, slow=1).write(root)
    run(program, "--partial", root / "both.part", *folders)
    return (root / "both.part").read_bytes()


def checksummed(part: bytes) -> bytes:
    """The same body with a header that fits it."""
    body, checksum = part[HEADER_BYTES:], 0xCBF29CE484222325
    for byte in body:
        checksum = (checksum ^ byte) * 0x100000001B3 % 2**64
    return part[:12] + struct.pack("<QQ", len(body), checksum) + body


def test_the_checksum_here_is_the_one_in_the_file(small):
    assert checksummed(small) == small


def test_cut_at_every_byte(program, small, tmp_path):
    cut = tmp_path / "cut.part"
    for size in range(len(small)):
        cut.write_bytes(small[:size])
        done = invoke(program, cut)
        assert (done.returncode, done.stdout) == (3, ""), (size, done.stderr)
        assert str(cut) in done.stderr and done.stderr.count("\n") == 1
        if size >= 8:
            assert "cut" in done.stderr or "ends in its header" in done.stderr


def test_a_changed_byte_is_found(program, small, tmp_path):
    changed = tmp_path / "changed.part"
    for at in range(len(small)):
        changed.write_bytes(small[:at] + bytes([small[at] ^ 0x55]) + small[at + 1 :])
        done = invoke(program, changed)
        assert (done.returncode, done.stdout) == (3, ""), (at, done.stderr)
        assert str(changed) in done.stderr


def test_a_changed_byte_under_a_right_checksum_never_crashes(program, small, tmp_path):
    changed = tmp_path / "changed.part"
    refused = 0
    for at in range(HEADER_BYTES, len(small)):
        for flip in (0x01, 0x80):
            data = small[:at] + bytes([small[at] ^ flip]) + small[at + 1 :]
            changed.write_bytes(checksummed(data))
            done = invoke(program, changed)
            assert done.returncode in (0, 2, 3), (at, done.returncode, done.stderr)
            refused += done.returncode == 3
    assert refused > len(small) / 2


@pytest.mark.parametrize(
    "data, words",
    [
        (lambda part: part[:8] + struct.pack("<I", 2) + part[12:], "format 2"),
        (lambda part: part[:8] + struct.pack("<I", 0) + part[12:], "format 0"),
        (lambda part: part + b"\0", "changed after it was written"),
        (lambda part: checksummed(part + b"\x3a\x00"), "does not know"),
        (lambda part: checksummed(part[:HEADER_BYTES]), "without its totals"),
        (lambda part: part * 2, "changed after it was written"),
    ],
    ids=["newer", "older", "longer", "unknown field", "empty", "twice"],
)
def test_bad_parts_say_why(program, small, tmp_path, data, words):
    bad = tmp_path / "bad.part"
    bad.write_bytes(data(small))
    good = tmp_path / "good.part"
    good.write_bytes(small)
    for arguments in ([bad], [good, bad], [bad, good]):
        done = invoke(program, *arguments)
        assert (done.returncode, done.stdout) == (3, ""), done.stderr
        assert str(bad) in done.stderr and words in done.stderr


def test_a_bad_part_leaves_the_old_one(program, small, tmp_path):
    bad, target = tmp_path / "bad.part", tmp_path / "target.part"
    bad.write_bytes(small[:-1])
    target.write_bytes(b"old")
    assert invoke(program, "--partial", target, bad).returncode == 3
    assert target.read_bytes() == b"old" and sorted(p.name for p in tmp_path.iterdir()) == [
        "bad.part",
        "target.part",
    ]


def test_a_part_is_told_apart_where_captures_are_wanted(program, some, tmp_path):
    for command in (["merge", tmp_path / "out"], ["report"]):
        done = subprocess.run(
            [program, *command, some[0][0]], capture_output=True, text=True, timeout=60
        )
        assert done.returncode != 0 and "is a part, which only summary joins" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_file_over_the_limit_of_its_size_leaves_nothing(program, some, tmp_path):
    """The system's signal for it would end the program with its temporary file left behind."""
    target = tmp_path / "all.part"
    done = subprocess.run(
        [
            "sh",
            "-c",
            'ulimit -f 0; exec "$@"',
            "sh",
            program,
            "summary",
            "--partial",
            target,
            *some[0],
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and "File too large" in done.stderr
    assert not list(tmp_path.glob("all.part*"))

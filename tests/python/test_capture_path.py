# SPDX-License-Identifier: Apache-2.0
"""Which files `CAPTURE` means, seen through the converter that a report hands them to.

The files here are no captures: the converter refuses them, and its error names the file chosen.
"""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest


def put(path: pathlib.Path, when: int = 0) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"not a capture")
    if when:
        os.utime(path, (when, when))
    return path


def chosen(program: pathlib.Path, place: pathlib.Path | str, **more: object) -> str:
    """The path in the converter's complaint."""
    done = subprocess.run(
        [program, "report", str(place)], capture_output=True, text=True, timeout=60, **more
    )
    assert done.returncode == 3, done
    assert "for '" in done.stderr, done.stderr
    return done.stderr.split("for '", 1)[1].split("'", 1)[0].removeprefix("...")


@pytest.fixture
def root(tmp_path):
    return tmp_path / "root"


RUN = "plugins/profile/2026_01_02"


def test_a_file_a_run_a_capture_and_a_root_mean_the_same(program, root):
    file = put(root / "capture-0001" / RUN / "h.xplane.pb")
    for place in (file, file.parent, root / "capture-0001", root):
        assert str(file).endswith(chosen(program, place))


def test_inside_plugins(program, root):
    file = put(root / RUN / "h.xplane.pb")
    assert str(file).endswith(chosen(program, root / "plugins" / "profile"))


def test_a_relative_name_and_a_trailing_slash(program, root):
    file = put(root / RUN / "h.xplane.pb")
    assert chosen(program, "h.xplane.pb", cwd=file.parent) in str(file)
    assert str(file).endswith(chosen(program, f"{root}/"))


def test_the_highest_number_wins_whatever_the_times(program, root):
    put(root / "capture-0009" / RUN / "h.xplane.pb", when=2_000_000_000)
    newest = put(root / "capture-0010" / RUN / "h.xplane.pb", when=1_000_000_000)
    assert str(newest).endswith(chosen(program, root))


def test_numbers_beyond_four_digits(program, root):
    put(root / "capture-9999" / RUN / "h.xplane.pb")
    newest = put(root / "capture-10000" / RUN / "h.xplane.pb")
    assert str(newest).endswith(chosen(program, root))


def test_captures_without_a_file_do_not_count(program, root):
    newest = put(root / "capture-0001" / RUN / "h.xplane.pb")
    (root / "capture-0002" / RUN).mkdir(parents=True)
    (root / "capture-0003").mkdir()
    (root / "capture-0004.txt").write_text("no folder")
    assert str(newest).endswith(chosen(program, root))


def test_the_newest_of_several_processes(program, root):
    put(root / "process-00000/capture-0007" / RUN / "h.xplane.pb", when=1_000_000_000)
    newest = put(root / "process-00001/capture-0001" / RUN / "h.xplane.pb", when=1_500_000_000)
    assert str(newest).endswith(chosen(program, root))


def test_the_newest_run_of_plain_jax(program, root):
    put(root / "plugins/profile/b/h.xplane.pb", when=1_000_000_000)
    newest = put(root / "plugins/profile/a/h.xplane.pb", when=1_500_000_000)
    assert str(newest).endswith(chosen(program, root))


def test_hidden_and_temporary_files_are_no_captures(program, root):
    file = put(root / RUN / "h.xplane.pb")
    put(root / RUN / "._a.xplane.pb")
    put(root / RUN / "a.xplane.pb.123.0.tmp")
    assert str(file).endswith(chosen(program, root))


def test_several_hosts_are_one_capture(program, root):
    put(root / RUN / "a.xplane.pb")
    put(root / RUN / "b.xplane.pb")
    done = subprocess.run([program, "report", root], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "a.xplane.pb' and 1 more" in done.stderr


def refused(program, place) -> str:
    done = subprocess.run(
        [program, "report", str(place)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3
    assert done.stderr.startswith("dew-profile: ")
    assert done.stdout == ""
    return done.stderr


def test_nothing_there(program, tmp_path):
    assert "No such file" in refused(program, tmp_path / "absent")


@pytest.mark.parametrize("place", [".", "capture-0001", "process-00001"])
def test_one_that_was_never_stopped_says_so(program, tmp_path, place):
    for folder in ("capture-0001", "process-00001/capture-0003"):
        (tmp_path / folder).mkdir(parents=True)
    command = [program, "summary", tmp_path / place]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "its process ended without a stop" in done.stderr


def test_a_folder_without_captures_says_what_was_looked_for(program, tmp_path):
    text = refused(program, tmp_path)
    assert str(tmp_path) in text
    assert "capture-NNNN" in text
    assert "plugins/profile/RUN" in text
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_kind(program, tmp_path):
    file = tmp_path / "manifest.json"
    file.write_text("{}")
    assert "neither a capture nor a part" in refused(program, file)
    file.write_text("")  # what a part is after its maker failed behind `> FILE`
    assert "is empty" in refused(program, file)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_read(program, tmp_path):
    tmp_path.chmod(0)
    try:
        assert "Permission denied" in refused(program, tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_what_is_no_file_is_no_capture(program, root):
    file = put(root / RUN / "m.xplane.pb")
    (file.parent / "a.xplane.pb").mkdir()
    os.mkfifo(file.parent / "z.xplane.pb")
    newer = root / "plugins" / "profile" / "2027"
    (newer / "h.xplane.pb").mkdir(parents=True)
    assert str(file).endswith(chosen(program, root))
    file.rename(root / "kept")
    file.symlink_to(root / "kept")
    assert str(root / "kept").endswith(chosen(program, root))


@pytest.mark.parametrize("place", ["", "plugins/profile", RUN, "capture-0001"])
def test_only_what_is_no_file(program, root, place):
    run = root / ("capture-0001" if place == "capture-0001" else "") / RUN
    run.mkdir(parents=True)
    os.mkfifo(run / "h.xplane.pb")
    done = subprocess.run(
        [program, "report", root / place], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3, done
    assert f"{run / 'h.xplane.pb'}' is neither a regular file nor a link to one" in done.stderr


def test_a_link_that_leads_nowhere_is_told(program, root):
    """Left out, the joint reports would be of one host less than the user thinks."""
    file = put(root / RUN / "h.xplane.pb")
    (file.parent / "z.xplane.pb").symlink_to(root / "gone")
    done = subprocess.run([program, "report", root], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done
    assert "z.xplane.pb" in done.stderr

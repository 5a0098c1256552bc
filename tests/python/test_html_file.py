# SPDX-License-Identifier: Apache-2.0
"""`dew-profile summary --html`: how the page gets onto the disk, and what it must not replace."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest
from recipes import recipe, traced


@pytest.fixture
def made(tmp_path):
    return traced(tmp_path, recipe("gpu_streams"))


def summary(program, *arguments, **options) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [program, "summary", *map(str, arguments)], capture_output=True, timeout=60, **options
    )


def test_standard_output_has_the_same_page(program, made, tmp_path):
    page = tmp_path / "p.html"
    assert summary(program, "--html", page, made).returncode == 0
    done = summary(program, "--html", "-", made)
    assert done.returncode == 0 and done.stderr == b""
    assert done.stdout == page.read_bytes()


def test_an_old_page_is_replaced_and_nothing_else_left(program, made, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "p.html").write_text("old")
    done = summary(program, "--html", folder / "p.html", made)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert os.listdir(folder) == ["p.html"]
    assert (folder / "p.html").read_bytes().startswith(b"<!DOCTYPE html>")


@pytest.mark.parametrize("other", [["--json"], ["--csv", "ops"]])
def test_one_output_at_a_time(program, made, tmp_path, other):
    done = summary(program, "--html", tmp_path / "p.html", *other, made)
    assert done.returncode == 2 and b"exclude each other" in done.stderr


def test_places_that_cannot_hold_a_page(program, made, tmp_path):
    digest = hashlib.sha256(made.read_bytes()).digest()
    cases = {
        tmp_path: (2, b"it is a folder"),
        made: (2, b"would replace the capture"),
        pathlib.Path("/dev/null"): (2, b"no regular file"),
        tmp_path / "missing" / "p.html": (1, b"No such file or directory"),
        made / "p.html": (1, b"Not a directory"),
        "": (2, b"--html takes the name of a file"),
    }
    for target, (status, words) in cases.items():
        done = summary(program, "--html", target, made)
        assert done.returncode == status, (target, done.stderr)
        assert words in done.stderr and done.stderr.count(b"\n") == 1
    assert pathlib.Path("/dev/null").is_char_device()
    assert hashlib.sha256(made.read_bytes()).digest() == digest


def test_full_disk(program, made, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "none", small], capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("a small tmpfs cannot be mounted here")
    try:
        (small / "p.html").write_text("old")
        done = summary(program, "--html", small / "p.html", made)
        assert done.returncode == 1
        assert b"No space left on device" in done.stderr and b"p.html" in done.stderr
        assert os.listdir(small) == ["p.html"]
        assert (small / "p.html").read_text() == "old"
    finally:
        subprocess.run(["umount", small], check=True)


def test_several_files_are_refused(program, made, tmp_path):
    run = tmp_path / "root" / "plugins" / "profile" / "run"
    run.mkdir(parents=True)
    for host in "ab":
        shutil.copy(made, run / f"{host}.xplane.pb")
    done = summary(program, "--html", tmp_path / "p.html", run)
    assert done.returncode == 2
    assert b"a page of one capture" in done.stderr and b"a.xplane.pb" in done.stderr
    assert not (tmp_path / "p.html").exists()

# SPDX-License-Identifier: Apache-2.0
"""What every command of dew-profile shares: help, options, exit codes, errors, its output."""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess

import pytest


def run(program: pathlib.Path, *args: object, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *map(str, args)], capture_output=True, text=True, timeout=60, check=False, **more
    )


def commands(program: pathlib.Path) -> list[str]:
    text = run(program, "--help").stdout
    listed = text.split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    return [line.split()[0] for line in listed.splitlines()]


def test_no_command_is_usage(program):
    done = run(program)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Usage: dew-profile" in done.stderr


@pytest.mark.parametrize("flag", ["--help", "-h", "help"])
def test_help_goes_to_stdout(program, flag):
    done = run(program, flag)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "Usage: dew-profile COMMAND" in done.stdout
    assert "report" in commands(program)


def test_help_about_a_command_is_the_command_s_own(program):
    for name in commands(program):
        assert run(program, "help", name).stdout == run(program, name, "--help").stdout
    done = run(program, "help", "sumary")
    assert done.returncode == 2
    assert "did you mean 'summary'" in done.stderr


def test_version(program):
    done = run(program, "--version")
    assert done.returncode == 0
    assert re.fullmatch(r"dew-profile \d+\.\d+\.\d+\n", done.stdout)


def test_unknown_command_names_it_and_the_way_out(program):
    done = run(program, "explode")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("dew-profile: 'explode' is not a command")
    assert "--help" in done.stderr


def test_every_command_explains_itself(program):
    for name in commands(program):
        done = run(program, name, "--help")
        assert done.returncode == 0, name
        assert done.stdout.startswith(f"Usage: dew-profile {name}"), name
        assert "Options:" in done.stdout
        assert done.stderr == ""


def test_every_command_refuses_an_option_it_does_not_have(program):
    for name in commands(program):
        done = run(program, name, "--no-such-option")
        assert done.returncode == 2, name
        assert "--no-such-option" in done.stderr
        assert done.stderr.startswith("dew-profile: ")


def test_too_few_and_too_many_arguments(program, tmp_path):
    for args in ([], [tmp_path, tmp_path]):
        done = run(program, "report", *args)
        assert done.returncode == 2
        assert "usage: dew-profile report" in done.stderr


@pytest.mark.parametrize(
    "args", [["--jobs", "-1"], ["--jobs", "1000"], ["--timeout", "-5"], ["--detach", "--json"]]
)
def test_options_out_of_range(program, tmp_path, args):
    done = run(program, "report", *args, tmp_path)
    assert done.returncode == 2
    assert args[0].lstrip("-") in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_a_failure(program):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [program, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 1
    assert "cannot write the output" in done.stderr


def test_the_wheel_brings_the_manual_page():
    """A wheel has places for programs and for data, and none that is called mandir."""
    try:
        files = importlib.metadata.files("dew-telemetry-profile")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("not installed: run from a build folder")
    if not shutil.which("scdoc"):
        pytest.skip("scdoc, which makes it, is not here")
    (page,) = [file for file in files or [] if file.name.startswith("dew-profile.1")]
    assert page.parent.name == "man1" and page.locate().stat().st_size > 1000

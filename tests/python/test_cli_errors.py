# SPDX-License-Identifier: Apache-2.0
"""Errors of dew-profile: one line whatever the names hold, a hint where one is likely right."""

from __future__ import annotations

import signal
import subprocess

import pytest


def run(program, *args, **more):
    return subprocess.run([program, *args], capture_output=True, timeout=60, check=False, **more)


@pytest.mark.parametrize("typed", ["reprot", "repor", "rreport", "Report"])
def test_a_mistyped_command_gets_the_likely_one(program, typed):
    done = run(program, typed)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"dew-profile: '{typed}' is not a command; did you mean 'report'?\n"
    )


@pytest.mark.parametrize("typed", ["x", "", "explode", "r" * 5000])
def test_nothing_is_guessed_that_is_far_off(program, typed):
    done = run(program, typed)
    assert done.returncode == 2
    assert b"did you mean" not in done.stderr
    assert b"--help" in done.stderr


def test_a_mistyped_option_gets_the_likely_one(program, tmp_path):
    done = run(program, "report", "--convertor", "x", tmp_path)
    assert done.returncode == 2
    assert done.stderr.decode().endswith("did you mean '--converter'?\n")


def test_a_wrong_value_is_no_reason_to_guess_a_name(program, tmp_path):
    done = run(program, "report", "--jobs", "two", tmp_path)
    assert done.returncode == 2
    assert b"two: invalid numeric value" in done.stderr
    assert b"did you mean" not in done.stderr


@pytest.mark.parametrize(
    "typed, named",
    [
        (("--top", "x"), b"--top x: "),
        (("--top=x",), b"--top=x: "),
        (("-n", "x"), b"-n x: "),
        (("--json", "--top", "x"), b"--top x: "),
    ],
)
def test_a_wrong_value_is_named_with_its_option(program, tmp_path, typed, named):
    done = run(program, "summary", *typed, tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(b"dew-profile: " + named)


@pytest.mark.parametrize("option", ["--html", "--csv", "-r", "--partial"])
def test_an_option_that_swallowed_the_capture_says_so(program, tmp_path, option):
    done = run(program, "summary", "--top", "3", option, "h.xplane.pb")
    assert done.returncode == 2
    assert option.encode() in done.stderr and b"'h.xplane.pb'" in done.stderr
    assert b"nothing is left for CAPTURE" in done.stderr


@pytest.mark.parametrize("command", ["report", "summary"])
@pytest.mark.parametrize(
    "name", [b"a\nb", b"a\rb", b"\x1b[31mred", b"%s%n%s", b"\x07bell", b"x" * 250, b"\xff\xfe"]
)
def test_hostile_names_stay_on_one_line(program, tmp_path, command, name):
    done = run(program, command, bytes(tmp_path) + b"/" + name)
    assert done.returncode in (3, 5)
    line = done.stderr
    assert line.startswith(b"dew-profile: ")
    assert line.endswith(b"\n")
    assert not any(byte < 0x20 for byte in line[:-1])
    assert done.stdout == b""


def test_a_path_longer_than_any_error_text(program):
    done = run(program, "report", "/" + "d/" * 20000)
    assert done.returncode == 3
    assert done.stderr.startswith(b"dew-profile: ")
    assert done.stderr.count(b"\n") == 1


def test_a_reader_that_went_away_is_not_talked_about(program):
    done = subprocess.Popen(
        [program, "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL),
    )
    done.stdout.close()
    errors = done.stderr.read()
    done.stderr.close()
    code = done.wait(timeout=60)
    # It may have written all before the pipe was closed; else the failure shows in the code alone.
    assert code in (0, 1)
    assert errors == b""

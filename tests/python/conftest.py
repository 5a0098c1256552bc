# SPDX-License-Identifier: Apache-2.0
"""Fixtures that every test file may use: where the program is, and captures to read."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import sysconfig

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SHARED_CAPTURES = REPOSITORY.parent / "shared" / "captures"


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """A shell starts background jobs with Ctrl-C ignored, which every child would inherit."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def program_path() -> pathlib.Path:
    """The dew-profile under test: DEW_PROFILE_PROGRAM, else the one installed with this Python."""
    named = os.environ.get("DEW_PROFILE_PROGRAM")
    found = named or shutil.which("dew-profile", path=sysconfig.get_path("scripts"))
    if not found:
        pytest.fail("dew-profile is not installed beside this Python; run the tests by `make test`")
    return pathlib.Path(found)


@pytest.fixture(scope="session")
def program() -> pathlib.Path:
    return program_path()


@pytest.fixture(scope="session")
def shared_captures() -> pathlib.Path:
    """Real captures that are not part of the repository; a clone without them skips."""
    if not SHARED_CAPTURES.is_dir():
        pytest.skip("the shared captures are not beside this checkout")
    return SHARED_CAPTURES

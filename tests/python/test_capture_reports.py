# SPDX-License-Identifier: Apache-2.0
"""How stop has the reports made: who is asked, who waits, and what comes of failures."""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time
import warnings
from typing import Any

import jax.numpy as jnp
import pytest
from captures import run_python

from dew.telemetry.profile import Profiler, profile, region


def work() -> None:
    with region("work"):
        jnp.ones((64, 64)).block_until_ready()


def manifest_of(profiler: Profiler) -> dict[str, Any]:
    assert profiler.capture is not None
    return dict(json.loads((profiler.capture / "manifest.json").read_text()))


INTERRUPTED = """
import os, pathlib, sys, warnings
import jax.numpy as jnp
from dew.telemetry.profile import profile, active_profile
root = pathlib.Path(sys.argv[1])
try:
    with profile(root) as profiler:
        jnp.ones(3).block_until_ready()
except KeyboardInterrupt:
    print("interrupted")
assert active_profile() is None
profiler.reports = "off"
with profiler:
    jnp.ones(3).block_until_ready()
print(profiler.capture.name)
"""


def wait_for(path: pathlib.Path) -> None:
    end = time.monotonic() + 60
    while not path.exists() or not path.read_text():
        assert time.monotonic() < end, f"{path} did not come"
        time.sleep(0.02)


def test_ctrl_c_while_the_reports_are_made(tmp_path: pathlib.Path) -> None:
    """Field note 5: the exporter is ended, the capture is whole, and the next one works."""
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 100\n")
    slow.chmod(0o755)
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, tmp_path / "root"],
        env={**os.environ, "DEW_PROFILE_PROGRAM": str(slow), "DEW_PROFILE_REPORTS": "wait"},
        stdout=subprocess.PIPE,
        text=True,
    )
    wait_for(tmp_path / "pid")
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert (child.returncode, out.split()) == (0, ["interrupted", "capture-0002"])
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    manifest = json.loads((tmp_path / "root" / "capture-0001" / "manifest.json").read_text())
    assert manifest["state"] == "captured"
    assert manifest["reports"]["state"] == "interrupted"


def test_background_reports_outlive_the_program(tmp_path: pathlib.Path) -> None:
    code = INTERRUPTED.split("try:")[0] + (
        "with profile(root) as profiler:\n    jnp.ones(3).block_until_ready()\n"
        "print(profiler.reports)"
    )
    done = run_python(code, tmp_path, timeout=60, DEW_PROFILE_REPORTS="background")
    done.check_returncode()
    assert done.stdout.split() == ["background"]
    index = tmp_path / "capture-0001" / "reports" / "reports.json"
    end = time.monotonic() + 60
    while not index.exists() or json.loads(index.read_text())["state"] == "running":
        assert time.monotonic() < end, "the exporter did not finish"
        time.sleep(0.05)
    assert json.loads(index.read_text())["state"] == "done"


def test_a_program_that_is_missing_is_a_warning(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEW_PROFILE_REPORTS", "wait")
    monkeypatch.setenv("DEW_PROFILE_PROGRAM", str(tmp_path / "nowhere"))
    with pytest.warns(RuntimeWarning, match="nowhere.*dew-profile report"), profile(tmp_path) as p:
        work()
    manifest = manifest_of(p)
    assert (manifest["state"], manifest["reports"]["state"]) == ("captured", "failed")


NO_XPROF = """
import sys
sys.modules["xprof"] = None  # as where it is not installed
import jax.numpy as jnp
from dew.telemetry.profile import profile, active_profile
profiler = profile(sys.argv[1])
try:
    profiler.start()
except ImportError as error:
    print(error)
assert active_profile() is None
profiler.reports = "off"
with profiler:
    jnp.ones(3).block_until_ready()
print(profiler.capture)
"""


def test_without_xprof(tmp_path: pathlib.Path) -> None:
    """Reports need it, and start says so at once; a capture without reports does not."""
    done = run_python(NO_XPROF, tmp_path, timeout=60, DEW_PROFILE_REPORTS="wait")
    done.check_returncode()
    refused, capture = done.stdout.splitlines()
    assert "pip install 'xprof>=2.22.3'" in refused
    assert pathlib.Path(capture) == tmp_path / "capture-0001"
    manifest = json.loads((tmp_path / "capture-0001" / "manifest.json").read_text())
    assert (manifest["state"], manifest["versions"]["xprof"]) == ("captured", None)


def test_the_command_in_the_warning_can_be_pasted(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEW_PROFILE_PROGRAM", "/bin/false")
    profiler = profile(tmp_path / "it's mine")
    profiler.reports = "wait"
    with pytest.warns(RuntimeWarning, match="make them again with") as caught, profiler:
        pass
    command = str(caught[0].message).partition("again with: ")[2]
    assert shlex.split(command) == ["dew-profile", "report", str(profiler.capture)]


@pytest.mark.parametrize("program", ["/bin/false", None])
def test_children_that_others_wait_for(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, program: str | None
) -> None:
    """With SIGCHLD ignored nobody can know how the child ended, but what it did can be seen."""
    if program:
        monkeypatch.setenv("DEW_PROFILE_PROGRAM", program)
    profiler = profile(tmp_path)
    profiler.reports = "wait"
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with warnings.catch_warnings(record=True) as caught, profiler:
            warnings.simplefilter("always")
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert bool(caught) == bool(program)
    assert manifest_of(profiler)["reports"]["state"] == ("failed" if program else "made")


def test_an_empty_name_of_the_program_is_none(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = pathlib.Path(os.environ.get("DEW_PROFILE_PROGRAM") or shutil.which("dew-profile") or "")
    monkeypatch.setenv("PATH", f"{found.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DEW_PROFILE_PROGRAM", "")
    profiler = profile(tmp_path)
    profiler.reports = "wait"
    with profiler:
        pass
    assert manifest_of(profiler)["reports"]["state"] == "made"

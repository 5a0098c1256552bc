# SPDX-License-Identifier: Apache-2.0
"""`dew-profile report` when it is interrupted or killed, beside another one, and in the background.

The converter that hangs for as long as a test needs is tests/python/fake_converter.c.
"""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest
from reporting import by_key, index_of, report, snapshot, wait_for

pytestmark = pytest.mark.usefixtures("scratch")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_interrupted(program, capture, fake, scratch, number):
    env = {**os.environ, "FAKE_HANG": "kernel_stats"}
    child = subprocess.Popen(
        [program, "report", "--converter", fake, "--jobs", "1", capture],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = capture / "reports" / "export.log"
    wait_for(lambda: log.exists() and "stderr of kernel_stats" in log.read_text())
    child.send_signal(number)
    child.communicate(timeout=60)
    assert child.returncode == -number
    index = index_of(capture / "reports")
    assert index["state"] == "interrupted"
    entries = by_key(index)
    assert entries["overview_page", None, None]["status"] == "ok"
    for tool in ("kernel_stats", "hlo_stats"):
        assert "interrupted" in entries[tool, None, None]["error"]
    assert list(scratch.iterdir()) == []
    assert not any(name.endswith(".tmp") for name in snapshot(capture))


def hanging(program, fake, capture) -> subprocess.Popen[bytes]:
    """An exporter in the midst of a report."""
    env = {**os.environ, "FAKE_HANG": "kernel_stats"}
    child = subprocess.Popen([program, "report", "-q", "--converter", fake, capture], env=env)
    log = capture / "reports" / "export.log"
    wait_for(lambda: log.exists() and "stderr of kernel_stats" in log.read_text())
    return child


def test_no_worker_outlives_a_killed_exporter(program, capture, fake):
    child = hanging(program, fake, capture)
    children = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children")
    if not children.exists():
        child.kill()
        pytest.skip("needs /proc/PID/task/PID/children")
    workers = children.read_text().split()
    assert workers
    child.kill()
    child.wait()

    def gone(pid: str) -> bool:
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return True
        return state == "Z"

    wait_for(lambda: all(gone(pid) for pid in workers))
    # And the next one is not kept out by a stale lock.
    report(program, "-q", "--converter", fake, capture)
    assert index_of(capture / "reports")["state"] == "done"


@pytest.fixture
def kernel():
    """The id by which a scratch folder tells which kernel's locks it is under."""
    file = pathlib.Path("/proc/sys/kernel/random/boot_id")
    if not file.exists():
        pytest.skip("this kernel does not tell one boot from another")
    return file.read_text().strip()


def test_the_next_one_removes_what_a_killed_one_left(program, capture, fake, scratch, kernel):
    other = shutil.copytree(capture, capture.with_name("capture-0002"))
    killed = hanging(program, fake, capture)
    (left,) = scratch.iterdir()
    assert left.name.startswith("dew-profile-scratch-") and left.name.endswith(f".{kernel}")
    running = hanging(program, fake, other)
    assert len(list(scratch.iterdir())) == 2, "the first one still ran"
    (used,) = set(scratch.iterdir()) - {left}
    killed.kill()
    killed.wait()
    assert left.exists()
    wait_for(lambda: is_unlocked(left))  # its workers are gone too
    report(program, "-q", "--converter", fake, capture)
    assert list(scratch.iterdir()) == [used]
    links = snapshot(used)
    assert [name.endswith(".xplane.pb") for name in links] == [True]
    running.terminate()
    running.wait(timeout=60)


def test_what_may_be_anothers_stays(program, capture, fake, scratch, kernel, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("still here")
    other = "".join("f" if c == "0" else "0" if c in "123456789abcdef" else c for c in kernel)
    names = ["dew-profile-scratch-AAAAAA", f"dew-profile-scratch-BBBBBB.{other}"]
    names += [f"somebodys.{kernel}", f"dew-profile-scratch-CCCCCC.{kernel}.old"]
    for name in names:
        (scratch / name).mkdir()
    (scratch / f"dew-profile-scratch-DDDDDD.{kernel}").symlink_to(precious)
    (scratch / f"dew-profile-scratch-EEEEEE.{kernel}").write_text("a file")
    if os.geteuid() == 0:
        foreign = scratch / f"dew-profile-scratch-GGGGGG.{kernel}"
        foreign.mkdir()
        os.chown(foreign, 65534, -1)
    before = sorted(scratch.iterdir())
    report(program, "-q", "--converter", fake, capture)
    assert sorted(scratch.iterdir()) == before
    assert (precious / "file").read_text() == "still here"
    dead = scratch / f"dew-profile-scratch-FFFFFF.{kernel}"
    dead.mkdir()
    scratch.chmod(0o777)  # anybody may put another folder in its place
    report(program, "-q", "--converter", fake, capture)
    assert dead.exists()
    scratch.chmod(0o700)
    (dead / "link").symlink_to(precious)
    report(program, "-q", "--converter", fake, capture)
    assert sorted(scratch.iterdir()) == before
    assert (precious / "file").read_text() == "still here"
    for path in before:
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def test_two_exporters_do_not_mix(program, capture, fake):
    child = hanging(program, fake, capture)
    done = report(program, "--converter", fake, capture, expect=1)
    assert "being made" in done.stderr
    child.terminate()
    child.wait(timeout=60)


# argv: program, converter, capture, temporary folder, signal, delays in microseconds. A process of
# its own, small enough that the signal follows its child closely.
HUNTER = """
import json, os, signal, subprocess, sys, time
program, converter, capture, tmp, number, *delays = sys.argv[1:]
reports = os.path.join(capture, "reports")
left = {}
for delay in map(int, delays):
    subprocess.run(["rm", "-rf", reports])
    child = subprocess.Popen([program, "report", "-q", "--converter", converter, capture],
                             stderr=subprocess.DEVNULL)
    if delay < 0:
        while not os.listdir(tmp) and child.poll() is None:
            pass
    else:
        time.sleep(delay / 1e6)
    child.send_signal(int(number))
    status = child.wait()
    found = os.listdir(reports) if os.path.isdir(reports) else []
    state = ""
    if "reports.json" in found:
        state = json.load(open(os.path.join(reports, "reports.json")))["state"]
    odd = os.listdir(tmp) + [name for name in found if name.endswith(".tmp")]
    if state not in ("done", "interrupted") and found:
        odd += ["index: " + state]
    if odd or (state == "interrupted" and status != -int(number)):
        left[delay] = [status, odd]
    for name in os.listdir(tmp):
        subprocess.run(["rm", "-rf", os.path.join(tmp, name)])
print(json.dumps(left))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_at_any_time_leaves_nothing(program, capture, fake, scratch, number):
    """-1: right after the scratch folder appeared."""
    start = time.monotonic()
    report(program, "-q", "--converter", fake, capture)
    whole_us = int((time.monotonic() - start) * 1e6)
    delays = [-1] * 12 + [whole_us * i // 24 for i in range(30)]
    done = subprocess.run(
        [sys.executable, "-S", "-c", HUNTER]
        + [str(a) for a in (program, fake, capture, scratch, int(number), *delays)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}


def is_unlocked(folder: pathlib.Path) -> bool:
    """No exporter works in it any more."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


def test_detach_returns_and_the_work_goes_on(program, capture):
    done = report(program, "--detach", capture)
    assert (done.stdout, done.stderr) == ("", "")
    index = capture / "reports" / "reports.json"
    wait_for(lambda: index.exists() and index_of(index.parent)["state"] == "done")
    assert by_key(index_of(index.parent))["overview_page", None, None]["file"]
    # The scratch folder goes after the index is written.
    folder = pathlib.Path(os.environ["TMPDIR"])
    wait_for(lambda: list(folder.iterdir()) == [])


def test_detach_leaves_word_of_a_failure(program, capture, fake):
    args = ["--converter", fake, "--timeout", 1, "--detach", capture]
    folder = capture / "reports"
    for variable, words in [
        ("FAKE_CRASH", "signal 6"),
        ("FAKE_HANG", "timeout"),
        ("FAKE_ERROR", "fake words about tool_names"),
    ]:  # each takes the place of the one before
        report(program, *args, env={variable: "tool_names"})
        wait_for(lambda: is_unlocked(folder))
        index = index_of(folder)
        assert (index["state"], index["reports"]) == ("failed", [])
        assert words in index["error"]
        log = (folder / "export.log").read_text()
        assert words in log
        assert "stderr of tool_names" in log
        assert {path.name for path in folder.iterdir()} == {"reports.json", "export.log"}
    report(program, "--converter", fake, capture)
    assert (index_of(folder)["state"], index_of(folder)["error"]) == ("done", None)
    # Reports that are there are worth more than the word of a failure.
    before = snapshot(folder)
    report(program, *args, env={"FAKE_CRASH": "tool_names"})
    wait_for(lambda: is_unlocked(folder))
    after = snapshot(folder)
    added = after.pop("export.log").removeprefix(before.pop("export.log")).decode()
    assert "signal 6" in added and added.count("\n") == 1
    assert after == before


def test_detach_leaves_word_of_a_damaged_capture(program, capture):
    next(capture.rglob("*.xplane.pb")).write_bytes(b"\xff" * 3000)
    report(program, "--detach", capture)
    folder = capture / "reports"
    wait_for(lambda: is_unlocked(folder))
    index = index_of(folder)
    assert index["state"] == "failed"
    assert "tool_names" in index["error"]


def test_detach_reports_what_is_wrong_at_once(program, tmp_path, capture):
    report(program, "--detach", tmp_path / "absent", expect=3)
    report(program, "--detach", "--converter", tmp_path, capture, expect=4)

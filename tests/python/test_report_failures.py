# SPDX-License-Identifier: Apache-2.0
"""`dew-profile report` where something is wrong: one report, the input, the converter, the place.

Failures that the real converter does not produce are forced with tests/python/fake_converter.c.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess

import pytest
from reporting import by_key, index_of, report, snapshot, wait_for

pytestmark = pytest.mark.usefixtures("scratch")


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("FAKE_CRASH", "signal 6"),
        ("FAKE_EXIT", "status 7"),
        ("FAKE_HANG", "timeout"),
        ("FAKE_ERROR", "fake words about kernel_stats"),
    ],
)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_costs_its_own_report_only(program, capture, fake, variable, words, jobs):
    args = ["--converter", fake, "--timeout", 1, "--jobs", jobs, capture]
    done = report(program, *args, expect=1, env={variable: "kernel_stats"})
    folder = capture / "reports"
    entries = by_key(index_of(folder))
    assert [r["status"] for r in entries.values()] == ["ok", "failed", "ok"]
    failed = entries["kernel_stats", None, None]
    assert words in failed["error"]
    assert failed["file"] is None
    assert not (folder / "kernel_stats.json").exists()
    assert json.loads((folder / "hlo_stats.json").read_text()) == {"tool": "hlo_stats"}
    assert words in done.stderr
    assert words in (folder / "export.log").read_text()
    assert "1 failed" in done.stdout


@pytest.mark.parametrize(
    ("variable", "words"), [("FAKE_CRASH", "signal 6"), ("FAKE_HANG", "timeout")]
)
def test_a_failure_of_what_is_made_ahead_costs_no_other_report(
    program, capture, fake, variable, words
):
    """The second worker makes the shared result with this tool, whatever the list will say."""
    args = ["--converter", fake, "--timeout", 1, "--jobs", 2, capture]
    report(program, *args, env={variable: "framework_op_stats"})
    folder = capture / "reports"
    assert [r["status"] for r in index_of(folder)["reports"]] == ["ok", "ok", "ok"]
    (line,) = [row for row in (folder / "export.log").read_text().splitlines() if "ahead" in row]
    assert "framework_op_stats, tried ahead" in line and words in line


@pytest.mark.parametrize("how", [["--jobs", 1], ["--jobs", 2, "--tool", "hlo_stats"]])
def test_nothing_is_made_ahead_without_a_second_worker_or_the_need(program, capture, fake, how):
    report(program, "--converter", fake, *how, capture, env={"FAKE_CRASH": "framework_op_stats"})
    assert "ahead" not in (capture / "reports" / "export.log").read_text()


def test_every_report_failing_still_leaves_an_index(program, capture, fake):
    env = {"FAKE_TOOLS": "kernel_stats", "FAKE_CRASH": "kernel_stats"}
    report(program, "--converter", fake, capture, expect=1, env=env)
    assert [r["status"] for r in index_of(capture / "reports")["reports"]] == ["failed"]


def test_a_crash_while_listing_keeps_the_old_reports(program, capture, fake):
    report(program, capture)
    before = snapshot(capture)
    for variable, words in (("FAKE_CRASH", "signal 6"), ("FAKE_HANG", "timeout")):
        done = report(
            program,
            "--converter",
            fake,
            "--timeout",
            1,
            capture,
            expect=1,
            env={variable: "tool_names"},
        )
        assert words in done.stderr
        assert snapshot(capture) == before


def no_bytes() -> None:
    """Files can be made and not written to, as on a full disk: so no scratch folder is any good."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def test_without_any_scratch_folder(program, capture):
    for args in ([], ["--detach"]):
        done = report(program, *args, capture, expect=1, preexec_fn=no_bytes, restore_signals=False)
        assert "no folder for temporary files" in done.stderr
        assert os.environ["TMPDIR"] in done.stderr


def test_temporary_folders_that_are_not_there(program, capture, tmp_path):
    env = {"TMPDIR": str(tmp_path / "gone"), "TEMP": os.environ["TMPDIR"]}
    report(program, capture, env=env)
    assert index_of(capture / "reports")["state"] == "done"


def read_if_there(path: pathlib.Path) -> str:
    return path.read_text() if path.exists() else ""


def test_a_failure_after_the_first_report_is_in_the_index(program, capture, fake):
    """A place for the index is taken away while a report is made."""
    env = {**os.environ, "FAKE_HANG": "kernel_stats"}
    args = [program, "report", "-q", "-j", "1", "--timeout", "3", "--converter", fake, capture]
    child = subprocess.Popen(args, env=env, stderr=subprocess.PIPE, text=True)
    folder = capture / "reports"
    wait_for(lambda: "stderr of kernel_stats" in read_if_there(folder / "export.log"))
    (folder / "overview_page.json").unlink()  # the flush at the end does not find it
    _, words = child.communicate(timeout=60)
    assert child.returncode == 1
    index = index_of(folder)
    assert index["state"] == "failed"
    assert index["error"] and index["error"] in words
    assert index["error"] in (folder / "export.log").read_text()


@pytest.mark.parametrize("limit", [12, 16])
def test_too_few_open_files(program, capture, limit):
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    done = report(program, "-j", 2, capture, expect=1, preexec_fn=few)
    assert f"only {limit} files may be open at once (ulimit -n)" in done.stderr
    assert "ulimit -n 256" in done.stderr
    assert not (capture / "reports").exists()


def test_a_low_limit_of_open_files_is_raised_where_that_is_allowed(program, capture, fake):
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (12, 4096))

    report(program, "-j", 16, "--converter", fake, capture, preexec_fn=few)
    assert index_of(capture / "reports")["state"] == "done"


@pytest.mark.parametrize("kind", ["garbage", "half", "empty"])
def test_damaged_input(program, tmp_path, cpu_capture, kind):
    data = cpu_capture.read_bytes()
    file = tmp_path / "host.xplane.pb"
    file.write_bytes(
        {"garbage": b"\xff" * 3000, "half": data[: len(data) // 2], "empty": b""}[kind]
    )
    done = report(program, file, expect=3)
    assert "host.xplane.pb" in done.stderr
    assert ("0 bytes" if kind == "empty" else "tool_names") in done.stderr
    assert kind == "empty" or "xprof 2." in done.stderr
    assert list(tmp_path.rglob("*")) == [file]


def test_a_damaged_capture_keeps_the_old_reports(program, capture):
    report(program, capture)
    before = snapshot(capture / "reports")
    next(capture.rglob("*.xplane.pb")).write_bytes(b"\xff" * 100)
    report(program, capture, expect=3)
    assert snapshot(capture / "reports") == before


def test_one_damaged_host_of_two(program, capture):
    (next(capture.rglob("*.xplane.pb")).parent / "z.xplane.pb").write_bytes(b"")
    done = report(program, capture, expect=3)
    assert "z.xplane.pb" in done.stderr


def test_no_converter(program, capture, tmp_path):
    done = report(program, "--converter", tmp_path, capture, expect=4)
    assert "pip install" in done.stderr
    assert not (capture / "reports").exists()


def test_an_old_converter(program, capture, fake, tmp_path):
    site = tmp_path / "old"
    shutil.copytree(fake, site)
    (site / "xprof-2.24.2.dist-info").rename(site / "xprof-2.20.0.dist-info")
    done = report(program, "--converter", site, capture, expect=4)
    assert "2.20.0 is too old" in done.stderr
    assert "pip install" in done.stderr


def test_a_broken_converter(program, capture, tmp_path):
    folder = tmp_path / "xprof" / "convert"
    folder.mkdir(parents=True)
    (folder / "profiler_plugin_c_api.so").write_bytes(b"no library")
    (tmp_path / "xprof-2.24.2.dist-info").mkdir()
    done = report(program, "--converter", tmp_path, capture, expect=4)
    assert "cannot be opened" in done.stderr
    assert not (capture / "reports").exists()


def test_a_newer_converter_is_tried_first(program, capture, fake, tmp_path):
    site = tmp_path / "new"
    shutil.copytree(fake, site)
    (site / "xprof-2.24.2.dist-info").rename(site / "xprof-99.0.0.dist-info")
    report(program, "--converter", site, capture)
    assert index_of(capture / "reports")["converter"]["version"] == "99.0.0"
    done = report(program, "--converter", site, capture, expect=4, env={"FAKE_CRASH": "tool_names"})
    assert "99.0.0" in done.stderr


def test_a_read_only_capture_is_left_alone(program, capture, tmp_path):
    run = next(capture.rglob("*.xplane.pb")).parent
    before = snapshot(capture)
    for folder in (run, capture):
        folder.chmod(0o500)
    try:
        if os.geteuid() != 0:
            done = report(program, capture, expect=1)
            assert "--output" in done.stderr
        report(program, "--output", tmp_path / "out", capture)
    finally:
        for folder in (run, capture):
            folder.chmod(0o700)
    assert snapshot(capture) == before
    assert by_key(index_of(tmp_path / "out"))["hlo_stats", None, None]["file"]


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small tmpfs is not permitted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(program, capture, small_disk):
    folder = small_disk / "reports"
    done = report(program, "--all", "-o", folder, capture, expect=1)
    assert "No space left" in done.stderr
    # What is there is whole, and no temporary file is left.
    for path in folder.iterdir():
        if path.name != "export.log":
            json.loads(path.read_text()) if path.suffix == ".json" else path.read_text()
        assert not path.name.endswith(".tmp")


def test_a_place_that_cannot_be_written(program, capture, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = report(program, "-o", tmp_path / "file" / "out", capture, expect=1)
    assert str(tmp_path / "file") in done.stderr

# SPDX-License-Identifier: Apache-2.0
"""A capture's life on real JAX: what lies on the disk, who owns the slot, and what errors leave."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import pytest
from captures import event_names, run_python

from dew.telemetry.profile import Profiler, active_profile, profile, region


@pytest.fixture(autouse=True)
def no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports have their own tests; here they would only cost time."""
    monkeypatch.setenv("DEW_PROFILE_REPORTS", "off")


@jax.jit
def product(x: jax.Array) -> jax.Array:
    return x @ x


def work(size: int = 64) -> jax.Array:
    return product(jnp.ones((size, size)))


def state_of(capture: pathlib.Path) -> str:
    return str(json.loads((capture / "manifest.json").read_text())["state"])


def assert_jax_can_trace(folder: pathlib.Path) -> None:
    jax.profiler.start_trace(folder)
    work().block_until_ready()
    jax.profiler.stop_trace()
    assert list(folder.rglob("*.xplane.pb"))
    assert active_profile() is None


def test_with_writes_one_capture(tmp_path: pathlib.Path) -> None:
    with profile(tmp_path) as profiler:
        assert active_profile() is profiler
        with region("step one"):
            work()
    assert active_profile() is None
    assert profiler.directory == tmp_path
    assert profiler.capture == tmp_path / "capture-0001"
    assert "step one" in event_names(profiler.capture)
    manifest = json.loads((profiler.capture / "manifest.json").read_text())
    assert manifest["state"] == "captured"
    assert manifest["regions"] == ["step one"]


def test_a_profiler_is_used_again_and_each_start_has_its_folder(tmp_path: pathlib.Path) -> None:
    profiler = Profiler(tmp_path)
    for number in (1, 2, 3):
        assert profiler.start() is profiler
        work()
        assert profiler.stop() is None
        assert profiler.capture == tmp_path / f"capture-000{number}"
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 3


def test_without_a_directory_a_persistent_one_is_made(own_temporary: pathlib.Path) -> None:
    profiler = profile()
    assert profiler.directory is None
    assert profiler.capture is None
    with profiler:
        pass
    assert profiler.directory is not None
    assert profiler.directory.name.startswith("dew-profile-")
    assert profiler.directory.parent == own_temporary
    assert profiler.capture is not None
    assert state_of(profiler.capture) == "captured"


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "dropped"])
def test_pending_work_is_waited_for(tmp_path: pathlib.Path, keep: bool) -> None:
    """Field note 7: 8 of 8 products, also where the program dropped their results at once."""
    x = jnp.ones((1024, 1024))
    product(x).block_until_ready()
    kept = []
    with profile(tmp_path) as profiler:
        for _ in range(8):
            result = product(x)
            if keep:
                kept.append(result)
        del result
    assert profiler.capture is not None
    (file,) = profiler.capture.rglob("*.xplane.pb")
    runs = {
        dict(event.stats)["run_id"]
        for plane in jax.profiler.ProfileData.from_file(str(file)).planes
        for line in plane.lines
        for event in line.events
        if dict(event.stats).get("hlo_module") == "jit_product"
        and "hlo_op" in dict(event.stats)
        and not event.name.startswith("end: ")
    }
    assert len(runs) == 8
    assert all(result.is_ready() for result in kept)


def test_a_second_start_names_the_owner(tmp_path: pathlib.Path) -> None:
    with profile(tmp_path / "first"):
        with pytest.raises(RuntimeError, match="first"):
            Profiler(tmp_path / "second").start()
        assert active_profile() is not None
    assert not (tmp_path / "second").exists()


def test_a_foreign_trace_goes_on_unharmed(tmp_path: pathlib.Path) -> None:
    jax.profiler.start_trace(tmp_path / "foreign")
    with pytest.raises(RuntimeError, match="trace"):
        Profiler(tmp_path / "ours").start()
    work().block_until_ready()
    jax.profiler.stop_trace()
    assert list((tmp_path / "foreign").rglob("*.xplane.pb"))
    assert not (tmp_path / "ours").exists()
    assert_jax_can_trace(tmp_path / "after")


def test_stop_without_a_capture_is_an_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RuntimeError):
        Profiler(tmp_path).stop()


def test_leaving_after_an_inner_stop_is_no_error(tmp_path: pathlib.Path) -> None:
    with profile(tmp_path) as profiler:
        profiler.stop()
    assert profiler.capture is not None
    assert state_of(profiler.capture) == "captured"


def test_the_bodys_exception_wins_and_the_capture_is_kept(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ZeroDivisionError), profile(tmp_path) as profiler:
        _ = 1 / 0
    assert profiler.capture is not None
    manifest = json.loads((profiler.capture / "manifest.json").read_text())
    assert manifest["state"] == "captured"
    assert list(profiler.capture.rglob("*.xplane.pb"))


@pytest.mark.parametrize(
    "target",
    ["gs://bucket/x", "s3://bucket/x", "my-store+x.1://x", pathlib.Path("gs://bucket/x")],
)
def test_remote_folders_are_refused_at_start(
    target: str | pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="is a remote location"):
        Profiler(target).start()
    assert active_profile() is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", ["dir:/x", "gs", "gs:", "gs:x/y", "2026-12-01T10:/x", "./gs:/x"])
def test_a_colon_in_a_local_folders_name_is_nothing_special(
    target: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with profile(target) as profiler:
        work()
    assert profiler.capture is not None
    assert profiler.capture.samefile(tmp_path / target / "capture-0001")
    assert state_of(profiler.capture) == "captured"
    assert list(profiler.capture.rglob("*.xplane.pb"))


def test_bytes_paths_are_refused() -> None:
    with pytest.raises(TypeError):
        Profiler(b"/tmp/x").start()  # type: ignore[arg-type]
    assert active_profile() is None


def test_a_file_in_the_folders_place_is_refused_at_start(tmp_path: pathlib.Path) -> None:
    place = tmp_path / "file"
    place.write_text("mine")
    with pytest.raises(OSError, match="file"):
        Profiler(place).start()
    assert place.read_text() == "mine"
    assert_jax_can_trace(tmp_path / "after")


def test_a_folder_removed_under_way_loses_nothing(
    tmp_path: pathlib.Path, own_temporary: pathlib.Path
) -> None:
    """The bytes go to a fresh temporary folder, and the exception says where."""
    root = tmp_path / "root"
    profiler = profile(root).start()
    with region("kept"):
        work()
    subprocess.run(["rm", "-rf", str(root)], check=True)
    root.write_text("now a file")
    with pytest.raises(Exception, match=r"xplane\.pb|dew-profile") as raised:
        profiler.stop()
    said = str(raised.value) + "".join(map(str, getattr(raised.value, "exceptions", ())))
    places = [word.strip("'\".,;:()") for word in said.split() if "/" in word]
    saved = [file for place in places for file in found_captures(pathlib.Path(place))]
    assert saved, said
    assert all(file.is_relative_to(own_temporary) for file in saved)
    assert any("kept" in event_names(file) for file in saved)
    assert_jax_can_trace(tmp_path / "after")


def found_captures(place: pathlib.Path) -> list[pathlib.Path]:
    if place.is_file() and place.name.endswith(".xplane.pb"):
        return [place]
    return list(place.rglob("*.xplane.pb")) if place.is_dir() else []


def test_two_captures_in_one_second_and_two_processes_in_one_folder(tmp_path: pathlib.Path) -> None:
    code = (
        "import sys, jax.numpy as jnp\n"
        "from dew.telemetry.profile import profile\n"
        "for _ in range(2):\n"
        "    with profile(sys.argv[1]): jnp.ones(8).block_until_ready()\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    captures = sorted(tmp_path.glob("capture-*"))
    assert len(captures) == 4
    assert {state_of(capture) for capture in captures} == {"captured"}
    assert len({file.parent.name for file in tmp_path.rglob("*.xplane.pb")}) == 4


def test_one_of_many_threads_wins_the_slot(tmp_path: pathlib.Path) -> None:
    barrier = threading.Barrier(6)
    outcomes: list[object] = []

    def attempt(number: int) -> None:
        profiler = Profiler(tmp_path / str(number))
        barrier.wait()
        try:
            outcomes.append(profiler.start())
        except RuntimeError as refused:
            outcomes.append(refused)

    threads = [threading.Thread(target=attempt, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [outcome for outcome in outcomes if isinstance(outcome, Profiler)]
    assert active_profile() is winner
    winner.stop()
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1


def test_a_forked_child_owns_nothing(tmp_path: pathlib.Path) -> None:
    code = """
import os, sys, warnings
warnings.simplefilter("ignore")
from dew.telemetry.profile import profile, region, active_profile
profiler = profile(sys.argv[1]).start()
child = os.fork()
if child == 0:
    ok = active_profile() is None
    with region("child"):
        pass
    try:
        profiler.stop()
        ok = False
    except RuntimeError:
        pass
    os._exit(0 if ok else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
profiler.stop()
"""
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1


def test_a_capture_still_running_at_exit_is_saved_with_a_warning(tmp_path: pathlib.Path) -> None:
    code = (
        "import sys, jax.numpy as jnp\n"
        "from dew.telemetry.profile import profile\n"
        "profile(sys.argv[1]).start(); jnp.ones(8).block_until_ready()\n"
    )
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Warning" in done.stderr
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1
    assert state_of(tmp_path / "capture-0001") == "captured"


def test_import_and_profile_touch_no_backend() -> None:
    code = """
import dew.telemetry.profile as m
m.profile("x")
with m.region("x"): pass
import sys
assert "jax" not in sys.modules and "xprof" not in sys.modules
import jax
from jax._src import xla_bridge
assert not xla_bridge.backends_are_initialized()
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr


def test_a_full_disk_loses_nothing(tmp_path: pathlib.Path, own_temporary: pathlib.Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        profiler = profile(disk / "root").start()
        for number in range(20_000):
            with region(f"kept {number}"):
                pass
        with pytest.raises(Exception, match=r"xplane\.pb|dew-profile") as raised:
            profiler.stop()
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    said = str(raised.value) + "".join(map(str, getattr(raised.value, "exceptions", ())))
    places = [word.strip("'\".,;:()") for word in said.split() if "/" in word]
    saved = [file for place in places for file in found_captures(pathlib.Path(place))]
    assert all(file.is_relative_to(own_temporary) for file in saved)
    assert any("kept 19999" in event_names(file) for file in saved), said
    assert_jax_can_trace(tmp_path / "after")


def test_sixty_one_captures_grow_nothing(tmp_path: pathlib.Path) -> None:
    code = """
import os, sys, threading
import jax.numpy as jnp
from dew.telemetry.profile import profile, region
def facts():
    pages = int(open("/proc/self/statm").read().split()[1])
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), pages * 4096
x = jnp.ones((8, 8))
profiler = profile(sys.argv[1])
for number in range(61):
    with profiler, region("r"):
        (x @ x).block_until_ready()
    if number == 20:
        before = facts()
after = facts()
assert after[0] <= before[0], (before, after)
assert after[1] <= before[1], (before, after)
assert after[2] - before[2] < 8 << 20, (before, after)
"""
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 61


def test_reports_are_made_beside_the_capture(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEW_PROFILE_REPORTS")
    with profile(tmp_path) as profiler:
        work()
    assert profiler.reports == "wait"
    assert profiler.capture is not None
    index = json.loads((profiler.capture / "reports" / "reports.json").read_text())
    made = [report for report in index["reports"] if report["status"] in ("ok", "empty")]
    assert len(made) >= 5
    for report in made:
        assert (profiler.capture / "reports" / report["file"]).stat().st_size == report["bytes"]
    inside = {file.name for file in (profiler.capture / "plugins").rglob("*") if file.is_file()}
    assert all(name.endswith(".xplane.pb") for name in inside)


def test_an_exporter_that_fails_is_a_warning(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEW_PROFILE_REPORTS", "wait")
    killed = tmp_path / "killed"
    killed.write_text("#!/bin/sh\nkill -KILL $$\n")
    killed.chmod(0o755)
    monkeypatch.setenv("DEW_PROFILE_PROGRAM", str(killed))
    with pytest.warns(RuntimeWarning), profile(tmp_path / "root") as profiler:
        work()
    assert profiler.capture is not None
    assert state_of(profiler.capture) == "captured"


def test_reports_takes_only_its_three_words(monkeypatch: pytest.MonkeyPatch) -> None:
    profiler = Profiler()
    with pytest.raises(ValueError, match="background"):
        profiler.reports = "sometimes"  # type: ignore[assignment]
    monkeypatch.setenv("DEW_PROFILE_REPORTS", "sometimes")
    with pytest.raises(ValueError, match="DEW_PROFILE_REPORTS"):
        Profiler().start()
    assert active_profile() is None


def test_what_a_path_object_raises_comes_through() -> None:
    class Path:
        def __fspath__(self) -> str:
            raise TypeError("the configuration says no")

    with pytest.raises(TypeError, match="the configuration says no"):
        Profiler(Path())


def test_a_path_too_long_for_the_file_is_refused_at_start(tmp_path: pathlib.Path) -> None:
    long = tmp_path
    while len(str(long)) < 3700:
        long /= "d" * 200
    long /= "d" * (4000 - len(str(long)))
    profiler = profile(long)
    with pytest.raises(OSError, match="File name too long"):
        profiler.start()
    assert not list(tmp_path.iterdir())
    assert_jax_can_trace(tmp_path / "after")


AT_EXIT = """
import atexit, sys
import jax
from dew.telemetry.profile import Profiler
atexit.register(lambda: Profiler(sys.argv[1]).start())
"""


def test_a_first_start_while_the_program_ends_is_warned_about(tmp_path: pathlib.Path) -> None:
    done = run_python(AT_EXIT, tmp_path)
    assert "too late to be stopped for you" in done.stderr

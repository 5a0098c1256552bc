# SPDX-License-Identifier: Apache-2.0
"""How a capture ends: both ways out of JAX, what goes wrong on the way, and what the manifest says."""

from __future__ import annotations

import datetime
import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax._src.profiler
import jax.numpy as jnp
import pytest
from captures import event_names, run_python

from dew.telemetry.profile import Profiler, active_profile, capture_options, profile, region

STATE = jax._src.profiler._profile_state


@pytest.fixture(autouse=True)
def no_reports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reports have their own tests; here they would only cost time. One test's failure is not the
    next one's."""
    monkeypatch.setenv("DEW_PROFILE_REPORTS", "off")
    yield
    left = active_profile()
    if left is not None:
        left.stop()


@jax.jit
def product(x: jax.Array) -> jax.Array:
    return x @ x


def work() -> None:
    with region("work"):
        for _ in range(8):
            product(jnp.ones((64, 64))).block_until_ready()


def manifest_of(profiler: Profiler) -> dict[str, Any]:
    assert profiler.capture is not None
    return dict(json.loads((profiler.capture / "manifest.json").read_text()))


def ops_of(folder: pathlib.Path) -> int:
    (file,) = folder.rglob("*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(file))
    events = [event for plane in data.planes for line in plane.lines for event in line.events]
    return sum(any(name == "hlo_op" for name, _ in event.stats) for event in events)


def names_of(folder: pathlib.Path) -> Counter[str]:
    return Counter(event_names(folder))


def assert_capturing_works(folder: pathlib.Path) -> None:
    with profile(folder) as profiler:
        work()
    assert profiler.capture is not None
    assert names_of(profiler.capture)["work"] == 1
    assert active_profile() is None


class OnlyAContext:
    """A lock of another shape: JAX itself only ever uses it in a `with`."""

    def __init__(self, lock: Any) -> None:
        self.lock = lock

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def hide_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX's state then has no shape that is known, and the public stop_trace() must do."""
    monkeypatch.setattr(STATE, "lock", OnlyAContext(STATE.lock))


def wrap_stop(wrapper: Callable[[Callable[[], bytes]], bytes]) -> None:
    """The running session gives what `wrapper` makes of its stop()."""

    class Session:
        def __init__(self, real: Any) -> None:
            self.real = real

        def stop(self) -> bytes:
            return wrapper(self.real.stop)

    if hasattr(STATE, "session"):  # jax 0.12
        STATE.session._raw_session = Session(STATE.session._raw_session)
    else:
        STATE.profile_session = Session(STATE.profile_session)


def replace_bytes(data: bytes) -> None:
    """The running session gives `data` when it is stopped: JAX does not fail so on request."""

    def replaced(stop: Callable[[], bytes]) -> bytes:
        stop()
        return data

    wrap_stop(replaced)


@pytest.mark.parametrize("in_thread", [False, True])
def test_jax_collects_in_the_thread_that_stops(tmp_path: pathlib.Path, in_thread: bool) -> None:
    """A new thread's memory would come on top of what the program has freed before: a million
    events then took half as much again."""
    seen = []

    def noted(stop: Callable[[], bytes]) -> bytes:
        seen.append(threading.get_ident())
        return stop()

    profiler = profile(tmp_path).start()
    wrap_stop(noted)
    if in_thread:
        thread = threading.Thread(target=profiler.stop)
        thread.start()
        expected = thread.ident
        thread.join()
    else:
        expected = threading.get_ident()
        profiler.stop()
    assert seen == [expected]
    assert next(tmp_path.rglob("*.xplane.pb")).stat().st_size > 0


# ---- the two ways --------------------------------------------------------------------------------


def test_both_ways_give_the_same_events(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work()
    seen = {}
    for way in ("session", "stop_trace"):
        if way == "stop_trace":
            hide_the_session(monkeypatch)
        with profile(tmp_path / way) as profiler:
            work()
        assert manifest_of(profiler)["stopped_by"] == way
        assert profiler.capture is not None
        assert [
            file.name for file in profiler.capture.iterdir() if file.name != "manifest.json"
        ] == ["plugins"]
        seen[way] = names_of(profiler.capture)
    for name in ("work", "PjitFunction(product)"):
        assert seen["session"][name] == seen["stop_trace"][name] > 0
    ops = [ops_of(tmp_path / way) for way in seen]
    assert ops[0] == ops[1] >= 8


def test_a_failed_stop_trace_leaves_jax_usable(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Field notes 2 and 5: on jax 0.10 one failed stop_trace() wedged every later start and stop."""
    hide_the_session(monkeypatch)
    profiler = profile(tmp_path / "root").start()
    work()

    def refuse() -> None:
        raise OSError("no space, says the test")

    with monkeypatch.context() as broken:
        broken.setattr(jax.profiler, "stop_trace", refuse)
        with pytest.raises(OSError, match="no space, says the test"):
            profiler.stop()
    assert manifest_of(profiler)["state"] == "failed"
    monkeypatch.undo()
    assert_capturing_works(tmp_path / "after")


def test_a_trace_that_was_ended_by_someone_else(tmp_path: pathlib.Path) -> None:
    """What JAX wrote when it was told so is taken as the capture all the same."""
    profiler = profile(tmp_path / "root").start()
    work()
    jax.profiler.stop_trace()
    with pytest.raises(RuntimeError, match="ended by someone else"):
        profiler.stop()
    assert manifest_of(profiler)["state"] == "captured"
    assert profiler.capture is not None
    assert names_of(profiler.capture)["work"] == 1
    assert_capturing_works(tmp_path / "after")


# ---- what JAX may give ---------------------------------------------------------------------------


def test_an_empty_capture_names_the_likely_cause(tmp_path: pathlib.Path) -> None:
    """Field note 1: past 2 GiB JAX gives 0 bytes and reports success."""
    profiler = profile(tmp_path / "root").start()
    replace_bytes(b"")
    with pytest.raises(RuntimeError, match=r"2 GiB.*host_tracer_level"):
        profiler.stop()
    manifest = manifest_of(profiler)
    assert manifest["state"] == "failed"
    assert "2 GiB" in manifest["error"]
    assert_capturing_works(tmp_path / "after")


def test_a_torn_capture_is_kept_and_refused(tmp_path: pathlib.Path) -> None:
    profiler = profile(tmp_path / "root").start()
    torn = b"\x0a\xff\x01abc"  # a plane of 255 bytes, of which three are there
    replace_bytes(torn)
    with pytest.raises(RuntimeError, match="cannot be read"):
        profiler.stop()
    assert profiler.capture is not None
    (file,) = profiler.capture.rglob("*.xplane.pb")
    assert file.read_bytes() == torn
    assert manifest_of(profiler)["state"] == "failed"
    assert_capturing_works(tmp_path / "after")


@pytest.mark.skipif(
    os.environ.get("DEW_PROFILE_TEST_2GIB") != "1",
    reason="needs 12 GB of memory and minutes; DEW_PROFILE_TEST_2GIB=1 runs it",
)
def test_past_two_gibibytes(tmp_path: pathlib.Path) -> None:
    """Field note 1, for real: 515 names of 4 MiB each."""
    profiler = profile(tmp_path / "root").start()
    for number in range(515):
        with region(f"{number:08d}" * (4 << 17)):
            pass
    with pytest.raises(RuntimeError, match="2 GiB"):
        profiler.stop()
    assert manifest_of(profiler)["state"] == "failed"
    assert_capturing_works(tmp_path / "after")


# ---- errors on the way ---------------------------------------------------------------------------


# In a process of its own: JAX keeps the failure of a callback for as long as the process lives.
FAILING = """
import json, pathlib, sys, warnings
import jax, jax._src.profiler
import jax.numpy as jnp
from dew.telemetry.profile import active_profile, profile, region

def fail(_):
    raise ValueError("failed on purpose")

@jax.jit
def failing(x):
    return jax.pure_callback(fail, jax.ShapeDtypeStruct((), x.dtype), x[0, 0])

@jax.jit
def long(x):  # JAX runs a callback at once where its input is ready
    for _ in range(8):
        x = jnp.tanh(x @ x)
    return x

x = jnp.ones((1024, 1024))
failing.lower(x).compile()
early, torn = "early" in sys.argv, "torn" in sys.argv
kept = failing(long(x)) if early else None
said = []
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    profiler = profile(sys.argv[1]).start()
    with region("work"):
        pass
    if not early:
        kept = failing(long(x))
    if torn:
        state = jax._src.profiler._profile_state
        holder, name = ((state.session, "_raw_session") if hasattr(state, "session")
                        else (state, "profile_session"))
        class Torn:
            real = getattr(holder, name)
            def stop(self):
                self.real.stop()
                return b""
        setattr(holder, name, Torn())
    try:
        profiler.stop()
    except ExceptionGroup as group:
        said = [str(error) for error in group.exceptions]
    except Exception as error:
        said = [str(error)]
assert active_profile() is None
manifest = json.loads((profiler.capture / "manifest.json").read_text())
print(json.dumps({"raised": said, "state": manifest["state"], "error": manifest["error"],
                  "warned": [str(warning.message) for warning in warned]}))
"""


def run_failing(folder: pathlib.Path, *how: str) -> dict[str, Any]:
    done = run_python(FAILING, folder, *how, timeout=60)
    done.check_returncode()
    return dict(json.loads(done.stdout))


def test_a_computation_that_fails_while_stop_waits(tmp_path: pathlib.Path) -> None:
    end = run_failing(tmp_path)
    (said,) = end["raised"]  # once, although the array and JAX's effects both tell it
    assert "failed on purpose" in said
    assert "failed on purpose" in end["error"]
    assert (end["state"], end["warned"]) == ("captured", [])
    assert names_of(tmp_path / "capture-0001")["work"] == 1


def test_two_errors_come_as_a_group(tmp_path: pathlib.Path) -> None:
    end = run_failing(tmp_path, "torn")
    first, second = end["raised"]
    assert "failed on purpose" in first
    assert "2 GiB" in second
    assert end["state"] == "failed"


def test_work_that_failed_before_start(tmp_path: pathlib.Path) -> None:
    """JAX keeps old failures, so they must neither refuse a capture nor fail its stop."""
    end = run_failing(tmp_path, "early")
    (warned,) = end["warned"]
    assert warned.startswith("work that was dispatched before the capture failed")
    assert "failed on purpose" in warned
    assert (end["raised"], end["error"], end["state"]) == ([], None, "captured")
    assert names_of(tmp_path / "capture-0001")["work"] == 1


def test_errors_of_stop_become_notes_on_the_bodys(tmp_path: pathlib.Path) -> None:
    """Field note 4."""
    profiler = profile(tmp_path)
    with pytest.raises(KeyError, match="mine") as raised, profiler:
        replace_bytes(b"")
        raise KeyError("mine")
    assert any("2 GiB" in note for note in raised.value.__notes__)
    manifest = manifest_of(profiler)
    assert (manifest["body_raised"], manifest["body_error"]) == (True, "KeyError")


def test_arrays_deleted_and_donated_are_no_error(tmp_path: pathlib.Path) -> None:
    donate = jax.jit(lambda x: x + 1, donate_argnums=0)
    with profile(tmp_path) as profiler:
        deleted, donated = jnp.ones(3), jnp.ones(3)
        deleted.delete()
        kept = donate(donated)
    assert manifest_of(profiler)["error"] is None
    assert kept[0] == 2


# ---- signals, exit, reports ----------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_is_refused_at_start(tmp_path: pathlib.Path) -> None:
    """Field note 8. Root may write anywhere but on a disk that is mounted read-only."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    mounted = False
    if os.geteuid() == 0:
        mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", str(folder)]
        mounted = subprocess.run(mount, capture_output=True).returncode == 0
        if not mounted:
            pytest.skip("root, and nothing can be mounted here")
    try:
        with pytest.raises(OSError, match="closed"):
            profile(folder / "root").start()
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)
    assert_capturing_works(tmp_path / "after")


# ---- what is told --------------------------------------------------------------------------------


def test_the_log_says_begin_and_end(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Field note 28: a long stop gives a sign of life, and what it did."""
    caplog.set_level(logging.INFO, logger="dew.telemetry.profile")
    with profile(tmp_path) as profiler:
        work()
    assert profiler.capture is not None
    (file,) = profiler.capture.rglob("*.xplane.pb")
    begin, end = [record.getMessage() for record in caplog.records]
    assert begin == f"stopping the capture in {profiler.capture}"
    assert end.startswith(f"saved {file.stat().st_size} bytes in ")
    assert str(file) in end


def test_the_manifest_is_complete(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_test_only=1")
    options = capture_options()
    options.host_tracer_level = 1
    options.python_tracer_level = 0  # an explicit 0 is no default (field note 11)
    before = datetime.datetime.now(datetime.UTC)
    with profile(tmp_path, options=options) as profiler:
        running = manifest_of(profiler)
        for name in ("second", "first", "second"):
            with region(name):
                work()
    after = datetime.datetime.now(datetime.UTC)
    assert (running["state"], running["capture"]["bytes"]) == ("capturing", None)
    manifest = manifest_of(profiler)
    assert profiler.capture is not None
    file = profiler.capture / manifest["capture"]["file"]
    assert (manifest["schema"], manifest["state"]) == (1, "captured")
    assert manifest["capture"]["root"] == str(tmp_path)
    assert manifest["capture"]["folder"] == str(profiler.capture)
    assert manifest["capture"]["bytes"] == file.stat().st_size
    started, stopped = [
        datetime.datetime.fromisoformat(manifest["times"][key])
        for key in ("started_utc", "stopped_utc")
    ]
    assert before <= started <= stopped <= after
    elapsed = manifest["times"]["stopped_monotonic_ns"] - manifest["times"]["started_monotonic_ns"]
    assert abs(elapsed / 1e9 - (stopped - started).total_seconds()) < 0.5
    phases = {"prepare", "drain_at_start", "start", "drain_at_stop", "stop", "save"}
    assert set(manifest["durations_s"]) == phases
    assert all(0 <= seconds < 60 for seconds in manifest["durations_s"].values())
    assert manifest["versions"]["jax"] == jax.__version__
    assert manifest["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert set(manifest["versions"]) == {
        "dew-telemetry-profile",
        "jax",
        "jaxlib",
        "python",
        "xprof",
    }
    assert manifest["backend"]["platform"] == "cpu"
    assert manifest["backend"]["device_kinds"] == {"cpu": jax.device_count()}
    assert manifest["process"] == {
        "index": 0,
        "count": 1,
        "host": os.uname().nodename,
        "pid": os.getpid(),
    }
    assert manifest["options"]["host_tracer_level"] == 1
    assert manifest["options"]["python_tracer_level"] == 0
    assert manifest["options"]["enable_hlo_proto"] is True
    assert manifest["command_line"] == sys.orig_argv
    assert manifest["xla_flags"] == "--xla_test_only=1"
    assert manifest["regions"] == ["second", "work", "first"]
    assert (manifest["body_raised"], manifest["error"]) == (False, None)
    assert any(command.startswith("dew-profile summary ") for command in manifest["view"])


def test_an_option_that_jax_does_not_know_is_refused(tmp_path: pathlib.Path) -> None:
    """Field note 11: jax 0.10.2 takes it and ignores it; 0.12 refuses it itself."""
    options = capture_options()
    try:
        options.host_tracer_levle = 3  # type: ignore[attr-defined]
    except AttributeError:
        return
    with pytest.raises(ValueError, match="host_tracer_levle"):
        profile(tmp_path, options=options).start()
    assert active_profile() is None


def test_warnings_name_the_line_that_stops(tmp_path: pathlib.Path) -> None:
    profiler = profile(tmp_path).start()
    left = region("left open")
    left.__enter__()
    with pytest.warns(RuntimeWarning, match="left open") as caught:
        line = sys._getframe().f_lineno + 1
        profiler.stop()
    left.__exit__(None, None, None)
    assert [(warning.filename, warning.lineno) for warning in caught] == [(__file__, line)]


def test_an_error_names_a_path_of_any_bytes(
    tmp_path: pathlib.Path, own_temporary: pathlib.Path
) -> None:
    root = tmp_path / os.fsdecode(b"caf\xe9") / ("\u65e5" * 70)
    profiler = profile(root).start()
    with pytest.raises(RuntimeError, match="is running already") as refused:
        profile(tmp_path).start()
    assert "caf\udce9" in str(refused.value)
    shutil.rmtree(root)
    with pytest.raises(FileNotFoundError, match="was saved to") as moved:
        profiler.stop()
    assert "caf\udce9" in str(moved.value)
    assert profiler.capture is not None
    assert profiler.capture.parent == own_temporary
    assert list(profiler.capture.rglob("*.xplane.pb"))

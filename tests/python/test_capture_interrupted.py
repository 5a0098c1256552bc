# SPDX-License-Identifier: Apache-2.0
"""Stops that the program's own signal handlers, its recursion or its open files get in the way of."""

from __future__ import annotations

import json
import os
import pathlib
import signal
from collections.abc import Iterator
from typing import Any

import jax
import jax._src.profiler
import jax.numpy as jnp
import pytest
from captures import event_names, run_python

from dew.telemetry.profile import Profiler, active_profile, profile, region

STATE = jax._src.profiler._profile_state


class Deadline(Exception):
    """What a program's handler of SIGALRM raises, as the common idiom is."""


class Stop(BaseException):
    """What one raises that wants to end the program."""


@pytest.fixture(autouse=True)
def no_reports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nor is one test's failure the next one's."""
    monkeypatch.setenv("DEW_PROFILE_REPORTS", "off")
    yield
    left = active_profile()
    if left is not None:
        left.stop()


@pytest.fixture(params=[Deadline, Stop, KeyboardInterrupt])
def raised(request: pytest.FixtureRequest) -> Iterator[type[BaseException]]:
    """SIGALRM raises this."""
    kind: type[BaseException] = request.param

    def handler(*_: Any) -> None:
        raise kind("by the handler")

    before = signal.signal(signal.SIGALRM, handler)
    yield kind
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@jax.jit
def long_product(x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 40, lambda _, y: jnp.tanh(y @ y), x)


def pending() -> jax.Array:
    """Work of half a second or more, compiled before."""
    x = jnp.ones((700, 700))
    long_product(x).block_until_ready()
    return long_product(x)


def assert_saved(profiler: Profiler) -> None:
    capture = profiler.capture
    assert capture is not None
    assert json.loads((capture / "manifest.json").read_text())["state"] == "captured"
    assert "work" in event_names(capture)


def assert_jax_can_trace(folder: pathlib.Path) -> None:
    with profile(folder):
        pass
    jax.profiler.start_trace(folder / "plain")
    jax.profiler.stop_trace()


def test_a_handler_raises_while_the_trace_is_ended(
    tmp_path: pathlib.Path, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the step without which JAX would believe for ever that it traces."""
    reset = STATE.reset

    def interrupted_reset() -> None:
        os.kill(os.getpid(), signal.SIGALRM)
        reset()

    profiler = profile(tmp_path).start()
    with region("work"):
        pass
    with monkeypatch.context() as patch:
        patch.setattr(STATE, "reset", interrupted_reset)
        with pytest.raises(raised, match="by the handler"):
            profiler.stop()
    assert_saved(profiler)
    assert_jax_can_trace(tmp_path / "after")


def test_a_handler_raises_while_stop_waits_for_work(
    tmp_path: pathlib.Path, raised: type[BaseException]
) -> None:
    profiler = profile(tmp_path).start()
    with region("work"):
        result = pending()
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(raised, match="by the handler"):
        profiler.stop()
    assert_saved(profiler)
    result.block_until_ready()
    assert_jax_can_trace(tmp_path / "after")


def test_a_handler_raises_while_start_waits_for_work(
    tmp_path: pathlib.Path, raised: type[BaseException]
) -> None:
    """It is no failure of earlier work, and start leaves nothing behind."""
    result = pending()
    profiler = profile(tmp_path / "never")
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(raised, match="by the handler"):
        profiler.start()
    assert not (tmp_path / "never").exists()
    result.block_until_ready()
    assert_jax_can_trace(tmp_path / "after")


def test_a_handler_raises_while_reports_are_made(
    tmp_path: pathlib.Path, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("DEW_PROFILE_PROGRAM", str(program))
    profiler = profile(tmp_path / "root")
    profiler.reports = "wait"
    profiler.start()
    with region("work"):
        pass
    jnp.ones(2).block_until_ready()
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    with pytest.raises(raised, match="by the handler"):
        profiler.stop()
    assert_saved(profiler)
    assert profiler.capture is not None
    manifest = json.loads((profiler.capture / "manifest.json").read_text())
    assert manifest["reports"]["state"] == "interrupted"


RECURSION = """
import json, pathlib, sys
import jax
from dew.telemetry.profile import Profiler, active_profile

def at_depth(left, call):
    return at_depth(left - 1, call) if left else call()

stopped = 0
for room in range(1, 40):
    profiler = Profiler(sys.argv[1])
    profiler.start()
    try:
        at_depth(sys.getrecursionlimit() - room, profiler.stop)
    except Exception:  # RecursionError, or a group of them
        pass
    if active_profile() is profiler:
        profiler.stop()
        continue
    stopped += 1
    manifest = json.loads((profiler.capture / "manifest.json").read_text())
    assert manifest["state"] == "captured", (room, manifest["error"])
    assert list(profiler.capture.rglob("*.xplane.pb")), room
assert stopped > 5
"""


def test_near_the_recursion_limit(tmp_path: pathlib.Path) -> None:
    done = run_python(RECURSION, tmp_path)
    assert done.returncode == 0, done.stderr


TAKE_ALL = """
import os, resource, sys
import jax
from dew.telemetry.profile import Profiler

def take_all_descriptors():
    limit = resource.RLIMIT_NOFILE
    resource.setrlimit(limit, (256, resource.getrlimit(limit)[1]))
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        return taken

"""

WITHOUT_FILES = (
    TAKE_ALL
    + """
profiler = Profiler(sys.argv[1]).start()
taken = take_all_descriptors()
try:
    profiler.stop()
except Exception:
    pass  # an error at most
for descriptor in taken:
    os.close(descriptor)
print(profiler.capture)
"""
)


def test_with_no_descriptor_left(tmp_path: pathlib.Path) -> None:
    places = {name: str(tmp_path / name) for name in ("HOME", "TMPDIR")}
    for place in places.values():
        pathlib.Path(place).mkdir()
    done = run_python(WITHOUT_FILES, tmp_path / "root", **places)
    assert done.returncode == 0, done.stderr
    capture = tmp_path / "root" / "capture-0001"
    assert done.stdout.strip() == str(capture)
    assert list(capture.rglob("*.xplane.pb"))
    assert json.loads((capture / "manifest.json").read_text())["state"] == "captured"
    assert not [path for place in places.values() for path in pathlib.Path(place).iterdir()]


WITHOUT_FILES_AT_START = (
    TAKE_ALL
    + """
with Profiler(sys.argv[1] + "/before"):
    pass
taken = take_all_descriptors()
try:
    Profiler(sys.argv[1] + "/never").start()
except OSError as error:
    print(error)
"""
)


def test_a_start_with_no_descriptor_left_leaves_nothing(tmp_path: pathlib.Path) -> None:
    done = run_python(WITHOUT_FILES_AT_START, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Too many open files" in done.stdout
    assert not (tmp_path / "never").exists()

# SPDX-License-Identifier: Apache-2.0
"""Regions: the same to read and to misuse whether or not anything captures, and exact in the trace."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import pathlib
import sys
import threading
import time
import tracemalloc
import warnings
from collections.abc import Iterator

import jax
import pytest
from captures import event_names

from dew.telemetry.profile import Profiler, profile, region


@contextlib.contextmanager
def capturing(folder: pathlib.Path) -> Iterator[Profiler]:
    p = profile(folder)
    p.reports = "off"
    with p:
        yield p


@contextlib.contextmanager
def state(name: str, folder: pathlib.Path) -> Iterator[None]:
    with capturing(folder) if name == "tracing" else contextlib.nullcontext():
        yield


def spans(p: Profiler) -> list[tuple[str, int, int]]:
    """(name, start, duration in ns) of each host event of the newest capture, in order of start."""
    assert p.capture is not None
    (path,) = p.capture.rglob("*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(path))
    return sorted(
        (
            (event.name, int(event.start_ns), int(event.duration_ns))
            for plane in data.planes
            if plane.name == "/host:CPU"
            for line in plane.lines
            for event in line.events
        ),
        key=lambda span: span[1],
    )


def named(p: Profiler, *names: str) -> list[str]:
    return [name for name, _, _ in spans(p) if name in names]


def manifest(p: Profiler) -> dict[str, object]:
    assert p.capture is not None
    return json.loads((p.capture / "manifest.json").read_text())  # type: ignore[no-any-return]


STATES = pytest.mark.parametrize("when", ["idle", "tracing"])


# ---- names ---------------------------------------------------------------------------------------


@STATES
@pytest.mark.parametrize(
    "name", ["loss#1#", "a#k=v#", "#", "a\0b", "\0", "\ud800", "x\udfffy", "ü" * 1000 + "#"]
)
def test_names_that_the_trace_would_change(when: str, name: str, tmp_path: pathlib.Path) -> None:
    with state(when, tmp_path):
        for _ in range(2):  # a refused name is not remembered as a good one
            with pytest.raises(ValueError, match="region name"):
                region(name)


@STATES
@pytest.mark.parametrize("name", [None, 3, b"x", ["x"], pathlib.Path("x")])
def test_names_that_are_no_str(when: str, name: object, tmp_path: pathlib.Path) -> None:
    with state(when, tmp_path), pytest.raises(TypeError, match="must be str"):
        region(name)  # type: ignore[arg-type]


@STATES
def test_wrong_calls(when: str, tmp_path: pathlib.Path) -> None:
    with state(when, tmp_path):
        for args, kwargs in (
            ((), {}),
            (("a", "b"), {}),
            (("a",), {"name": "b"}),
            ((), {"label": "a"}),
        ):
            with pytest.raises(TypeError):
                region(*args, **kwargs)


class Odd(str):
    """A str that lies about itself: only its characters count."""

    def __hash__(self) -> int:
        raise AssertionError("hashed")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")


GOOD = [
    "",
    " ",
    "plain",
    "a#b",
    "#a",
    "input.wait",
    "ünïcode ✓ 漢字 🎉",
    "line\nbreak\ttab",
    "quote\"'\\",
    "%s%n%d",
    "<b>&amp;</b>",
    "$python",
    "a" * 70_000,
]


def test_names_are_exact(tmp_path: pathlib.Path) -> None:
    with capturing(tmp_path) as p:
        for name in [*GOOD, Odd("odd")]:
            with region(name):
                pass
    assert named(p, *GOOD, "odd") == [*GOOD, "odd"]
    assert manifest(p)["regions"] == [*GOOD, "odd"]


def test_name_by_keyword(tmp_path: pathlib.Path) -> None:
    with region(name="k"):
        pass
    with capturing(tmp_path) as p, region(name="k"), p.region(name="m"):
        pass
    assert named(p, "k", "m") == ["k", "m"]


# ---- the context manager -------------------------------------------------------------------------


@STATES
def test_gives_none_and_lets_exceptions_pass(when: str, tmp_path: pathlib.Path) -> None:
    with state(when, tmp_path):
        with region("r") as nothing:
            assert nothing is None
        error = KeyError("mine")
        with pytest.raises(KeyError) as caught, region("r"):
            raise error
        assert caught.value is error
        assert isinstance(region("r"), contextlib.AbstractContextManager)


@STATES
def test_exit_stack(when: str, tmp_path: pathlib.Path) -> None:
    """ExitStack calls type(x).__enter__(x), `with` calls it bound."""
    with state(when, tmp_path), contextlib.ExitStack() as stack:
        assert stack.enter_context(region("a")) is None
        assert stack.enter_context(region("b")) is None


def test_idle_is_one_object() -> None:
    assert region("a") is region("b")


def test_idle_allocates_nothing() -> None:
    names = ["input.wait", "ü" * 100]
    for name in names:
        region(name)

    def loop(count: int) -> None:
        for _ in range(count):
            for name in names:
                with region(name):
                    pass

    loop(10)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        loop(1000)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 1024
    assert peak - before < 1024  # not even a method object that is gone again
    blocks = sys.getallocatedblocks()
    loop(10_000)
    assert abs(sys.getallocatedblocks() - blocks) < 10


def test_names_are_given_back() -> None:
    """Names checked lately are remembered, but only a few, and none that is long."""
    before = sys.getallocatedblocks()
    for i in range(20_000):
        region(f"name {i}")
    assert sys.getallocatedblocks() - before < 500


def test_again_after_it_was_left(tmp_path: pathlib.Path) -> None:
    with capturing(tmp_path) as p:
        r = region("again")
        for _ in range(3):
            with r:
                pass
    assert named(p, "again") == ["again"] * 3
    with r, contextlib.suppress(KeyError):  # nothing captures now
        pass
    with p, r:  # and in a later capture it spans again
        pass
    assert named(p, "again") == ["again"]


def test_entered_twice(tmp_path: pathlib.Path) -> None:
    with capturing(tmp_path) as p:
        r = region("twice")
        with r:
            with pytest.raises(RuntimeError, match="'twice' is entered already"):
                r.__enter__()
        with pytest.raises(RuntimeError, match="without having been entered"):
            r.__exit__(None, None, None)
    assert named(p, "twice") == ["twice"]


def test_nested_and_overlapping(tmp_path: pathlib.Path) -> None:
    with capturing(tmp_path) as p:
        with region("outer"), region("outer"), region("inner"):
            time.sleep(0.001)
        first, second = region("first"), region("second")
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        second.__exit__(None, None, None)
    assert named(p, "outer", "inner") == ["outer", "outer", "inner"]
    found = {name: (start, start + duration) for name, start, duration in spans(p)}
    assert found["first"][0] < found["second"][0] < found["first"][1] < found["second"][1]


def test_asyncio_overlap(tmp_path: pathlib.Path) -> None:
    async def task(name: str, pause: float) -> None:
        with region(name):
            await asyncio.sleep(pause)

    async def both() -> None:
        await asyncio.gather(task("slow", 0.05), task("quick", 0.01), task("quick", 0.02))

    with capturing(tmp_path) as p:
        asyncio.run(both())
    durations = sorted(
        (name, duration) for name, _, duration in spans(p) if name in ("slow", "quick")
    )
    assert [name for name, _ in durations] == ["quick", "quick", "slow"]
    assert durations[0][1] >= 9e6
    assert durations[1][1] >= 19e6
    assert durations[2][1] >= 49e6


def test_left_on_another_thread(tmp_path: pathlib.Path) -> None:
    with capturing(tmp_path) as p:
        r = region("moved")
        r.__enter__()
        time.sleep(0.005)
        thread = threading.Thread(target=r.__exit__, args=(None, None, None))
        thread.start()
        thread.join()
    (span,) = [span for span in spans(p) if span[0] == "moved"]
    assert span[2] >= 5e6


def test_many_threads(tmp_path: pathlib.Path) -> None:
    def work(name: str) -> None:
        for _ in range(200):
            with region(name), region("shared"):
                pass

    with capturing(tmp_path) as p:
        threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    names = [name for name, _, _ in spans(p)]
    assert names.count("shared") == 1600
    assert all(names.count(f"t{i}") == 200 for i in range(8))


def test_dropped_while_open(tmp_path: pathlib.Path) -> None:
    def generator() -> Iterator[int]:
        with region("generator"):
            yield 1

    with capturing(tmp_path) as p:
        g = generator()
        next(g)
        g.close()
        r = region("dropped")
        r.__enter__()
        del r
    assert named(p, "generator", "dropped") == ["generator", "dropped"]


# ---- captures ------------------------------------------------------------------------------------


def test_open_at_stop_is_named_in_a_warning(tmp_path: pathlib.Path) -> None:
    p = profile(tmp_path)
    p.reports = "off"
    p.start()
    with region("done"):
        pass
    r = region("left.open")
    r.__enter__()
    with pytest.warns(RuntimeWarning, match="left.open") as caught:
        p.stop()
    assert not any("done" in str(w.message) for w in caught)
    with p:  # left inside a later capture: it belongs to neither
        r.__exit__(None, None, None)
    assert named(p, "left.open") == []


def test_profiler_region_spans_only_while_that_profiler_captures(tmp_path: pathlib.Path) -> None:
    other = profile(tmp_path / "other")
    with capturing(tmp_path / "mine") as p:
        mine, theirs = p.region("mine"), other.region("theirs")
        with mine, theirs:
            pass
    assert named(p, "mine", "theirs") == ["mine"]
    assert manifest(p)["regions"] == ["mine"]
    other.reports = "off"
    with other, mine, theirs, other.region("fresh"):
        pass
    assert named(other, "mine", "theirs", "fresh") == ["theirs", "fresh"]
    with p, mine:
        pass
    assert named(p, "mine") == ["mine"]


def test_names_of_one_capture_only(tmp_path: pathlib.Path) -> None:
    with capturing(tmp_path) as p:
        for _ in range(3):
            with region("b"), region("a"):
                pass
    assert manifest(p)["regions"] == ["b", "a"]
    with p, region("c"):
        pass
    assert manifest(p)["regions"] == ["c"]


def test_forked_child_is_silent(tmp_path: pathlib.Path) -> None:
    with capturing(tmp_path) as p:
        inherited = region("inherited")
        with inherited:
            child = os.fork()
            if child == 0:
                try:
                    with region("in.child"):
                        same = region("a") is region("b")
                    inherited.__exit__(None, None, None)
                    os._exit(0 if same else 3)
                finally:
                    os._exit(4)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert named(p, "inherited", "in.child") == ["inherited"]


def test_inside_jit_it_counts_once(tmp_path: pathlib.Path) -> None:
    """Field note 26."""

    @jax.jit
    def double(x: jax.Array) -> jax.Array:
        with region("traced"):
            return x * 2

    with capturing(tmp_path) as p:
        for _ in range(5):
            double(jax.numpy.ones(3)).block_until_ready()
    assert named(p, "traced") == ["traced"]


@pytest.mark.parametrize("raw", [True, False])
def test_trace_me_of_a_version_not_seen_yet(
    raw: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later versions may start in __enter__ and not when made: then the methods are called."""
    import jaxlib

    if not raw:
        monkeypatch.setattr(jaxlib, "__version__", "99.0")
    with capturing(tmp_path) as p, region("outer"):
        with region("r"):
            time.sleep(0.002)
        time.sleep(0.002)
    found = {name: duration for name, _, duration in spans(p)}
    assert 2e6 <= found["r"] < found["outer"]


def test_open_in_one_capture_is_not_open_in_the_next(tmp_path: pathlib.Path) -> None:
    def held() -> Iterator[None]:
        with region("held"):
            yield

    generator = held()
    profiler = profile(tmp_path)
    with pytest.warns(RuntimeWarning, match="'held'"), profiler:
        next(generator)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with profiler:
            pass


def test_a_second_copy_of_the_module_has_no_part_in_the_capture(tmp_path: pathlib.Path) -> None:
    name = "dew.telemetry.profile"
    first = sys.modules.pop(name)
    try:
        second = importlib.import_module(name)
        assert second is not first
        with profile(tmp_path) as profiler:
            with second.region("of the second"):
                pass
            with region("of the first"):
                pass
            assert second.active_profile() is None
    finally:
        sys.modules[name] = first
    assert profiler.capture is not None
    names = event_names(profiler.capture)
    assert "of the first" in names
    assert "of the second" not in names


def test_a_subclass_without_the_init_of_its_base(tmp_path: pathlib.Path) -> None:
    class Careless(Profiler):
        def __init__(self) -> None:
            pass

    careless = Careless()
    with profile(tmp_path) as profiler, careless.region("not mine"):
        pass
    assert profiler.capture is not None
    assert "not mine" not in event_names(profiler.capture)

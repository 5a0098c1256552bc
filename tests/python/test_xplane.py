# SPDX-License-Identifier: Apache-2.0
"""The C reader against jax.profiler.ProfileData: each event, time, name and sum of captures."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.profiler import ProfileData

from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tools"))
import mktrace  # noqa: E402
import mktrace_big  # noqa: E402

RECIPES = sorted((REPOSITORY / "tests" / "recipes").glob("*.txt"))


@pytest.fixture(scope="session")
def dump_program() -> pathlib.Path:
    """The test program xplane_dump: DEW_XPLANE_DUMP, else the one of a build folder in the tree."""
    named = os.environ.get("DEW_XPLANE_DUMP")
    built = sorted(REPOSITORY.glob("build*/**/tests/unit/xplane_dump"))
    if named:
        return pathlib.Path(named)
    if not built:
        pytest.skip("xplane_dump is not built; `make test-native` builds it")
    return built[0]


def dump(program: pathlib.Path, path: pathlib.Path, *mode: str) -> list[dict[str, Any]]:
    done = subprocess.run([program, path, *mode], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def bytes_of(text: str) -> str:
    """The dump writes one code point a byte; ProfileData decodes UTF-8."""
    return text.encode("latin-1").decode("utf-8", "replace")


def compare(program: pathlib.Path, path: pathlib.Path) -> int:
    """Every line's name and count, and every event's name, start and duration; the event count."""
    seen = dump(program, path, "events")
    lines = [row for row in seen if row["kind"] == "line"]
    events = iter([row for row in seen if row["kind"] == "event"])
    total = 0
    for plane in ProfileData.from_file(str(path)).planes:
        for theirs in plane.lines:
            ours = lines.pop(0)
            assert (bytes_of(ours["plane"]), bytes_of(ours["line"])) == (plane.name, theirs.name)
            count = 0
            total_ps = total_ns = cut_ns = 0
            for event in theirs.events:
                mine = next(events)
                assert bytes_of(mine["name"]) == event.name
                # ProfileData cuts durations to whole nanoseconds, which real ones are
                assert mine["duration_ps"] // 1000 == event.duration_ns
                if "occurrences" not in mine:
                    assert mine["start_ps"] / 1000 == pytest.approx(event.start_ns, rel=1e-15)
                count += 1
                total_ps += mine["duration_ps"]
                cut_ns += mine["duration_ps"] // 1000
                total_ns += event.duration_ns
            assert ours["events"] == ours["framed"] == count
            assert ours["sum_ps"] == total_ps
            assert cut_ns == total_ns
            total += count
    assert not lines
    assert next(events, None) is None
    assert seen[-1]["events"] == total
    return total


def merged_in_order(program: pathlib.Path, path: pathlib.Path) -> None:
    rows = dump(program, path, "merged")
    merged: dict[str, list[int]] = {}
    expected: dict[str, int] = {}
    plane = ""
    for row in rows:
        if row["kind"] == "plane":
            plane = str(len(expected))
            expected[plane] = 0
            merged[plane] = []
        elif row["kind"] == "line":
            expected[plane] += row["events"]
        elif row["kind"] == "event":
            merged[plane].append(row["start_ps"])
    for plane, starts in merged.items():
        assert starts == sorted(starts)
        assert len(starts) == expected[plane]


@pytest.mark.parametrize(
    ("name", "events"),
    [
        ("cpu-loop.xplane.pb", 27585),
        ("gpu-mi300-conv.xplane.pb", 3650),
        ("gpu-mi300-conv-2025.xplane.pb", 6024),
    ],
)
def test_shared_captures(
    dump_program: pathlib.Path, shared_captures: pathlib.Path, name: str, events: int
) -> None:
    assert compare(dump_program, shared_captures / name) == events
    merged_in_order(dump_program, shared_captures / name)


@pytest.mark.parametrize(
    ("name", "plane", "sum_us"),
    [
        ("gpu-mi300-conv.xplane.pb", "/device:GPU:0", "4000.165"),
        ("gpu-mi300-conv.xplane.pb", "/host:CPU", "1911823.171"),
        ("gpu-mi300-conv-2025.xplane.pb", "/device:GPU:7", "3586.493"),
        ("gpu-mi300-conv-2025.xplane.pb", "/host:CPU", "30816778.947"),
    ],
)
def test_shared_sums(
    dump_program: pathlib.Path, shared_captures: pathlib.Path, name: str, plane: str, sum_us: str
) -> None:
    rows = dump(dump_program, shared_captures / name)
    total = sum(r["sum_ps"] for r in rows if r["kind"] == "line" and r["plane"] == plane)
    assert f"{total / 1e6:.3f}" == sum_us


def test_a_capture_made_now(dump_program: pathlib.Path, tmp_path: pathlib.Path) -> None:
    step = jax.jit(lambda x: jnp.tanh(x @ x).sum())
    x = jnp.ones((64, 64))
    step(x).block_until_ready()
    with jax.profiler.trace(tmp_path):
        for i in range(20):
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                step(x).block_until_ready()
    (path,) = tmp_path.rglob("*.xplane.pb")
    assert compare(dump_program, path) > 100
    merged_in_order(dump_program, path)
    rows = dump(dump_program, path, "events")
    numbers = [dict(r["stats"])["step_num"] for r in rows if r.get("name") == "train"]
    assert numbers == list(range(20))
    assert rows[-1]["hostname"] != ""


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: str(path.stem))
def test_recipes(dump_program: pathlib.Path, tmp_path: pathlib.Path, recipe: pathlib.Path) -> None:
    path = tmp_path / "t.xplane.pb"
    path.write_bytes(mktrace.parse(recipe.read_text()).encode())
    assert compare(dump_program, path) > 0


def test_a_big_one_holds_what_it_says(dump_program: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "big.xplane.pb"
    facts = mktrace_big.write_big(path, 10_000)
    assert compare(dump_program, path) == facts.events
    rows = dump(dump_program, path, "events")
    ops = [r for r in rows if r["kind"] == "event" and any(s[0] == "hlo_op" for s in r["stats"])]
    assert len(ops) == facts.ops
    assert sum(r["duration_ps"] for r in ops) == facts.op_time_ps
    regions = [r["duration_ps"] for r in rows if r.get("name") == "region.compute"]
    assert (len(regions), sum(regions)) == (facts.steps, facts.region_total_ps)


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ("event x 0 1", "line 1: this belongs to a line"),
        ("plane p\nstat a", "line 2: no such statement"),
        ("plane p\nline l\nrepeat 2 every 1\nevent x 0 1", "line 3: this repeat has no end"),
        ("plane p\nline l\nevent x soon 1", "line 3: 'soon' is not a time"),
        ("plane p\nline l\nevent x 0.1ps 1", "line 3: 0.1 is not a whole number of picoseconds"),
        ("plane p\nline l\nevent {j} 0 1", "line 3: {j} is not a sum"),
        ("plane p colour=red", "line 1: 'colour=red' is none of id"),
    ],
)
def test_wrong_recipes_say_where(recipe: str, words: str) -> None:
    with pytest.raises(mktrace.RecipeError, match="^" + re.escape(words)):
        mktrace.parse(recipe)

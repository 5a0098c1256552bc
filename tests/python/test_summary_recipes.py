# SPDX-License-Identifier: Apache-2.0
"""Steps, names, sums and windows in `dew-profile summary`, on captures made from recipes."""

from __future__ import annotations

import re
import subprocess

import pytest
from recipes import CPU, MS, launch, op, region, start, stop


def test_a_cut_step_counts_the_ops_inside_the_window(answer):
    host = ["    event train 6ms 10ms step_num=1", launch(7, 1)]
    ops = [start(8, 1), op(8, 4, run=1), stop(13)]
    found = answer(CPU.format(window="10ms", host="\n".join(host), ops="\n".join(ops)))
    (step,) = found["steps"]["slowest"]
    assert step["cut"] and (step["duration_ps"], step["busy_ps"]) == (10 * MS, 2 * MS)
    assert found["devices"][0]["busy_ps"] == 2 * MS
    assert found["devices"][0]["op_time_ps"] == 4 * MS


STEPS = """
host h
window 0 100ms
plane /host:CPU
  line python id=1
    event train -5ms 10ms step_num=0
    event train 10ms 20ms step_num=1
    event train 30ms 10ms step_num=1
    event eval 45ms 5ms step_num=1
    event train 90ms 20ms step_num=4
"""


def test_cut_and_repeated_steps(answer):
    found = answer(STEPS)
    steps = found["steps"]
    assert (steps["count"], steps["cut"], steps["repeated"]) == (5, 2, 1)
    assert [(s["step"], s["cut"]) for s in steps["slowest"][:2]] == [(1, False), (4, True)]
    assert found["platform"] == "none" and found["devices"] == []
    assert "block_until_ready" in found["empty"]["devices"]
    assert "region" in found["empty"]["regions"]
    assert any("cut by an end" in w for w in found["warnings"])


@pytest.mark.parametrize(
    "numbers, repeated",
    [
        ([0, 1, 2, 3], 0),
        ([5, 6, 7, 6, 8, 5, 8], 3),
        ([3, 2, 1, 0, 2, 3], 2),
        ([1, 2, 9, 3, 4, 3, 9, 10], 2),
        ([-1, 0, 9223372036854775807, -9223372036854775808, 0], 1),
    ],
)
def test_repeated_numbers_are_counted(answer, numbers, repeated):
    events = [f"    event train {i}ms 1ms step_num={n}" for i, n in enumerate(numbers)]
    events += ["    event eval 90ms 1ms step_num=1", "    event eval 92ms 1ms step_num=1"]
    head = "\n".join(STEPS.splitlines()[:5])
    steps = answer("\n".join([head, *events]))["steps"]
    assert (steps["count"], steps["repeated"]) == (len(numbers) + 2, repeated + 1)


def test_lines_out_of_order_are_sorted_and_said(answer):
    lines = ["    event b 30ms 5ms", "    event a 10ms 5ms", "    event b 20ms 5ms"]
    ops = [op(40, 10, run=1), op(12, 10, run=1), op(45, 10, run=1)]
    found = answer(CPU.format(window="100ms", host="\n".join(lines), ops="\n".join(ops)))
    assert found["devices"][0]["busy_ps"] == 25 * MS
    assert region(found, "b")["calls"] == 2
    assert found["receipt"]["lines_sorted"] == 2
    assert found["receipt"]["events_sorted"] == 6
    assert any(
        "not in time order" in w and "24 bytes of memory each" in w for w in found["warnings"]
    )


def test_sums_stop_at_their_limit_and_say_so(answer, program, tmp_path):
    """Durations near 2^63 ps: three of them are beyond what 64 bits hold."""
    huge = "9000000000000000000ps"
    calls = [f"    event a 0ms {huge}"] * 3 + [f"    event train 0ms {huge} step_num=1"] * 3
    calls += [f"    event backend_compile 0ms {huge}"] * 3
    ops = [f"    event dot.1 0ms {huge} hlo_op=dot.1 hlo_module=f device_ordinal={d} run_id=1"
           for d in range(3) for _ in range(3)]  # fmt: skip
    found = answer(CPU.format(window="100ms", host="\n".join(calls), ops="\n".join(ops)))
    limit = (1 << 63) - 1
    assert region(found, "a")["calls"] == 3 and region(found, "a")["total_ps"] == limit
    assert found["steps"]["total_ps"] == limit
    assert [d["op_time_ps"] for d in found["devices"]] == [limit] * 3
    assert [(o["calls"], o["total_ps"]) for o in found["ops"]] == [(9, limit)]
    assert {h["total_ps"] for h in found["host"]} == {int(huge[:-2])}, "each moment counts once"
    assert found["receipt"]["ops_unmatched_ps"] == limit
    assert found["receipt"]["sums_capped"] is True
    assert any("stand at their limit" in w for w in found["warnings"])
    made = tmp_path / "r.xplane.pb"
    for arguments in ([], ["--html", "-"]):
        page = subprocess.run(
            [program, "summary", *arguments, str(made)], capture_output=True, text=True
        )
        assert page.returncode == 0 and "9223372.0 s" in page.stdout
        assert not re.search(r"-\d+\.\d %", page.stdout), "a share below 0"


def test_names_of_any_length_match_a_pattern(answer):
    name = "x" * 70_000 + "/tail"
    recipe = f"""
host h
window 0 10ms
plane /host:CPU
  line python id=1
    event "{name}" 1ms 2ms
    event other 4ms 1ms
"""
    for pattern in ("*/tail", "x*", name):
        found = answer(recipe, "--region", pattern)
        assert [(r["name"], r["calls"]) for r in found["regions"]] == [(name, 1)]


def test_events_of_the_runtime_are_counted_and_can_be_asked_for(answer):
    lines = """
host h
window 0 50ms
plane /host:CPU
  line python id=1
    event "$train.py:3 step" 1ms 2ms
    event SlinkyThreadPool::Await 4ms 1ms
    event "end: dot.1" 6ms 1ms
    event mine 8ms 1ms
    event SlinkyThreadPool::Await 60ms 1ms
  line tf_XLAEigen/1 id=2
    event somebodys 10ms 1ms
"""
    found = answer(lines)
    host = {row["name"]: (row["calls"], row["total_ps"]) for row in found["host"]}
    assert host == {
        "$train.py:3 step": (1, 2 * MS),
        "SlinkyThreadPool::Await": (2, 2 * MS),
        "mine": (1, MS),
        "somebodys": (1, MS),
    }
    assert [r["name"] for r in found["regions"]] == ["mine"], "workers open no regions"
    receipt = found["receipt"]
    assert (receipt["python_tracer_events"], receipt["events_outside"]) == (1, 1)
    asked = answer(lines, "--region", "$*", "--region", "S*", "--region", "some*")
    assert {r["name"]: r["calls"] for r in asked["regions"]} == {
        "$train.py:3 step": 1,
        "SlinkyThreadPool::Await": 2,
        "somebodys": 1,
    }
    assert asked["receipt"] == receipt
    assert {row["name"]: (row["calls"], row["total_ps"]) for row in asked["host"]} == host


def test_without_task_environment_the_events_are_the_window(answer):
    found = answer("""
host h
plane /host:CPU
  line python id=1
    event a 5ms 2ms
    event b 20ms 10ms
""")
    assert found["window_ps"] == 25 * MS
    assert any("Task Environment" in w for w in found["warnings"])


@pytest.mark.parametrize("count", [4096, 20000])
def test_percentiles_exact_then_within_one_percent(answer, count):
    found = answer(f"""
host h
window 0 10000ms
plane /host:CPU
  line python id=1
    repeat {count} every 100us
      event a {{i}}ns {{i+1}}ns
    end
""")
    spread = region(found, "a")
    assert spread["calls"] == count and spread["max_ps"] == count * 1000
    assert spread["exact"] is (count <= 4096)
    for key, fraction in (("p50_ps", 0.5), ("p90_ps", 0.9), ("p99_ps", 0.99)):
        true = -(-count * round(fraction * 100) // 100) * 1000
        assert abs(spread[key] - true) <= (0 if count <= 4096 else 0.01 * true)


def host_names(answer: dict) -> dict:
    return {row["name"]: (row["calls"], row["total_ps"]) for row in answer["host"]}


def test_a_name_inside_itself_counts_its_time_once_a_thread(answer):
    found = answer(
        "host h\nwindow 0 100ms\nplane /host:CPU\n"
        "  line python id=1\n"
        "    event PjitFunction(f) 10ms 20ms\n"
        "    event PjitFunction(f) 10ms 19ms\n"  # as JAX writes it: the call, and its C++ half
        "    event deep 40ms 10ms\n"
        "    event deep 41ms 8ms\n"
        "    event deep 42ms 20ms\n"  # overlaps, as asyncio's do
        "    event deep 70ms 5ms\n"
        "  line worker id=2\n"
        "    event deep 45ms 10ms\n"  # another thread's time is its own
        "    event deep 46ms 3ms\n"
    )
    assert host_names(found) == {
        "PjitFunction(f)": (2, 20 * MS),
        "deep": (6, (22 + 5 + 10) * MS),
    }
    assert region(found, "deep")["total_ps"] == (10 + 8 + 20 + 5 + 10 + 3) * MS, "the sum of calls"


def test_a_name_open_on_many_threads_at_once(answer):
    """More than the table of open names has room for at first, twice."""
    lines = []
    for i in range(400):
        lines.append(f"  line worker/{i} id={i + 1}")
        for burst in (1, 50):
            lines.append(f"    event $f.py:1 {burst}ms 10ms")
            lines.append(f"    event $f.py:1 {burst + 1}ms {i % 20 + 1}ms")
    found = answer("host h\nwindow 0 100ms\nplane /host:CPU\n" + "\n".join(lines) + "\n")
    expected = 2 * sum(max(10, i % 20 + 2) for i in range(400))
    assert host_names(found) == {"$f.py:1": (1600, expected * MS)}


def test_a_compilation_is_told_with_what_was_compiled(answer):
    long = "é" * 30
    calls = [
        ("PjitFunction(f)", 1), ("PjitFunction(f)", 20), (f"PjitFunction({long})", 40)
    ]  # fmt: skip
    host = [
        line
        for call, at in calls
        for line in (f"    event {call} {at}ms 10ms", f"    event backend_compile {at + 1}ms 2ms")
    ]
    found = answer(CPU.format(window="100ms", host="\n".join(host), ops=op(90, 1)))
    assert found["receipt"]["compilations"] == 3
    assert found["receipt"]["compiled"] == ["f", long]
    (words,) = [w for w in found["warnings"] if "compilations" in w]
    assert f"3 compilations (6.0 ms) inside the window, of `f`, `{long[:20]}`: warm up" in words
    assert "Profiler" not in words

# SPDX-License-Identifier: Apache-2.0
"""`dew-profile summary` on captures made from recipes, whose every answer is known."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
MS = 1_000_000_000
US = 1_000_000
NO_REGION = "(no region)"


@pytest.fixture
def answer(program, tmp_path):
    def run(recipe: str, *arguments, status=0) -> dict:
        (tmp_path / "r.txt").write_text(recipe)
        made = tmp_path / "r.xplane.pb"
        subprocess.run([sys.executable, TOOLS / "mktrace.py", tmp_path / "r.txt", made], check=True)
        done = subprocess.run(
            [program, "summary", "--json", "--top", "0", *arguments, str(made)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == status, done.stderr
        answer = json.loads(done.stdout)
        for device in answer["devices"]:
            parts = sum(p["idle_ps"] for p in device["idle_by_region"])
            assert device["busy_ps"] + parts == answer["window_ps"]
            assert sum(device["idle_by_cause"].values()) == parts == device["idle_ps"]
        return answer

    return run


def region(answer: dict, name: str) -> dict:
    (found,) = [r for r in answer["regions"] if r["name"] == name]
    return found


def idle(answer: dict, device: int = 0) -> dict:
    return {p["region"]: p["idle_ps"] for p in answer["devices"][device]["idle_by_region"]}


def recipe(name: str) -> str:
    return (TOOLS.parent / "tests" / "recipes" / f"{name}.txt").read_text()


def test_recipe_of_steps_on_a_cpu(answer):
    found = answer(recipe("cpu_steps"))
    zero, one = found["devices"]
    assert (zero["ops"], zero["op_time_ps"], zero["busy_ps"]) == (12, 16 * MS, 14 * MS)
    assert (zero["collective_ps"], zero["collective_exposed_ps"]) == (4 * MS, 2 * MS)
    assert (one["ops"], one["busy_ps"], one["collective_ps"]) == (4, 8 * MS, 0)
    assert idle(found) == {
        "input.wait": 12 * MS,
        "compute": 4 * MS,
        "early": 1 * MS,  # 10-12, less input.wait from 11 on
        "late": 1 * MS,
        NO_REGION: 8 * MS,
    }
    compute = region(found, "compute")
    assert (compute["launches"], compute["launched_ops"], compute["launched_ps"]) == (
        4,
        12,
        16 * MS,
    )
    assert region(found, "input.wait")["launched_ops"] == 0
    steps = found["steps"]
    assert (steps["count"], steps["cut"], steps["repeated"]) == (4, 0, 0)
    for step in steps["slowest"]:
        assert (step["duration_ps"], step["busy_ps"]) == (8 * MS, (3.5 * MS + 2 * MS) // 2)
        assert (step["collective_ps"], step["collective_exposed_ps"]) == (MS // 2, MS // 4)
    receipt = found["receipt"]
    assert (receipt["executions_linked"], receipt["executions_unmatched"]) == (4, 4)
    assert (receipt["ops_unmatched"], receipt["ops_unmatched_ps"]) == (4, 8 * MS)
    assert (receipt["compilations"], receipt["compilation_ps"]) == (1, MS // 2)
    assert (receipt["lines_sorted"], receipt["events_sorted"]) == (1, 2)
    assert found["capture"]["process"] == 4242 and found["capture"]["jax_version"] == "0.12.0"


def test_recipe_of_streams_on_a_gpu(answer):
    found = answer(recipe("gpu_streams"))
    gpu = found["devices"][0]
    assert (found["window_ps"], gpu["busy_ps"]) == (1100 * US, 550 * US)
    launched = {r["name"]: (r["launched_ops"], r["launched_ps"]) for r in found["regions"]}
    # backward is innermost at every second launch: 5 kernels; forward has 5 and the copy
    assert launched == {"forward": (6, 5 * 50 * US + 80_500_000), "backward": (5, 5 * 50 * US)}
    assert found["receipt"]["ops_unmatched"] == 0 and found["receipt"]["lines_sorted"] == 1


def test_recipe_of_two_steps_on_a_tpu(answer):
    found = answer(recipe("tpu_two_steps"))
    (tpu,) = found["devices"]
    assert (found["window_ps"], tpu["busy_ps"]) == (2000 * US, 1400 * US)
    assert (tpu["async_ops"], tpu["async_ps"]) == (2, 300 * US)
    compute = region(found, "step.compute")
    assert (compute["launched_ops"], compute["launched_ps"]) == (6, 1400 * US)
    assert found["steps"]["count"] == 2
    assert [s["busy_ps"] for s in found["steps"]["slowest"]] == [700 * US] * 2
    assert [s["collective_exposed_ps"] for s in found["steps"]["slowest"]] == [100 * US] * 2
    assert (found["receipt"]["launches"], found["receipt"]["launches_unmatched"]) == (2, 0)
    assert [r["name"] for r in found["regions"]] == ["step.compute"]


def test_a_cut_step_counts_the_ops_inside_the_window(answer):
    host = ["    event train 6ms 10ms step_num=1", launch(7, 1)]
    ops = [start(8, 1), op(8, 4, run=1), stop(13)]
    found = answer(CPU.format(window="10ms", host="\n".join(host), ops="\n".join(ops)))
    (step,) = found["steps"]["slowest"]
    assert step["cut"] and (step["duration_ps"], step["busy_ps"]) == (10 * MS, 2 * MS)
    assert found["devices"][0]["busy_ps"] == 2 * MS
    assert found["devices"][0]["op_time_ps"] == 4 * MS


GPU = """
host h
window 0 100ms
plane /device:GPU:0
  line "Stream #1(Kernel)"
    event fusion_1 20ms 10ms correlation_id=7 hlo_op=fusion.1 hlo_module=jit_f
    event ncclDevKernel_AllReduce 40ms 10ms correlation_id=8 hlo_op=all-reduce hlo_module=jit_f
    event late 60ms 5ms correlation_id=99
  line "Stream #2(MemcpyH2D)"
    event MemcpyH2D 25ms 10ms correlation_id=9
    event gemm_kernel 45ms 10ms correlation_id=8
plane /device:GPU:1
plane /host:CPU
  line python id=5
    event outer 1ms 80ms
    event work 10ms 8ms
    event cuLaunchKernel 11ms 1ms correlation_id=7
    event cuMemcpyAsync 12ms 1ms correlation_id=9
    event wait 30ms 15ms
    event cuLaunchKernel 38ms 1ms correlation_id=8
"""


def test_gpu_streams_are_united_and_linked_by_correlation(answer):
    found = answer(GPU)
    gpu, empty = found["devices"]
    assert found["platform"] == "gpu" and gpu["name"] == "gpu:0"
    assert (gpu["ops"], gpu["op_time_ps"]) == (5, 45 * MS)
    assert gpu["busy_ps"] == (15 + 15 + 5) * MS, "20-35, 40-55, 60-65: united, not summed"
    assert empty["busy_ps"] == 0 and empty["idle_by_cause"]["edge"] == 100 * MS
    assert any("no lines" in w for w in found["warnings"])
    assert (region(found, "work")["launched_ps"], region(found, "work")["launched_ops"]) == (
        20 * MS,
        2,
    )
    assert (region(found, "wait")["launched_ps"], region(found, "wait")["launched_ops"]) == (
        20 * MS,
        2,
    )
    assert region(found, "outer")["launched_ops"] == 0
    assert found["receipt"]["ops_unmatched"] == 1
    assert found["receipt"]["ops_unmatched_ps"] == 5 * MS
    assert gpu["idle_by_cause"] == {
        "host": 5 * MS,  # 35-40: launched at 38
        "between": 0,
        "edge": (20 + 35) * MS,
        "unknown": 5 * MS,  # 55-60: nobody launched `late`
    }
    assert idle(found) == {
        NO_REGION: (1 + 19) * MS,  # before 1, after 81
        "work": 8 * MS,  # 10-18
        "wait": 5 * MS,  # 35-40
        "outer": (9 + 2 + 5 + 16) * MS,  # 1-10, 18-20, 55-60, 65-81
    }
    kinds = {o["op"]: o["kind"] for o in found["ops"]}
    assert kinds == {
        "fusion.1": "fusion",
        "all-reduce": "collective",
        "MemcpyH2D": "copy",
        "gemm_kernel": "matmul/conv",
        "late": "other",
    }
    assert gpu["collective_ps"] == 10 * MS
    assert gpu["collective_exposed_ps"] == 5 * MS, "40-45 alone, 45-50 beside the product"


TPU = """
host h
window 0 100ms
plane /device:TPU:0
  line Steps
    event 3 10ms 40ms
  line "XLA Modules"
    event jit_f(123) 10ms 20ms run_id=1
    event jit_g(456) 40ms 20ms run_id=2
  line "XLA Ops"
    event "%while.1 = (s32[]) while(...)" 10ms 20ms
    event "%fusion.1 = f32[8] fusion(...)" 12ms 5ms
    event "%all-reduce.2 = f32[8] all-reduce(...)" 18ms 4ms
    event "%convolution.3 = f32[8] convolution(...)" 40ms 15ms
  line "Async XLA Ops"
    event all-gather-start.7 41ms 20ms
plane /host:CPU
  line python id=5
    event a 1ms 4ms
    event DoEnqueueProgram 2ms 1ms run_id=1
    event b 35ms 4ms
    event DoEnqueueProgram 36ms 1ms run_id=2
"""


def test_tpu_ops_nest_and_modules_link(answer):
    found = answer(TPU)
    (tpu,) = found["devices"]
    assert found["platform"] == "tpu" and tpu["name"] == "tpu:0"
    assert (tpu["ops"], tpu["busy_ps"]) == (4, 35 * MS)
    assert (tpu["async_ops"], tpu["async_ps"]) == (1, 20 * MS)
    assert region(found, "a")["launched_ops"] == 3 and region(found, "a")["launched_ps"] == 29 * MS
    assert region(found, "b")["launched_ops"] == 1 and region(found, "b")["launched_ps"] == 15 * MS
    assert region(found, "a")["launched_by"] == "links"
    assert tpu["idle_by_cause"] == {
        "host": 10 * MS,
        "between": 0,
        "edge": (10 + 45) * MS,
        "unknown": 0,
    }
    ops = {(o["module"], o["op"]): o["kind"] for o in found["ops"]}
    assert ops == {
        ("jit_f", "while.1"): "other",
        ("jit_f", "fusion.1"): "fusion",
        ("jit_f", "all-reduce.2"): "collective",
        ("jit_g", "convolution.3"): "matmul/conv",
    }
    # 18-22 alone, for the loop around it is no op of its own; 41-55 beside the convolution
    assert tpu["collective_ps"] == (4 + 20) * MS
    assert tpu["collective_exposed_ps"] == (4 + 6) * MS
    assert found["steps"]["count"] == 1 and found["steps"]["from_device"] is True
    assert found["steps"]["slowest"][0]["step"] == 3
    assert found["steps"]["slowest"][0]["busy_ps"] == 30 * MS


def test_a_tpu_knows_28_bits_of_the_hosts_run_id(answer):
    """The pair of ids is the one of XLA's own test of it (preprocess_xplane_test.cc)."""
    recipe = TPU.replace("2ms 1ms run_id=1", "2ms 1ms run_id=582974244")
    found = answer(recipe.replace("10ms 20ms run_id=1", "10ms 20ms run_id=46103332"))
    assert found["receipt"]["executions_linked"] == 2
    assert region(found, "a")["launched_ops"] == 3
    assert region(found, "b")["launched_ops"] == 1
    assert found["receipt"]["launches_unmatched"] == 0


CPU = """
host h
window 0 {window}
plane /host:CPU
  line python id=1
{host}
  line tf_XLAEigen/1 id=2
{ops}
"""


def op(start, duration, name="dot.1", run=None, device=0, module="jit_f"):
    stats = f"hlo_op={name} hlo_module={module} device_ordinal={device}"
    return f"    event {name} {start}ms {duration}ms {stats}" + (f" run_id={run}" if run else "")


def launch(start, producer, function="f"):
    return f"""    event PjitFunction({function}) {start}ms 1ms
    event X::ExecuteHelperOnSingleDevice {start}ms 1ms
    event ThreadpoolListener::Record {start}.5ms 0 _p={producer}"""


def start(at, consumer):
    return f"    event ThreadpoolListener::StartRegion {at}ms 0 _c={consumer}"


def stop(at):
    return f"    event ThreadpoolListener::StopRegion {at}ms 0"


def test_a_sleep_grows_its_regions_idle_by_just_that(answer):
    def capture(sleep):
        host = [f"    event sleepy 20ms {10 + sleep}ms", launch(10, 1), launch(32 + sleep, 2)]
        ops = [
            start(12, 1),
            op(12, 5, run=1),
            stop(17),
            start(34 + sleep, 2),
            op(34 + sleep, 5, run=2),
            stop(39 + sleep),
        ]
        return answer(CPU.format(window="100ms", host="\n".join(host), ops="\n".join(ops)))

    short, long = capture(0), capture(7)
    assert idle(short)["sleepy"] == 10 * MS and idle(long)["sleepy"] == 17 * MS
    for found, sleep in ((short, 0), (long, 7)):
        assert found["devices"][0]["idle_by_cause"]["host"] == (17 + sleep) * MS
        assert region(found, "sleepy")["launched_by"] == "links"
        assert region(found, "sleepy")["launched_ops"] == 0, "a region that launches nothing"
        assert found["receipt"]["executions_linked"] == 2


def test_queued_executions_go_by_launch_order(answer):
    """The second one starts from the completion of the first: its hops lead into the first call."""
    host = [
        "    event first 5ms 4ms",
        launch(6, 1),
        "    event second 10ms 4ms",
        launch(11, 77, "g"),
    ]
    ops = [
        start(8, 1),
        op(8, 20, run=1),
        "    event ThreadpoolListener::Record 28ms 0 _p=2",
        stop(29),
        start(30, 2),
        op(30, 3, run=2, module="jit_g"),
        stop(33),
    ]
    found = answer(CPU.format(window="50ms", host="\n".join(host), ops="\n".join(ops)))
    assert region(found, "first")["launched_ps"] == 20 * MS
    assert region(found, "second")["launched_ps"] == 3 * MS
    receipt = found["receipt"]
    assert (receipt["executions_linked"], receipt["executions_ordered"]) == (1, 1)
    assert found["devices"][0]["idle_by_cause"]["between"] == 2 * MS, "it had been launched"


def test_what_was_launched_before_is_unmatched_not_guessed(answer):
    host = ["    event mine 20ms 5ms", launch(21, 1, "g")]
    ops = [op(2, 5, run=9), start(22, 1), op(22, 3, run=10, module="jit_g"), stop(25)]
    found = answer(CPU.format(window="50ms", host="\n".join(host), ops="\n".join(ops)))
    assert region(found, "mine")["launched_ps"] == 3 * MS
    receipt = found["receipt"]
    assert (receipt["executions_unmatched"], receipt["ops_unmatched_ps"]) == (1, 5 * MS)
    assert receipt["in_flight_start"] == 1
    assert any("could not be traced" in w for w in found["warnings"])


def test_overlapping_regions_of_asyncio_and_threads(answer):
    host = [
        "    event a 10ms 20ms",
        "    event b 20ms 20ms",
        launch(25, 1),
        launch(35, 2),
        "  line python id=9",
        "    event c 38ms 22ms",
    ]
    ops = [start(26, 1), op(26, 2, run=1), stop(28), start(36, 2), op(36, 2, run=2), stop(38)]
    found = answer(CPU.format(window="100ms", host="\n".join(host), ops="\n".join(ops)))
    # innermost: a 10-20, b 20-38 (less the ops), c 38-60 although b is still open until 40
    assert idle(found) == {"a": 10 * MS, "b": 14 * MS, "c": 22 * MS, NO_REGION: 50 * MS}
    assert region(found, "b")["launched_ops"] == 2, "the region that started last, of that thread"


def test_no_links_means_overlap_and_says_so(answer):
    host = ["    event a 10ms 10ms", "    event b 20ms 10ms"]
    found = answer(CPU.format(window="50ms", host="\n".join(host), ops=op(15, 10, run=1)))
    assert {r["name"]: r["launched_ps"] for r in found["regions"]} == {"a": 5 * MS, "b": 5 * MS}
    assert {r["launched_by"] for r in found["regions"]} == {"overlap"}
    assert any("no links" in w for w in found["warnings"])
    assert found["devices"][0]["idle_by_cause"]["unknown"] == 0, "one op has only edges"


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


def test_collector_that_gave_nothing(answer):
    found = answer("""
host h
window 0 10ms
plane /device:GPU:0
  line "Stream #1(Kernel)"
plane /host:CPU
  line python id=1
    event a 1ms 2ms
""")
    assert found["receipt"]["collector_empty"] is True
    assert any("collector" in w for w in found["warnings"])
    assert region(found, "a")["calls"] == 1


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


def queued(runs, launches, released_by=None):
    """One op of 10 ms an execution, back to back from 1 ms on; launches by (start, region, linked)."""
    host = [launch(at, i + 1) for i, at in enumerate(launches)]
    ops = []
    for i, run in enumerate(runs):
        at = 1 + 10 * i
        linked = (released_by or {}).get(run)
        if linked:
            ops.append(start(at, linked))
        ops.append(op(at, 10, name="dot.1", run=run))
        if linked:
            ops.append(stop(at + 10))
    return host, ops


def test_numbers_tell_the_launches_of_queued_executions(answer):
    """Two were launched before the capture: launch order would charge `a` with both."""
    host, ops = queued([40, 41, 42, 43, 44], [0, 2, 36], released_by={44: 3})
    regions = ["    event a 0ms 1.5ms", "    event b 2ms 1.5ms", "    event c 36ms 1.5ms"]
    found = answer(CPU.format(window="100ms", host="\n".join(regions + host), ops="\n".join(ops)))
    launched = {r["name"]: (r["launches"], r["launched_ops"]) for r in found["regions"]}
    assert launched == {"a": (1, 1), "b": (1, 1), "c": (1, 1)}
    receipt = found["receipt"]
    assert (receipt["executions_linked"], receipt["executions_unmatched"]) == (1, 2)
    assert (receipt["executions_ordered"], receipt["executions_numbered"]) == (2, 2)
    assert receipt["in_flight_start"] == 2 and receipt["ops_unmatched_ps"] == 20 * MS


def test_numbers_of_two_executables_of_one_name_tell_nothing(answer):
    """f for one shape counts from 40, for another from 7,000,000; each launch alternates."""
    runs = [40, 7_000_000, 41, 7_000_001]
    host, ops = queued(runs, [0, 2, 4, 6], released_by={40: 1})
    regions = [f"    event {name} {2 * i}ms 1.5ms" for i, name in enumerate("abcd")]
    found = answer(CPU.format(window="100ms", host="\n".join(regions + host), ops="\n".join(ops)))
    assert {r["name"]: r["launched_ops"] for r in found["regions"]} == dict.fromkeys("abcd", 1)
    receipt = found["receipt"]
    assert (receipt["executions_linked"], receipt["executions_unmatched"]) == (1, 0)
    assert (receipt["executions_ordered"], receipt["executions_numbered"]) == (3, 0)
    assert region(found, "b")["launched_ordered_ops"] == 1
    assert region(found, "a")["launched_ordered_ops"] == 0


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

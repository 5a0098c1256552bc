# SPDX-License-Identifier: Apache-2.0
"""`dew-profile summary` on CPU, GPU and TPU captures made from recipes, whose every answer is known."""

from __future__ import annotations

from recipes import MS, NO_REGION, US, idle, recipe, region


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

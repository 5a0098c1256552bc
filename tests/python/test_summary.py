# SPDX-License-Identifier: Apache-2.0
"""`dew-profile summary` on real captures: made here, and the shared ones with known totals."""

from __future__ import annotations

import csv
import io
import json
import pathlib
import subprocess
import sys

import pytest
import reference

#: regions of each kind of capture, and the module that only this region launches
LAUNCHES = {
    "regions": {
        "input.wait": None,
        "compute": "jit_f",
        "eval": "jit_g",
        "outer": None,
        "inner": "jit_h",
    },
    "queued": {"first": "jit_f", "second": "jit_h", "wait": None},
    "threads": {"ta": "jit_f", "tb": "jit_h", "ta.wait": None, "tb.wait": None},
    "asyncio": {"aa": "jit_f", "bb": "jit_h"},
    "split": {"sharded": "jit_fs", "one": "jit_f"},
}

PROGRAM = r"""
import asyncio, glob, os, shutil, sys, threading, time
kind, out = sys.argv[1:]
if kind == "split":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp, numpy as np
from jax.profiler import StepTraceAnnotation, TraceAnnotation as mark

@jax.jit
def f(x):
    for _ in range(3):
        x = jnp.tanh(x @ x)
    return x

@jax.jit
def g(x):
    return (x * 2).sum()

@jax.jit
def h(x):
    return jnp.sort(x, axis=0) @ x

@jax.jit
def fs(x):
    return jnp.tanh(x @ x.T).sum()

x = jnp.ones((192, 192)) / 192
for function in (f, g, h):
    function(x).block_until_ready()
if kind == "split":
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    mesh = Mesh(np.array(jax.devices()), ("d",))
    xs = jax.device_put(x, NamedSharding(mesh, PartitionSpec("d", None)))
    x1 = jax.device_put(x, jax.devices()[1])
    fs(xs).block_until_ready()
    f(x1).block_until_ready()

if kind == "flying":
    big = f(jnp.ones((1000, 1000)) / 1000).block_until_ready()
    for i in range(4):
        big = f(big)
options = jax.profiler.ProfileOptions()
options.host_tracer_level = 2
options.python_tracer_level = 0
jax.profiler.start_trace(out, profiler_options=options)
if kind == "regions":
    for i in range(12):
        with StepTraceAnnotation("train", step_num=i):
            with mark("input.wait"):
                time.sleep(0.003)
            with mark("compute"):
                y = f(x)
            with mark("eval"):
                g(y).block_until_ready()
        with mark("outer"), mark("inner"):
            h(x).block_until_ready()
elif kind == "queued":
    for i in range(12):
        with mark("first"):
            y = f(x)
        with mark("second"):
            z = h(y)
        with mark("wait"):
            z.block_until_ready()
elif kind == "threads":
    def work(name, function):
        for i in range(12):
            with mark(name):
                y = function(x)
            with mark(name + ".wait"):
                y.block_until_ready()
    threads = [threading.Thread(target=work, args=a) for a in (("ta", f), ("tb", h))]
    [t.start() for t in threads]
    [t.join() for t in threads]
elif kind == "asyncio":
    async def work(name, function, delay):
        for i in range(8):
            with mark(name):
                y = function(x)
                await asyncio.sleep(delay)
                y.block_until_ready()
    async def main():
        await asyncio.gather(work("aa", f, 0.001), work("bb", h, 0.0015))
    asyncio.run(main())
elif kind == "split":
    for i in range(12):
        with StepTraceAnnotation("train", step_num=i):
            with mark("sharded"):
                y = fs(xs)
            with mark("one"):
                z = f(x1)
            jax.block_until_ready((y, z))
elif kind == "flying":
    for i in range(3):
        with mark("in"):
            big = f(big)
        with mark("too"):
            big = f(big)
    big.block_until_ready()
    for i in range(3):
        with mark("later"):
            big = f(big)
        big.block_until_ready()
elif kind == "small":
    with mark("only"):
        g(x).block_until_ready()
jax.profiler.stop_trace()
(made,) = glob.glob(out + "/plugins/profile/*/*.xplane.pb")
shutil.move(made, out + ".xplane.pb")
"""


@pytest.fixture(scope="session")
def make_capture(tmp_path_factory):
    """A real CPU capture of this Python's JAX, one for each kind."""
    folder, made = tmp_path_factory.mktemp("captures"), {}

    def make(kind: str) -> pathlib.Path:
        if kind not in made:
            out = folder / kind
            subprocess.run(
                [sys.executable, "-c", PROGRAM, kind, str(out)],
                check=True,
                capture_output=True,
                timeout=180,
            )
            made[kind] = out.with_suffix(".xplane.pb")
        return made[kind]

    return make


def run(program, *arguments, status=0):
    done = subprocess.run(
        [program, "summary", *map(str, arguments)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == status, done.stderr
    return done


def summary(program, path, *arguments, status=0) -> dict:
    return json.loads(run(program, path, "--json", *arguments, status=status).stdout)


@pytest.mark.parametrize("kind", LAUNCHES)
def test_every_sum_is_the_reference(program, make_capture, kind):
    path = make_capture(kind)
    answer = summary(program, path)
    capture = reference.read(path)
    reference.check(answer, capture, set(LAUNCHES[kind]))
    assert answer["schema"] == 1 and answer["platform"] == "cpu"
    assert len(answer["devices"]) == (2 if kind == "split" else 1)
    for region in answer["regions"]:
        module = LAUNCHES[kind][region["name"]]
        time, ops = reference.module_time(capture, module) if module else (0, 0)
        assert (region["launched_ps"], region["launched_ops"]) == (time, ops), region["name"]
        assert region["launched_by"] == "links"
    receipt = answer["receipt"]
    assert receipt["executions_unmatched"] == receipt["launches_unmatched"] == 0
    assert not receipt["damaged"]


def test_back_to_back_dispatch_needs_launch_order(program, make_capture):
    receipt = summary(program, make_capture("queued"))["receipt"]
    assert receipt["executions"] == 24 == receipt["launches"]
    # whether the runtime's numbers can be known as well is a matter of timing
    assert receipt["executions_ordered"] >= receipt["executions_numbered"]
    assert receipt["executions_ordered"] > 0


def test_work_in_flight_at_the_start_is_charged_to_nobody(program, make_capture):
    """Its executions are queued like those that follow; only the runtime's numbers tell them apart."""
    answer = summary(program, make_capture("flying"))
    ops = {r["name"]: r["launched_ops"] for r in answer["regions"]}
    assert ops["in"] == ops["too"] == ops["later"] > 0
    receipt, per_execution = answer["receipt"], ops["in"] // 3
    assert receipt["executions_unmatched"] == receipt["in_flight_start"] > 0
    unmatched = receipt["executions_unmatched"]
    # the execution that ran as the capture began may have lost its first ops
    assert (unmatched - 1) * per_execution < receipt["ops_unmatched"] <= unmatched * per_execution
    assert receipt["launches"] == 9 and receipt["launches_unmatched"] == 0
    assert receipt["executions_ordered"] == receipt["executions_numbered"] > 0
    assert all(r["launched_ordered_ops"] == 0 for r in answer["regions"])


def test_idle_behind_a_sleep_is_the_sleep(program, make_capture):
    answer = summary(program, make_capture("regions"))
    (wait,) = [r for r in answer["regions"] if r["name"] == "input.wait"]
    assert wait["idle_behind_ps"] == wait["total_ps"] >= 12 * 3_000_000_000
    (device,) = answer["devices"]
    assert device["idle_by_cause"]["host"] >= 11 * 3_000_000_000


def test_cpu_loop_has_its_known_totals(program, shared_captures):
    path = shared_captures / "cpu-loop.xplane.pb"
    answer = summary(program, path)
    assert answer["capture"]["events"] == 27585
    assert answer["window_ps"] == 1430209051000
    (device,) = answer["devices"]
    assert device["name"] == "cpu:0"
    assert (device["ops"], device["op_time_ps"]) == (3200, 1340729098000)
    assert (device["busy_ps"], device["idle_ps"]) == (1340729098000, 89479953000)
    (region,) = answer["regions"]
    assert region["name"] == "region.compute"
    assert (region["calls"], region["total_ps"]) == (200, 72694897000)
    assert (region["min_ps"], region["max_ps"]) == (138830000, 3191705000)
    assert (region["launched_ps"], region["launched_ops"]) == (1340729098000, 3200)
    assert region["launched_by"] == "links"
    assert answer["steps"]["count"] == 200
    assert answer["steps"]["total_ps"] == 1415027349000
    assert answer["steps"]["max_ps"] == 10224172000
    assert answer["steps"]["min_ps"] == 4459933000
    reference.check(answer, reference.read(path), {"region.compute"})


@pytest.mark.parametrize(
    "name, events, busy",
    [
        ("gpu-mi300-conv", 3650, {"gpu:0": 3995965000, "gpu:1": 3345845000, "gpu:7": 3502165000}),
        ("gpu-mi300-conv-2025", 6024, {"gpu:0": 889028000, "gpu:7": 3586493000, "gpu:1": 0}),
    ],
)
def test_gpu_captures_have_their_known_totals(program, shared_captures, name, events, busy):
    path = shared_captures / f"{name}.xplane.pb"
    answer = summary(program, path)
    assert answer["capture"]["events"] == events and answer["platform"] == "gpu"
    found = {d["name"]: d["busy_ps"] for d in answer["devices"]}
    assert len(found) == 8
    assert {k: found[k] for k in busy} == busy
    assert answer["receipt"]["python_tracer_events"] > 0
    assert answer["receipt"]["ops_unmatched"] == 0
    reference.check(answer, reference.read(path), {r["name"] for r in answer["regions"]})
    assert any("Python tracer" in words for words in answer["warnings"])


def test_parts_are_the_window_in_every_shared_capture(program, shared_captures):
    found = sorted(shared_captures.glob("*.xplane.pb"))
    assert found
    for path in found:
        answer = summary(program, path)
        assert answer["devices"]
        for device in answer["devices"]:
            parts = sum(part["idle_ps"] for part in device["idle_by_region"])
            assert device["busy_ps"] + parts == answer["window_ps"], (path, device["name"])
            assert sum(device["idle_by_cause"].values()) == parts == device["idle_ps"]


def test_step_range_is_only_those_steps(program, make_capture):
    path = make_capture("regions")
    capture = reference.read(path)
    steps = {e.stats["step_num"]: e for e in capture.host if "step_num" in e.stats}
    answer = summary(program, path, "--step", "3:5")
    assert answer["window_ps"] == steps[5].end - steps[3].start
    assert answer["steps"]["count"] == 3
    calls = {r["name"]: r["calls"] for r in answer["regions"] if r["calls"]}
    assert calls == {"input.wait": 3, "compute": 3, "eval": 3, "outer": 2, "inner": 2}
    (device,) = answer["devices"]
    window = (steps[3].start, steps[5].end)
    assert device["busy_ps"] == reference.length(reference.union(capture.ops["cpu:0"], window))
    done = run(program, path, "--step", "90:95", status=5)
    assert "no step 90 to 95" in done.stderr


def test_region_patterns(program, make_capture):
    path = make_capture("regions")
    answer = summary(program, path, "--region", "in*", "--region", "train")
    assert {r["name"] for r in answer["regions"]} == {"input.wait", "inner", "train"}
    assert answer["steps"]["count"] == 12
    answer = summary(program, path, "--region", "nothing-like-it")
    assert answer["regions"] == [] and "--region" in answer["empty"]["regions"]


def test_names_from_the_manifest(program, make_capture, tmp_path):
    run_folder = tmp_path / "capture-0001" / "plugins" / "profile" / "r"
    run_folder.mkdir(parents=True)
    (run_folder / "h.xplane.pb").write_bytes(make_capture("regions").read_bytes())
    manifest = tmp_path / "capture-0001" / "manifest.json"
    manifest.write_text(json.dumps({"schema": 1, "regions": ["eval", "never entered"]}))
    answer = summary(program, tmp_path)
    assert [r["name"] for r in answer["regions"]] == ["eval"]
    assert answer["regions_from"] == "the manifest"


def test_several_files_are_several_answers(program, make_capture, tmp_path):
    folder = tmp_path / "plugins" / "profile" / "run"
    folder.mkdir(parents=True)
    kinds = {"a": "queued", "b": "threads"}
    for host, kind in kinds.items():
        (folder / f"{host}.xplane.pb").write_bytes(make_capture(kind).read_bytes())
    answer = summary(program, tmp_path)
    assert [p["capture"]["files"][0][-11:] for p in answer["processes"]] == [
        "a.xplane.pb",
        "b.xplane.pb",
    ]
    for process, kind in zip(answer["processes"], kinds.values(), strict=True):
        assert process["devices"] == summary(program, make_capture(kind))["devices"]


def test_one_process_under_two_names_is_no_second_process(program, make_capture, tmp_path):
    for host in ("a", "b"):
        (tmp_path / f"{host}.xplane.pb").write_bytes(make_capture("queued").read_bytes())
    done = run(program, tmp_path / "a.xplane.pb", tmp_path / "b.xplane.pb", status=2)
    assert "is there twice" in done.stderr and "b.xplane.pb" in done.stderr


def test_page_for_people(program, make_capture):
    page = run(program, make_capture("regions")).stdout
    first = page.splitlines()[0]
    assert first.startswith("The device waited") and "behind input.wait" in first
    for heading in ("Devices", "Regions", "Idle time", "Steps", "Device ops", "Host", "Receipt"):
        assert f"\n{heading}" in page
    assert "\x1b" not in page
    page = run(program, make_capture("queued")).stdout
    assert "StepTraceAnnotation" in page, "an empty table says why"


@pytest.mark.parametrize("table", ["devices", "idle", "regions", "steps", "ops", "host"])
def test_csv_is_the_json(program, make_capture, table):
    path = make_capture("regions")
    rows = list(csv.DictReader(io.StringIO(run(program, path, "--csv", table).stdout)))
    answer = summary(program, path)
    if table == "idle":
        expected = [
            (d["name"], part["region"], str(part["idle_ps"]))
            for d in answer["devices"]
            for part in d["idle_by_region"]
        ]
        assert [(r["device"], r["region"], r["idle_ps"]) for r in rows] == expected
        told = [part for d in answer["devices"] for part in d["idle_by_region"]]
    elif table == "steps":
        assert [int(r["step"]) for r in rows] == list(range(12))
        told = sorted(answer["steps"]["slowest"], key=lambda step: step["start_ps"])
    else:
        told = answer[table]
    assert len(told) == len(rows) > 0
    named = {"file": None, "device": "name"} if table == "devices" else {"file": None}
    named |= {"device": None} if table == "idle" else {"region": "name"}
    for row, entry in zip(rows, told, strict=True):
        flat = {**entry, **{f"idle_{k}_ps": v for k, v in causes(entry).items()}}
        for column, value in row.items():
            key = named.get(column, column)
            if key:
                assert value == str(int(flat[key]) if value.isdigit() else flat[key]), column


def causes(entry: dict) -> dict:
    """By whatever key a row of JSON has them."""
    for key in ("idle_by_cause", "by_cause", "idle_behind_by_cause"):
        if key in entry:
            return entry[key]
    return {}


def test_a_program_gets_every_row_and_a_page_gets_the_first(program, shared_captures):
    path = shared_captures / "cpu-loop.xplane.pb"
    answer = summary(program, path)
    assert (len(answer["ops"]), len(answer["host"])) == (16, 20)
    steps = answer["steps"]["slowest"]
    assert len(steps) == answer["steps"]["count"] == 200
    assert steps == sorted(steps, key=lambda s: (-s["duration_ps"], s["start_ps"]))
    few = summary(program, path, "--top", 3)
    assert few["ops"] == answer["ops"][:3] and few["host"] == answer["host"][:3]
    assert few["steps"]["slowest"] == steps[:3]
    for table in ("ops", "host"):
        assert len(run(program, path, "--csv", table).stdout.splitlines()) == 1 + len(answer[table])
        assert len(run(program, path, "--csv", table, "--top", 3).stdout.splitlines()) == 4
    page = run(program, path).stdout
    for words in ("and 4 more ops", "and 8 more names", "and 188 more steps"):
        assert f"  {words} (--top 0 shows all)\n" in page
    assert "--top 0" not in run(program, path, "--top", 0).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--csv", "nothing"),
        ("--step", "5:3"),
        ("--step", "x"),
        ("--top", "-1"),
        ("--csv", "ops", "--json"),
    ],
)
def test_usage_errors(program, make_capture, arguments):
    done = run(program, make_capture("queued"), *arguments, status=2)
    assert done.stdout == "" and done.stderr


def test_not_a_capture(program, tmp_path):
    path = tmp_path / "x.xplane.pb"
    for content in (b"", b"\xff" * 100, b"not a capture at all"):
        path.write_bytes(content)
        done = run(program, path, status=3)
        assert str(path) in done.stderr
    run(program, tmp_path / "absent.xplane.pb", status=3)


def test_cut_at_every_byte(program, make_capture, tmp_path):
    """Never a crash, and never a wrong total that is called whole (exit 0)."""
    whole = make_capture("small").read_bytes()
    path = tmp_path / "cut.xplane.pb"
    answer = summary(program, make_capture("small"))
    assert answer["receipt"]["damaged"] is False
    stride = max(1, len(whole) // 400)
    sizes = sorted(
        {
            *range(0, len(whole), stride),
            *range(min(600, len(whole))),
            *range(max(0, len(whole) - 300), len(whole)),
        }
    )
    for size in sizes:
        path.write_bytes(whole[:size])
        done = subprocess.run(
            [program, "summary", "--json", str(path)], capture_output=True, text=True, timeout=30
        )
        assert done.returncode in (0, 3), (size, done.returncode, done.stderr)
        if done.returncode == 3:
            assert done.stderr
            if done.stdout:
                cut = json.loads(done.stdout)
                assert cut["receipt"]["damaged"] and cut["receipt"]["damaged_at"] <= size
                assert any(f"byte {cut['receipt']['damaged_at']}" in w for w in cut["warnings"])
                for device in cut["devices"]:
                    assert device["busy_ps"] + device["idle_ps"] == cut["window_ps"]
        else:
            cut = json.loads(done.stdout)
            complete = {k: cut[k] for k in ("devices", "regions", "ops", "host", "window_ps")} == {
                k: answer[k] for k in ("devices", "regions", "ops", "host", "window_ps")
            }
            assert complete or any("may have been cut" in w for w in cut["warnings"]), size

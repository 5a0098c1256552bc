# SPDX-License-Identifier: Apache-2.0
"""What `dew-profile summary` says first, in words: true, in agreement, and of use."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from recipes import traced


def recipe(window, executions, regions=(), steps=()):
    """A CPU capture, times in ms. An execution is (launch, [(op start, duration)], device)."""
    host, worker = [], []
    for i, (at, ops, *device) in enumerate(executions, 1):
        host.append((at, f"event X::ExecuteHelperOnSingleDevice {at}ms 0.5ms"))
        host.append((at + 0.1, f"event ThreadpoolListener::Record {at + 0.1}ms 0 _p={i}"))
        worker.append((ops[0][0], f"event ThreadpoolListener::StartRegion {ops[0][0]}ms 0 _c={i}"))
        for start, duration in ops:
            stats = (
                f"hlo_op=dot.{i} hlo_module=jit_f run_id={i} device_ordinal={(device or [0])[0]}"
            )
            worker.append((start, f"event dot.{i} {start}ms {duration}ms {stats}"))
        end = sum(ops[-1])
        worker.append((end, f"event ThreadpoolListener::StopRegion {end}ms 0"))
    for name, start, duration in regions:
        host.append((start - 0.01, f"event {name} {start}ms {duration}ms"))
    for number, start, duration in steps:
        host.append((start - 0.02, f"event train {start}ms {duration}ms step_num={number}"))

    def line(events):
        ordered = sorted(events, key=lambda event: event[0])
        return "\n".join("    " + words for _, words in ordered)

    return (
        f"host h\nwindow 0 {window}ms\nplane /host:CPU\n  line python id=1\n{line(host)}\n"
        f"  line tf_XLAEigen/1 id=2\n{line(worker)}\n"
    )


@pytest.fixture
def says(program, tmp_path):
    """The lines above the tables, and the whole answer."""

    def run(text: str, *chosen: str, cut: int | None = None, status: int = 0):
        made = traced(tmp_path, text)
        if cut is not None:
            made.write_bytes(made.read_bytes()[:cut])
        outputs = [
            subprocess.run(
                [program, "summary", *options, *chosen, made],
                capture_output=True,
                text=True,
                timeout=60,
            )
            for options in ([], ["--json"], ["--html", "-"])
        ]
        assert [done.returncode for done in outputs] == [status] * 3, outputs[0].stderr
        page, answer, html = (done.stdout for done in outputs)
        lines = page.split("\n\n")[0].splitlines()
        assert f"<h1>{lines[0]}" in html.replace('<bdi class="name">', "").replace("</bdi>", "")
        return lines, json.loads(answer)

    return run


def test_waiting_outside_every_region_is_told_as_that(says):
    executions = [(10, [(11, 9)]), (60, [(61, 9)]), (80, [(81, 19)])]
    lines, answer = says(recipe(100, executions, regions=[("step", 20.5, 5)]))
    (device,) = answer["devices"]
    assert device["idle_by_cause"] == {
        "host": 52_000_000_000,
        "between": 0,
        "edge": 11_000_000_000,
        "unknown": 0,
    }
    assert lines[0] == (
        "The device waited 63.0 % of the time, 74.6 % of that outside every region, "
        "the next work not launched yet."
    ), "52 - 5 of 63"
    assert "step" not in lines[0] + lines[1], "8 % is not worth a name"
    assert lines[1].startswith("Launch that work earlier; ")


def test_the_region_to_blame_is_the_one_before_a_launch(says):
    """`big` has most idle time behind it, but its work was launched; `input` is to blame."""
    executions = [
        (5, [(10, 1), (50, 1)]),  # 39 ms between, in big
        (96, [(97, 3)]),  # 46 ms after the op, while input ran
    ]
    regions = [("big", 9.5, 40), ("input", 51.5, 44)]
    lines, answer = says(recipe(100, executions, regions=regions))
    assert lines[0] == (
        "The device waited 95.0 % of the time, 46.3 % of that behind input, "
        "the next work not launched yet."
    ), "44 of 95"
    assert lines[1] == (
        "Launch that work earlier, or make input shorter. "
        "Another 41.1 % of the waiting was between ops already launched."
    )
    big, behind_input = (
        next(part for part in answer["devices"][0]["idle_by_region"] if part["region"] == name)
        for name in ("big", "input")
    )
    assert big["by_cause"]["between"] == 38_500_000_000 and big["by_cause"]["host"] == 0
    assert behind_input["by_cause"]["host"] == 44_000_000_000
    for region in answer["regions"]:
        part = big if region["name"] == "big" else behind_input
        assert region["idle_behind_by_cause"] == part["by_cause"]


def test_waiting_between_ops_blames_no_region(says):
    executions = [(1, [(2, 10), (30, 10), (60, 10), (90, 10)])]
    lines, _ = says(recipe(100, executions, regions=[("input", 3, 90)]))
    assert lines[0] == (
        "The device waited 60.0 % of the time, 96.7 % of that between ops whose work was already "
        "launched."
    )
    assert lines[1].startswith("Launching earlier does not help there: ")
    assert "on a CPU, at what else runs on its cores (100.0 % of it while" in lines[1]
    assert "make input shorter" not in lines[1]


def test_a_busy_device_is_said_to_be_busy_and_with_what(says):
    executions = [(0, [(1, 59)]), (10, [(61, 39)])]
    lines, _ = says(recipe(100, executions, regions=[("step", 0.2, 2)]))
    assert lines[0] == ("The device was busy 98.0 % of the time, 100.0 % of its op time in jit_f.")
    assert lines[1] == "Its largest op is dot.1, 60.2 % of the op time."


def test_a_device_that_is_not_used_does_not_speak_for_the_others(says):
    executions = [(1, [(2, 10)]), (50, [(51, 40)]), (95, [(95.5, 0.1)], 1)]
    lines, answer = says(recipe(100, executions, regions=[("input", 13, 30)]))
    assert [d["used"] for d in answer["devices"]] == [True, False]
    assert lines[0] == (
        "The device waited 50.0 % of the time, 60.0 % of that behind input, "
        "the next work not launched yet."
    )
    assert "cpu:1 was hardly used (busy 100.0 us) and is left out above." in lines
    lines, answer = says(
        "host h\nwindow 0 10ms\n"
        + "".join(
            f'plane /device:GPU:{i}\n  line "Stream #1(Kernel)"\n    event k{i} 9ms 1ms\n'
            for i in (0, 1)
        )
    )
    assert lines[0].startswith("The devices waited 90.0 % of the time, 100.0 % of that before the")
    assert [d["used"] for d in answer["devices"]] == [True, True]


def test_damage_comes_first(says):
    text = recipe(100, [(10, [(11, 9)])], regions=[("step", 20.5, 5)])
    lines, answer = says(text, cut=300, status=3)
    at = answer["receipt"]["damaged_at"]
    assert lines[0] == (
        f"The file is damaged at byte {at}. In what is whole of it there is no device work."
    )


def test_steps_whose_work_ran_later_are_told_so(says):
    """The loop dispatches ahead: work of steps 0 and 1 begins when the loop has ended."""
    text = recipe(
        100,
        [(1, [(20, 10)]), (4, [(30, 12)]), (7, [(42, 9)])],
        steps=[(0, 0.5, 2), (1, 3.5, 2), (2, 6.5, 40)],
    )
    lines, answer = says(text, "--step", "0:1")
    assert lines[0] == "No device op began during these steps."
    assert answer["empty"]["ops"] == "no device op began during these steps"
    receipt = answer["receipt"]
    assert (receipt["ops_later"], receipt["ops_later_ps"]) == (2, 22 * 10**9)
    (warning,) = answer["warnings"]
    assert warning.startswith("2 ops (22.0 ms) that these steps launched began after the last step")
    for all_of_them in ([], ["--step", "0:2"]):
        _, answer = says(text, *all_of_them)
        assert answer["receipt"]["ops_later"] == 0 and not answer["warnings"]


def test_one_step_is_one_step(says):
    lines, _ = says(recipe(100, [(10, [(11, 9)])], steps=[(0, 5, 50)]))
    assert "1 step, 50.00 ms." in lines
    lines, _ = says(recipe(100, [(10, [(11, 9)])], steps=[(0, 5, 40), (1, 50, 40)]))
    assert "2 steps, median 40.00 ms, slowest 40.00 ms." in lines


def test_compilation_inside_the_window_is_told_before_anything_else(says):
    for name, told in (("f", True), ("copy", False)):  # a Profiler's own stop compiles `copy`
        call = [(f"PjitFunction({name})", 1, 40), ("backend_compile", 2, 30)]
        lines, answer = says(recipe(100, [(60, [(61, 9)])], regions=call))
        assert answer["receipt"]["compilation_ps"] == 30 * 10**9
        said = (
            "Compilation took 30.0 % of the time: run a step before the capture starts. "
            in lines[1]
        )
        assert said == told, lines


#: in the order in which they may be left out, and those that never are
COLUMNS = {
    "Devices": "device busy idle not_launched between".split(),
    "Regions": "region total launched idle_behind".split(),
    "Idle time": "idle_behind time not_launched".split(),
    "Device ops": "op module total".split(),
}


@pytest.fixture
def page(program, tmp_path):
    """The page at a width: its tables by heading, as lines."""

    def run(text: str, width: int | None):
        made = traced(tmp_path, text)
        environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
        if width:
            environment["COLUMNS"] = str(width)
        done = subprocess.run(
            [program, "summary", made], capture_output=True, text=True, timeout=60, env=environment
        )
        assert done.returncode == 0, done.stderr
        parts = [part.splitlines() for part in done.stdout.split("\n\n")[1:]]
        return {part[0]: part[1:] for part in parts}

    return run


def table(lines: list[str]) -> tuple[list[str], list[str]]:
    """What stands in a table, and the sentences below it."""
    rows = [line for line in lines if not line.startswith("  ")]
    return rows, [line for line in lines if line.startswith("  ")]


WIDE = [("evaluation", 12, 3), ("input.wait", 22, 5), ("x" * 40 + ".1", 40, 2)]


@pytest.mark.parametrize("width", [60, 72, 80, 100])
def test_a_narrow_page_leaves_columns_out_and_says_which(page, width):
    text = recipe(100, [(10, [(11, 9)]), (60, [(61, 9)])], regions=WIDE)
    whole, narrow = page(text, None), page(text, width)
    for heading, kept in COLUMNS.items():
        rows, told = table(narrow[heading])
        assert max(map(len, rows)) <= width, heading
        titles = table(whole[heading])[0][0]
        for title in kept:
            assert title.replace("_", " ") in rows[0], heading
        left_out = [
            t for line in told if "no room for" in line for t in line[14:].split(";")[0].split(", ")
        ]
        assert all(title in titles and f" {title} " not in f" {rows[0]} " for title in left_out)
        assert bool(left_out) == (len(rows[0].split()) < len(titles.split())), heading
        for line in told:
            if "no room for" in line:
                enough = int(line.rsplit("COLUMNS=", 1)[1].rstrip(")"))
                assert not any("no room" in words for words in page(text, enough)[heading])
                assert any("no room" in words for words in page(text, enough - 1)[heading])
    assert not any("no room" in line for lines in whole.values() for line in lines)


def test_names_are_never_cut_so_far_that_they_look_alike(page):
    names = ["a/long/path/to/the/region.one", "a/long/path/to/the/region.two", "日本語の名前"]
    regions = [(name, 12 + 10 * i, 3) for i, name in enumerate(names)]
    text = recipe(100, [(10, [(11, 1)])], regions=regions)
    rows, _ = table(page(text, 40)["Regions"])
    assert len(rows) == 4
    for name in names[:2]:
        assert any(row.startswith(name[:27]) for row in rows), "the first letter that differs"
    assert any(row.startswith("日本語の名前 ") for row in rows)
    regions = [
        (name, 12 + 10 * i, 3) for i, name in enumerate(["one" + "." * 60, "two" + "." * 60])
    ]
    text = recipe(100, [(10, [(11, 1)])], regions=regions)
    rows, _ = table(page(text, 60)["Regions"])
    assert {row.split()[0][:3] for row in rows[1:]} == {"one", "two"}
    assert all("…" in row and len(row) <= 60 for row in rows[1:])


def test_a_window_without_length_is_told_as_that(says):
    lines, answer = says(
        "host h\nwindow 5ms 0\nplane /host:CPU\n  line python id=1\n"
        "    event dot.1 5ms 0 hlo_op=dot.1 hlo_module=jit_f device_ordinal=0 run_id=1\n"
    )
    assert answer["window_ps"] == 0
    assert lines[0] == "The window has no length." and lines[1].startswith(
        "0 window, cpu, 1 event,"
    )

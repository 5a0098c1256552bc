# SPDX-License-Identifier: Apache-2.0
"""Which region `dew-profile summary` says launched what, on CPU captures made from recipes."""

from __future__ import annotations

from recipes import CPU, MS, NO_REGION, idle, launch, op, region, start, stop


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

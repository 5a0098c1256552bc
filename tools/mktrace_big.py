# SPDX-License-Identifier: Apache-2.0
"""Big captures in the shape of a JAX CPU capture: steps, a region, links from launch to op.

Each step has the same events, so they are encoded once and only what changes is put in: offsets,
ids of links, run_id and step_num. On one line `python` a step `train` holds the region
`region.compute`, the launch call and its producer; on a worker's line stand the consumer, then the
ops with their end markers and the thread pool's own events. The truth of a capture of N steps is
`facts(N)`.
"""

from __future__ import annotations

import dataclasses
import pathlib

from xplane_writer import Plane, Ref, Space, chunk, integer, tag, text, us, varint

OPS_A_STEP = 16
STEP_PS = us(7_000)
OP_PS = us(300)
OP_GAP_PS = us(50)
SOURCE = "external/xla+/xla/backends/cpu/runtime/thunk_executor.cc"
LISTENER = "external/xla+/xla/tsl/profiler/backends/cpu/threadpool_listener.cc"
FIRST_RUN_ID = 1_012_228_341
HOST_EVENTS_A_STEP = 12
WORKER_EVENTS_A_STEP = 2 + OPS_A_STEP * 4
EVENTS_A_STEP = HOST_EVENTS_A_STEP + WORKER_EVENTS_A_STEP


@dataclasses.dataclass(frozen=True)
class Facts:
    steps: int
    events: int
    ops: int
    op_time_ps: int
    window_ps: int
    region_total_ps: int


def facts(steps: int) -> Facts:
    return Facts(
        steps,
        steps * EVENTS_A_STEP,
        steps * OPS_A_STEP,
        steps * OPS_A_STEP * OP_PS,
        steps * STEP_PS,
        steps * us(150),
    )


def steps_for(events: int) -> int:
    return max(1, -(-events // EVENTS_A_STEP))


class Template:
    """One event of a step: a start within the step and stats, of which some change."""

    def __init__(
        self,
        plane: Plane,
        name: str,
        start_ps: int,
        duration_ps: int,
        before: bytes = b"",
        changing: tuple[str, bool] | None = None,
        after: bytes = b"",
    ) -> None:
        self.head = integer(1, plane.event_names.id(name)) + tag(2, 0)
        self.start_ps = start_ps
        self.duration = integer(3, duration_ps) + before
        self.changing = None
        if changing:
            key, unsigned = changing
            self.changing = integer(1, plane.stat_names.id(key)) + tag(3 if unsigned else 4, 0)
        self.after = after

    def encode(self, step_start_ps: int, value: int) -> bytes:
        body = self.head + varint(step_start_ps + self.start_ps) + self.duration
        if self.changing:
            body += chunk(4, self.changing + varint(value))
        body += self.after
        return chunk(4, body)


def host_templates(plane: Plane) -> list[Template]:
    source = chunk(4, plane.stat("_src", Ref(LISTENER)))
    producer = chunk(4, plane.stat("_pt", 15))
    root = chunk(4, plane.stat("_r", 1))
    plain = [
        ("region.compute", 6, 150),
        ("PjitFunction(step)", 11, 140),
        ("PjitFunction(step)", 12, 139),
        ("PythonRefManager::CollectGarbage", 13, 2),
        ("ParseArguments", 20, 4),
        ("CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice", 77, 60),
        ("CommonPjRtLoadedExecutable::ExecutePrepare", 78, 29),
        ("Handle inputs", 84, 9),
        ("AllocateOutputBuffersWithInputReuse", 95, 9),
    ]
    return [
        Template(plane, "train", us(1), us(6_900), root, ("step_num", False)),
        *[Template(plane, name, us(start), us(duration)) for name, start, duration in plain],
        Template(plane, "ThreadpoolListener::Record", us(118), 0, producer, ("_p", True), source),
        Template(plane, "Handle input event recording", us(128), us(1)),
    ]


def worker_templates(plane: Plane) -> list[Template]:
    source = chunk(4, plane.stat("_src", Ref(LISTENER)))
    made = [
        Template(
            plane,
            "ThreadpoolListener::StartRegion",
            us(200),
            0,
            chunk(4, plane.stat("_ct", 15)),
            ("_c", True),
            source,
        )
    ]
    at_ps = us(220)
    for i in range(OPS_A_STEP):
        op = f"dot.{i // 2}" if i % 2 == 0 else f"wrapped_tanh.{i // 2}"
        before = b"".join(
            chunk(4, plane.stat(key, value))
            for key, value in (
                ("hlo_op", Ref(op)),
                ("hlo_module", Ref("jit_step")),
                ("program_id", 6),
            )
        )
        after = b"".join(
            chunk(4, plane.stat(key, value))
            for key, value in (("device_ordinal", 0), ("_src", Ref(SOURCE)))
        )
        made += [
            Template(plane, op, at_ps, OP_PS, before, ("run_id", False), after),
            Template(
                plane,
                "ThreadpoolListener::Record",
                at_ps + us(5),
                0,
                chunk(4, plane.stat("_pt", 15)),
                ("_p", True),
                source,
            ),
            Template(plane, f"end: {op}", at_ps + OP_PS + us(1), us(0.4)),
            Template(plane, "SlinkyThreadPool::Await", at_ps + OP_PS + us(2), us(30)),
        ]
        at_ps += OP_PS + OP_GAP_PS
    made.append(Template(plane, "ThreadpoolListener::StopRegion", at_ps, 0, source))
    return made


def encode_line(name: str, id: int, templates: list[Template], steps: int, host: bool) -> bytes:
    parts = [integer(1, id), text(2, name)]
    for step in range(steps):
        start_ps = step * STEP_PS
        for i, template in enumerate(templates):
            if host:
                value = step if i == 0 else 1 + step
            else:
                key = template.changing
                value = 1 + step if i == 0 else (1 << 40) + step * OPS_A_STEP + i
                if key and i % 4 == 1:
                    value = FIRST_RUN_ID + step
            parts.append(template.encode(start_ps, value))
    return b"".join(parts)


def write_big(path: pathlib.Path, events: int) -> Facts:
    """Writes a capture of at least `events` events (whole steps) and returns what is in it."""
    steps = steps_for(events)
    space = Space("host")
    plane = Plane("/host:CPU", 2)
    host, worker = host_templates(plane), worker_templates(plane)
    lines = [
        chunk(3, encode_line("python", 1, host, steps, True)),
        chunk(3, encode_line("tf_XLAEigen/1", 2, worker, steps, False)),
    ]
    names = plane.encode()  # no lines in it: id and name, then the tables
    head = integer(1, plane.id) + text(2, plane.name)
    body = head + b"".join(lines) + names[len(head) :]
    start_ns = 1_700_000_000 * 1_000_000_000
    space.window(start_ns, start_ns + steps * STEP_PS // 1000)
    with path.open("wb") as out:
        out.write(chunk(1, body))
        out.write(space.encode())
    return facts(steps)

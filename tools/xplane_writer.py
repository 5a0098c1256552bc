# SPDX-License-Identifier: Apache-2.0
"""Writes XPlane captures: a small protobuf encoder and the messages as Python objects.

    space = Space()
    ops = space.plane("/device:TPU:0").line("XLA Ops")
    ops.event("fusion.1", start_ps=us(10), duration_ps=us(5), stats={"run_id": 7})
    pathlib.Path("t.xplane.pb").write_bytes(space.encode())

Fields are written in the order of their numbers, as JAX writes them, so a line's name precedes its
events and a plane's names follow its lines. The field numbers are those of docs/xplane.md. Used by
tests and by mktrace.py; it needs nothing but Python.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

VARINT, FIXED64, BYTES = 0, 1, 2


def us(microseconds: float | str | Decimal) -> int:
    """Microseconds as whole picoseconds; exact for a str, an int or a Decimal."""
    return ps_of(Decimal(str(microseconds)), 1_000_000)


def ps_of(amount: Decimal, unit_ps: int) -> int:
    picoseconds = amount * unit_ps
    if picoseconds != picoseconds.to_integral_value():
        raise ValueError(f"{amount} is not a whole number of picoseconds")
    return int(picoseconds)


def varint(value: int) -> bytes:
    """A protobuf varint; a negative int64 takes ten bytes, as the format has it."""
    if not -(1 << 63) <= value < 1 << 64:
        raise ValueError(f"{value} does not fit in 64 bits")
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def integer(number: int, value: int) -> bytes:
    """An integer field; nothing for 0, which protobuf leaves out."""
    return tag(number, VARINT) + varint(value) if value else b""


def chunk(number: int, data: bytes) -> bytes:
    return tag(number, BYTES) + varint(len(data)) + data


def text(number: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return chunk(number, data) if data else b""


@dataclasses.dataclass(frozen=True)
class Unsigned:
    """A stat stored as uint64_value; a plain int is stored as int64_value."""

    value: int


@dataclasses.dataclass(frozen=True)
class Ref:
    """A stat stored as ref_value: a text kept once, as the name of a stat metadata entry."""

    value: str


StatValue = int | float | str | bytes | Unsigned | Ref


class Names:
    """Ids for names, from 1 up in order of first use."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def id(self, name: str) -> int:
        return self.ids.setdefault(name, len(self.ids) + 1)


class Event:
    def __init__(
        self,
        name: str,
        start_ps: int,
        duration_ps: int,
        stats: Mapping[str, StatValue] | list[tuple[str, StatValue]],
        occurrences: int | None = None,
    ) -> None:
        self.name = name
        self.start_ps = start_ps
        self.duration_ps = duration_ps
        self.stats = list(stats.items()) if isinstance(stats, Mapping) else list(stats)
        self.occurrences = occurrences

    def encode(self, plane: Plane) -> bytes:
        out = integer(1, plane.event_names.id(self.name))
        if self.occurrences is None:
            out += integer(2, self.start_ps)
        out += integer(3, self.duration_ps)
        for name, value in self.stats:
            out += chunk(4, plane.stat(name, value))
        if self.occurrences is not None:
            out += tag(5, VARINT) + varint(self.occurrences)
        return out


class Line:
    """A timeline. `start_ps` of its events counts from `timestamp_ns`."""

    def __init__(
        self,
        plane: Plane,
        name: str,
        id: int,
        timestamp_ns: int = 0,
        display_name: str = "",
        duration_ps: int = 0,
    ) -> None:
        self.plane = plane
        self.name = name
        self.id = id
        self.timestamp_ns = timestamp_ns
        self.display_name = display_name
        self.duration_ps = duration_ps
        self.events: list[Event] = []

    def event(
        self,
        name: str,
        start_ps: int,
        duration_ps: int = 0,
        stats: Mapping[str, StatValue] | list[tuple[str, StatValue]] = {},  # noqa: B006
    ) -> Event:
        made = Event(name, start_ps, duration_ps, stats)
        self.events.append(made)
        return made

    def aggregate(
        self, name: str, occurrences: int, duration_ps: int, stats: Mapping[str, StatValue] = {}
    ) -> Event:  # noqa: B006
        made = Event(name, 0, duration_ps, stats, occurrences)
        self.events.append(made)
        return made

    def encode(self) -> bytes:
        parts = [integer(1, self.id), text(2, self.name), integer(3, self.timestamp_ns)]
        parts += [chunk(4, event.encode(self.plane)) for event in self.events]
        parts += [integer(9, self.duration_ps), text(11, self.display_name)]
        return b"".join(parts)


class Plane:
    def __init__(self, name: str, id: int) -> None:
        self.name = name
        self.id = id
        self.lines: list[Line] = []
        self.stats: list[tuple[str, StatValue]] = []
        self.event_names = Names()
        self.stat_names = Names()
        self.display_names: dict[str, str] = {}
        self.event_stats: dict[str, list[tuple[str, StatValue]]] = {}

    def line(self, name: str, id: int | None = None, **fields: Any) -> Line:
        made = Line(self, name, len(self.lines) + 1 if id is None else id, **fields)
        self.lines.append(made)
        return made

    def metadata(
        self, event_name: str, display_name: str = "", stats: Mapping[str, StatValue] = {}
    ) -> None:  # noqa: B006
        """What all events of this name share."""
        self.event_names.id(event_name)
        self.display_names[event_name] = display_name
        self.event_stats[event_name] = list(stats.items())

    def stat(self, name: str, value: StatValue) -> bytes:
        out = integer(1, self.stat_names.id(name))
        match value:
            case bool():
                raise TypeError(f"the stat {name} cannot be a bool")
            case int():
                return out + tag(4, VARINT) + varint(value)
            case float():
                return out + tag(2, FIXED64) + struct.pack("<d", value)
            case Unsigned(value=number):
                return out + tag(3, VARINT) + varint(number)
            case Ref(value=target):
                return out + tag(7, VARINT) + varint(self.stat_names.id(target))
            case str():
                return out + chunk(5, value.encode())
            case bytes():
                return out + chunk(6, value)
        raise TypeError(f"the stat {name} cannot be a {type(value).__name__}")

    def encode(self) -> bytes:
        parts = [integer(1, self.id), text(2, self.name)]
        parts += [chunk(3, line.encode()) for line in self.lines]
        own = [chunk(6, self.stat(name, value)) for name, value in self.stats]
        for name, id in self.event_names.ids.items():
            entry = integer(1, id) + text(2, name) + text(4, self.display_names.get(name, ""))
            for stat_name, value in self.event_stats.get(name, []):
                entry += chunk(5, self.stat(stat_name, value))
            parts.append(chunk(4, integer(1, id) + chunk(2, entry)))
        for name, id in self.stat_names.ids.items():
            entry = integer(1, id) + text(2, name)
            parts.append(chunk(5, integer(1, id) + chunk(2, entry)))
        return b"".join(parts + own)


class Space:
    def __init__(self, hostname: str = "host") -> None:
        self.hostname = hostname
        self.planes: list[Plane] = []
        self.errors: list[str] = []
        self.warnings: list[str] = []

    def plane(self, name: str, id: int | None = None) -> Plane:
        made = Plane(name, len(self.planes) + 1 if id is None else id)
        self.planes.append(made)
        return made

    def window(self, start_ns: int, stop_ns: int) -> Plane:
        """The plane by which JAX says when the capture began and ended, in ns since 1970."""
        made = self.plane("Task Environment")
        made.stats = [
            ("profile_start_time", Unsigned(start_ns)),
            ("profile_stop_time", Unsigned(stop_ns)),
        ]
        return made

    def encode(self) -> bytes:
        parts = [chunk(1, plane.encode()) for plane in self.planes]
        parts += [chunk(2, error.encode()) for error in self.errors]
        parts += [chunk(3, warning.encode()) for warning in self.warnings]
        return b"".join(parts) + text(4, self.hostname)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes XPlane captures for tests: from a text recipe, or big ones shaped like a CPU capture.

    mktrace.py RECIPE.txt OUT.xplane.pb
    mktrace.py --big EVENTS OUT.xplane.pb

A recipe has one statement a line; `#` starts a comment; leading blanks are free.

    host NAME                         the host name at the end of the file
    error TEXT / warning TEXT         what the collector reports
    window START STOP                 the plane `Task Environment`; times from 1970 as EPOCH + time
    plane NAME [id=N]                 the statements below are about this plane
      stat KEY VALUE                  a stat of the plane
      meta NAME [display=TEXT] KEY=VALUE...     what all events of that name share
      line NAME [id=N] [at=TIME] [display=TEXT] [duration=TIME]     a timeline; `at` moves its zero
        event NAME START DURATION KEY=VALUE...
        aggregate NAME OCCURRENCES DURATION KEY=VALUE...
        repeat COUNT every TIME [as NAME]       statements up to `end`, each round that much later
        end

Times are decimal numbers with ps, ns, us, ms or s behind them; without a unit they are
microseconds. Names with blanks stand in double quotes, with JSON's escapes. Values: 12 (int64),
u:12 (uint64), f:1.5 (double), text or "text" (string), ref:text (a string kept among the stat
names), hex:00ff (bytes). Within a repeat, {i} is the round, from 0, and {i*2+1} a sum over it;
`as j` names it j; inner repeats see the outer names. Events stand in the file in the order of the
recipe, so a recipe can write a line out of order. EPOCH is 1 700 000 000 s.
"""

from __future__ import annotations

import argparse
import ast
import json
import operator
import pathlib
import re
import sys
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from xplane_writer import (  # noqa: E402
    Line,
    Plane,
    Ref,
    Space,
    StatValue,
    Unsigned,
    ps_of,
)

EPOCH_NS = 1_700_000_000 * 1_000_000_000
UNITS_PS = {
    "ps": 1,
    "ns": 1_000,
    "us": 1_000_000,
    "ms": 1_000_000_000,
    "s": 1_000_000_000_000,
    "": 1_000_000,
}
TOKEN = re.compile(r'(?:[^\s"#]|"(?:[^"\\]|\\.)*")+|#.*')
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


class RecipeError(ValueError):
    """What is wrong with a recipe, with the line where it is."""


def evaluate(expression: str, rounds: dict[str, int]) -> int:
    def walk(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as value):
                return value
            case ast.Name(id=name) if name in rounds:
                return rounds[name]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return int(OPERATORS[type(op)](walk(left), walk(right)))
        raise ValueError(f"{{{expression}}} is not a sum over {', '.join(rounds) or 'a repeat'}")

    return walk(ast.parse(expression, mode="eval").body)


def unquote(token: str) -> str:
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda quoted: str(json.loads(quoted[0])), token)


def parse_time_ps(token: str) -> int:
    found = re.fullmatch(r"([-+0-9._]+)(ps|ns|us|ms|s|)", token)
    if not found:
        raise ValueError(f"'{token}' is not a time")
    try:
        return ps_of(Decimal(found[1].replace("_", "")), UNITS_PS[found[2]])
    except InvalidOperation:
        raise ValueError(f"'{token}' is not a time") from None


def parse_value(token: str) -> StatValue:
    kind, colon, rest = token.partition(":")
    if colon and kind == "u":
        return Unsigned(int(rest))
    if colon and kind == "f":
        return float(rest)
    if colon and kind == "ref":
        return Ref(unquote(rest))
    if colon and kind == "hex":
        return bytes.fromhex(rest)
    if re.fullmatch(r"[-+]?\d+", token):
        return int(token)
    return unquote(token)


def parse_pairs(tokens: list[str]) -> list[tuple[str, StatValue]]:
    pairs = []
    for token in tokens:
        key, equals, value = token.partition("=")
        if not equals:
            raise ValueError(f"'{token}' is not KEY=VALUE")
        pairs.append((unquote(key), parse_value(value)))
    return pairs


class Recipe:
    """Carries out the statements of a recipe."""

    def __init__(self) -> None:
        self.space = Space()
        self.plane: Plane | None = None
        self.line: Line | None = None

    def run(
        self, statements: list[tuple[int, list[str]]], rounds: dict[str, int], shift_ps: int
    ) -> None:
        at = 0
        while at < len(statements):
            number, raw = statements[at]
            at += 1
            try:
                tokens = [
                    re.sub(r"\{([^}]*)\}", lambda m: str(evaluate(m[1], rounds)), t) for t in raw
                ]
                if tokens[0] != "repeat":
                    self.statement(tokens, shift_ps)
                    continue
                body = self.body(statements, at)
                count, every_ps, name = self.repeat(tokens)
            except RecipeError:
                raise
            except (ValueError, TypeError, SyntaxError, IndexError) as wrong:
                raise RecipeError(f"line {number}: {wrong}") from None
            for turn in range(count):
                self.run(body, rounds | {name: turn}, shift_ps + turn * every_ps)
            at += len(body) + 1

    @staticmethod
    def body(statements: list[tuple[int, list[str]]], at: int) -> list[tuple[int, list[str]]]:
        depth = 1
        for end in range(at, len(statements)):
            word = statements[end][1][0]
            depth += (word == "repeat") - (word == "end")
            if depth == 0:
                return statements[at:end]
        raise ValueError("this repeat has no end")

    @staticmethod
    def repeat(tokens: list[str]) -> tuple[int, int, str]:
        match tokens:
            case ["repeat", count, "every", time]:
                return int(count), parse_time_ps(time), "i"
            case ["repeat", count, "every", time, "as", name]:
                return int(count), parse_time_ps(time), name
        raise ValueError("a repeat is: repeat COUNT every TIME [as NAME]")

    def statement(self, tokens: list[str], shift_ps: int) -> None:
        match tokens:
            case ["host", name]:
                self.space.hostname = unquote(name)
            case ["error", words]:
                self.space.errors.append(unquote(words))
            case ["warning", words]:
                self.space.warnings.append(unquote(words))
            case ["window", start, stop]:
                first, last = (EPOCH_NS + parse_time_ps(t) // 1000 for t in (start, stop))
                self.space.window(first, last)
            case ["plane", name, *options]:
                self.plane = self.space.plane(unquote(name), **self.options(options, {"id"}))
                self.line = None
            case ["stat", key, value]:
                self.a_plane().stats.append((unquote(key), parse_value(value)))
            case ["meta", name, *pairs]:
                fields = dict(parse_pairs(pairs))
                self.a_plane().metadata(unquote(name), str(fields.pop("display", "")), fields)
            case ["line", name, *options]:
                keywords = self.options(options, {"id", "at", "display", "duration"})
                self.line = self.a_plane().line(unquote(name), **keywords)
            case ["event", name, start, duration, *pairs]:
                self.a_line().event(
                    unquote(name),
                    parse_time_ps(start) + shift_ps,
                    parse_time_ps(duration),
                    parse_pairs(pairs),
                )
            case ["aggregate", name, occurrences, duration, *pairs]:
                self.a_line().aggregate(
                    unquote(name),
                    int(occurrences),
                    parse_time_ps(duration),
                    dict(parse_pairs(pairs)),
                )
            case _:
                raise ValueError(f"no such statement, or not with these words: {' '.join(tokens)}")

    def a_plane(self) -> Plane:
        if self.plane is None:
            raise ValueError("this belongs to a plane, and there is none above")
        return self.plane

    def a_line(self) -> Line:
        if self.line is None:
            raise ValueError("this belongs to a line, and there is none above in this plane")
        return self.line

    @staticmethod
    def options(tokens: list[str], known: set[str]) -> dict[str, Any]:
        found: dict[str, int | str] = {}
        for token in tokens:
            key, equals, value = token.partition("=")
            if not equals or key not in known:
                raise ValueError(f"'{token}' is none of {', '.join(sorted(known))}")
            if key == "id":
                found["id"] = int(value)
            elif key == "at":
                found["timestamp_ns"] = parse_time_ps(value) // 1000
            elif key == "duration":
                found["duration_ps"] = parse_time_ps(value)
            else:
                found["display_name"] = unquote(value)
        return found


def parse(recipe: str) -> Space:
    """The capture that a recipe's text describes."""
    statements = []
    for number, line in enumerate(recipe.splitlines(), 1):
        tokens = [token for token in TOKEN.findall(line) if not token.startswith("#")]
        if tokens:
            statements.append((number, tokens))
    made = Recipe()
    made.run(statements, {}, 0)
    return made.space


def fail(words: object) -> NoReturn:
    sys.exit(f"mktrace.py: {words}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="mktrace.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipe", nargs="?", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument(
        "--big", type=int, metavar="EVENTS", help="a CPU-shaped capture of about that many events"
    )
    given = parser.parse_args(arguments)
    if (given.recipe is None) == (given.big is None):
        fail("give a recipe or --big EVENTS")
    try:
        if given.big is not None:
            from mktrace_big import write_big

            write_big(given.out, given.big)
        else:
            given.out.write_bytes(parse(given.recipe.read_text()).encode())
    except (RecipeError, OSError) as wrong:
        fail(f"{given.recipe or given.out}: {wrong}")


if __name__ == "__main__":
    main()

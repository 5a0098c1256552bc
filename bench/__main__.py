# SPDX-License-Identifier: Apache-2.0
"""Every speed and memory promise: both sides, their ratio, the limit.

python -m bench [--quick] [--only NAME...] [--json FILE] [--strict]
python -m bench --markdown FILE.json...   the table of finished runs, for a document
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import pathlib
import sys
import tempfile

from bench.harness import ROOT, Line, Plan, machine
from bench.table import markdown, print_line

SUBJECTS = {
    "import": "startup",
    "region": "region",
    "capture": "capture",
    "reports": "reports",
    "summary": "summary",
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs, fewer events")
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, metavar="NAME", default=[*SUBJECTS])
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "build/bench/result.json")
    parser.add_argument("--strict", action="store_true", help="status 1 where a line fails")
    parser.add_argument("--markdown", type=pathlib.Path, nargs="+", metavar="FILE")
    return parser.parse_args()


def measure(plan: Plan, names: list[str]) -> tuple[list[Line], dict[str, str]]:
    found: list[Line] = []
    errors: dict[str, str] = {}
    for name in names:
        try:
            lines = importlib.import_module(f"bench.{SUBJECTS[name]}").lines(plan)
        except Exception as error:  # the others are measured all the same
            errors[name] = f"{type(error).__name__}: {error}"
            print(f" ???  {name} could not be measured: {errors[name]}", flush=True)
            continue
        for line in lines:
            print_line(line)
        found += lines
    return found, errors


def main() -> int:
    args = arguments()
    if args.markdown:
        print(markdown([json.loads(file.read_text()) for file in args.markdown]))
        return 0
    about = machine()
    (ROOT / "build/bench").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build/bench") as folder:
        found, errors = measure(Plan(args.quick, pathlib.Path(folder)), args.only)
    result = {
        "schema": 1,
        "when_utc": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "quick": args.quick,
        "machine": about,
        "lines": [line.to_json() for line in found],
        "errors": errors,
    }
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(result, indent=1) + "\n")
    failed = sum(line.passed() is False for line in found)
    print(f"{len(found)} lines, {failed} above their limit; all samples in {args.json}")
    return 1 if errors or (args.strict and failed) else 0


if __name__ == "__main__":
    sys.exit(main())

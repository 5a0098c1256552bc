# SPDX-License-Identifier: Apache-2.0
"""The benchmark runs and tells both sides. No time is asserted: that is for a quiet machine."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def bench(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *map(str, arguments)],
        cwd=REPOSITORY,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    file = tmp_path_factory.mktemp("bench") / "result.json"
    ran = bench("--quick", "--only", "import", "region", "--json", file)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return file


def test_json_has_both_sides_of_every_line(result: pathlib.Path) -> None:
    found = json.loads(result.read_text())
    assert found["quick"] is True
    assert found["errors"] == {}
    assert found["machine"]["versions"]["jax"]
    assert [line["what"] for line in found["lines"]] == [
        "import of the module",
        "idle region",
        "idle region",
        "tracing region",
    ]
    for line in found["lines"]:
        assert len(line["ours"]) == len(line["theirs"]) > 1
        assert min(line["ours"]) > 0 and min(line["theirs"]) > 0
        assert line["value"] == pytest.approx(
            min(line["ours"]) / min(line["theirs"]) if line["by"] == "minimum" else line["value"]
        )
        assert line["pass"] == (line["value"] <= line["limit"])


def test_markdown_is_made_from_the_json(result: pathlib.Path) -> None:
    ran = bench("--markdown", result)
    assert ran.returncode == 0, ran.stderr
    rows = [row for row in ran.stdout.splitlines() if row.startswith("|")]
    assert len(rows) == 2 + 4
    assert "import jax" in rows[2]


def test_the_table_of_several_runs_has_each_ratio_and_passes_if_all_do(
    result: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    second = json.loads(result.read_text())
    second["lines"][0]["ours"] = [10 * second["lines"][0]["limit"]]
    second["lines"][0]["theirs"] = [1.0]
    other = tmp_path / "second.json"
    other.write_text(json.dumps(second))
    ran = bench("--markdown", result, other)
    assert ran.returncode == 0, ran.stderr
    before, after = (
        [row.split(" | ") for row in text.splitlines() if row.startswith("|")][2]
        for text in (bench("--markdown", result).stdout, ran.stdout)
    )
    limit = second["lines"][0]["limit"]
    assert after[4] == f"{before[4]}, {10 * limit:.4f}"
    assert after[6].startswith("NO")


def test_unknown_subject_is_a_usage_error() -> None:
    assert bench("--only", "nothing").returncode == 2

# SPDX-License-Identifier: Apache-2.0
"""The layer table holds for this tree, and its checker finds what breaks it."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from conftest import REPOSITORY

CHECKER = REPOSITORY / "tools" / "check_layers.py"
BANNED = '#include "base/banned.h"\n'


def run(source: pathlib.Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHECKER), str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_this_tree_keeps_its_layers() -> None:
    done = run(REPOSITORY / "src")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("wire/a.c", '#include "xplane/x.h"\n' + BANNED, "the layer wire may not include"),
        ("python/a.c", "#include <Python.h>\n" + BANNED, "belongs to python/py.h alone"),
        ("cli/a.c", "#include <dlfcn.h>\n" + BANNED, "belongs to xprof/ alone"),
        ("base/a.c", BANNED + "#include <stdio.h>\n", "must be the last include"),
        ("cli/a.c", '#include "cli/none.h"\n' + BANNED, "is no header of this project"),
        ("other/a.h", "", "'other' is no layer"),
    ],
)
def test_a_broken_layer_is_found(tmp_path: pathlib.Path, name: str, text: str, fault: str) -> None:
    for folder in ("base", "xplane", name.split("/")[0]):
        (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / "base" / "banned.h").write_text("")
    (tmp_path / "xplane" / "x.h").write_text("")
    (tmp_path / name).write_text(text)
    done = run(tmp_path)
    assert done.returncode == 1
    assert fault in done.stdout
    assert done.stdout.count("\n") == 1


def test_an_empty_tree_is_a_fault(tmp_path: pathlib.Path) -> None:
    assert run(tmp_path).returncode == 1

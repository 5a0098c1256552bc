# SPDX-License-Identifier: Apache-2.0
"""inspect.signature() and help() show what the stub says: names, kinds, defaults; and the types in
help(), since a C function's signature cannot carry annotations."""

from __future__ import annotations

import inspect
import pydoc

import pytest

import dew.telemetry.profile as module

SIGNATURES = {
    "require_profile_support": "()",
    "capture_options": "()",
    "active_profile": "()",
    "Profiler": "(directory=None, *, options=None)",
    "Profiler.region": "(self, /, name)",
    "Profiler.start": "(self, /)",
    "Profiler.stop": "(self, /)",
    "Profiler.__enter__": "(self, /)",
    "region": "(name)",
    "profile": "(directory=None, *, options=None)",
    "_Converter.xspace_to_tool_names": "(self, /, paths)",
    "_Converter.xspace_to_tool_data": "(self, /, paths, tool, params={})",
}
ANNOTATED = {
    "require_profile_support": "require_profile_support() -> _Converter",
    "capture_options": "capture_options() -> jax.profiler.ProfileOptions",
    "active_profile": "active_profile() -> Profiler | None",
    "region": "region(name: str) -> AbstractContextManager[None]",
    "_Converter.xspace_to_tool_names": "xspace_to_tool_names(paths: Sequence[str | os.PathLike[str]]) -> list[str]",
    "profile": "profile(directory: str | os.PathLike[str] | None = None, *,\n"
    "options: jax.profiler.ProfileOptions | None = None) -> Profiler",
}


def find(path: str) -> object:
    found: object = module
    for part in path.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize(("path", "wanted"), SIGNATURES.items())
def test_signature(path: str, wanted: str) -> None:
    assert str(inspect.signature(find(path))) == wanted  # type: ignore[arg-type]


@pytest.mark.parametrize(("path", "wanted"), ANNOTATED.items())
def test_help_shows_types(path: str, wanted: str) -> None:
    text = pydoc.plain(pydoc.render_doc(find(path)))
    flat = " ".join(text.split())
    assert " ".join(wanted.split()) in flat


@pytest.mark.parametrize("path", ["", *SIGNATURES])
def test_documented(path: str) -> None:
    found = find(path) if path else module
    assert len((inspect.getdoc(found) or "").split()) > (0 if path.endswith("__") else 5)


def test_module_of_public_names() -> None:
    for name in module.__all__:
        assert getattr(module, name).__module__ == "dew.telemetry.profile"
        assert getattr(module, name).__name__ == name

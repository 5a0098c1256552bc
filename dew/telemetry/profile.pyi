# SPDX-License-Identifier: Apache-2.0
"""Profile a JAX program, explicitly and process by process, in XProf's own format."""

import os
import pathlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Literal, Self, final

import jax.profiler

__all__ = [
    "require_profile_support",
    "capture_options",
    "active_profile",
    "Profiler",
    "region",
    "profile",
]

@final
class _Converter:
    @property
    def library(self) -> str: ...
    @property
    def version(self) -> str: ...
    def xspace_to_tool_names(self, paths: Sequence[str | os.PathLike[str]]) -> list[str]: ...
    def xspace_to_tool_data(
        self,
        paths: Sequence[str | os.PathLike[str]],
        tool: str,
        params: Mapping[str, Any] = {},
    ) -> tuple[bytes, str]: ...

class Profiler:
    reports: Literal["wait", "background", "off"]
    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        *,
        options: jax.profiler.ProfileOptions | None = None,
    ) -> None: ...
    @property
    def directory(self) -> pathlib.Path | None: ...
    @property
    def capture(self) -> pathlib.Path | None: ...
    def region(self, name: str) -> AbstractContextManager[None]: ...
    def start(self) -> Self: ...
    def stop(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

def require_profile_support() -> _Converter: ...
def capture_options() -> jax.profiler.ProfileOptions: ...
def active_profile() -> Profiler | None: ...
def region(name: str) -> AbstractContextManager[None]: ...
def profile(
    directory: str | os.PathLike[str] | None = None,
    *,
    options: jax.profiler.ProfileOptions | None = None,
) -> Profiler: ...

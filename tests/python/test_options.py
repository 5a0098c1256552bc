# SPDX-License-Identifier: Apache-2.0
"""capture_options(): what it sets, that each is fresh, and that JAX takes it."""

from __future__ import annotations

import pathlib

import jax
import pytest

from dew.telemetry.profile import capture_options


def test_values() -> None:
    options = capture_options()
    assert type(options) is jax.profiler.ProfileOptions
    assert options.host_tracer_level == 2
    assert options.python_tracer_level == 0
    assert options.enable_hlo_proto
    plain = jax.profiler.ProfileOptions()
    assert options.advanced_configuration == plain.advanced_configuration
    assert options.duration_ms == plain.duration_ms


def test_fresh_each_time() -> None:
    first, second = capture_options(), capture_options()
    assert first is not second
    first.host_tracer_level = 1
    assert second.host_tracer_level == 2


def test_tpu_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """No TPU here: only the answer to "which backend" is replaced."""
    monkeypatch.setattr(jax, "default_backend", lambda: "tpu")
    wanted = {"tpu_trace_mode": "TRACE_COMPUTE_AND_SYNC"}
    assert capture_options().advanced_configuration == wanted


def test_backend_error_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise RuntimeError("no such backend")

    monkeypatch.setattr(jax, "default_backend", fail)
    with pytest.raises(RuntimeError, match="no such backend"):
        capture_options()


def test_takes_no_argument() -> None:
    with pytest.raises(TypeError):
        capture_options(1)  # type: ignore[call-arg]


def test_serves_a_plain_jax_trace(tmp_path: pathlib.Path) -> None:
    jax.profiler.start_trace(str(tmp_path), profiler_options=capture_options())
    jax.numpy.ones(3).block_until_ready()
    jax.profiler.stop_trace()
    (capture,) = tmp_path.rglob("*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(capture))
    names = {event.name for plane in data.planes for line in plane.lines for event in line.events}
    assert names
    assert not any(name.startswith("$") for name in names), "the Python tracer was on"

# SPDX-License-Identifier: Apache-2.0
"""The converter: found without xprof's Python, the same bytes as through it, errors that say what."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import threading
from collections.abc import Callable
from typing import Any

import jax
import pytest
from captures import run_python

from dew.telemetry.profile import require_profile_support

Compare = Callable[[bytes], Any]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("capture")
    step = jax.jit(lambda x: jax.numpy.tanh(x @ x))
    x = step(jax.numpy.ones((64, 64))).block_until_ready()
    jax.profiler.start_trace(str(folder))
    for number in range(3):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            x = step(x).block_until_ready()
    jax.profiler.stop_trace()
    (path,) = folder.rglob("*.xplane.pb")
    return path


@pytest.fixture
def alone(capture: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "alone"
    folder.mkdir()
    return pathlib.Path(shutil.copy(capture, folder / "host.xplane.pb"))


def xprofs(
    path: pathlib.Path, tool: str, params: dict[str, Any] | None = None
) -> tuple[bytes, str]:
    """What xprof's Python gives for a copy of the file, in a folder of its own."""
    from xprof.convert import raw_to_tool_data

    copy = path.parent.with_name(f"copy-{tool}")
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    shutil.copy(path, copy)
    paths = [str(copy / path.name)]
    raw_to_tool_data.xspace_to_tool_names(paths)
    data, mime = raw_to_tool_data.xspace_to_tool_data(paths, tool, params or {})
    return data.encode() if isinstance(data, str) else data, mime


def test_found_without_importing_xprof() -> None:
    done = run_python(
        "import sys\nfrom dew.telemetry.profile import require_profile_support\n"
        "c = require_profile_support()\n"
        "print(c.version, c.library)\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('xprof', 'jax', 'jaxlib')])"
    )
    version, library = done.stdout.splitlines()[0].split(" ", 1)
    import importlib.metadata

    assert version == importlib.metadata.version("xprof")
    assert pathlib.Path(library).is_file()
    assert done.stdout.splitlines()[1] == "[]"
    assert done.stderr == ""


def test_opened_once() -> None:
    assert require_profile_support() is require_profile_support()


def test_type_is_private() -> None:
    with pytest.raises(TypeError):
        type(require_profile_support())()


def test_every_report_is_xprofs_own(alone: pathlib.Path) -> None:
    converter = require_profile_support()
    names = converter.xspace_to_tool_names([alone])
    assert "overview_page" in names
    for tool in names:
        if tool in ("memory_viewer", "graph_viewer"):  # these need a module: below
            continue
        ours = converter.xspace_to_tool_data([alone], tool)
        assert ours == xprofs(alone, tool), tool
    assert [path.name for path in alone.parent.iterdir()] == [alone.name], (
        "a cache beside the capture"
    )


def same(data: bytes) -> bytes:
    return data


@pytest.mark.parametrize(
    ("tool", "params", "seen_as"),
    [
        ("op_profile", {"group_by": "category"}, same),
        ("overview_page", {"use_saved_result": False}, same),
        ("overview_page^", {}, same),
        ("trace_viewer@", {"trace_viewer_options": {"resolution": 1000}, "hosts": ["host"]}, same),
        ("trace_viewer", {"trace_viewer_options": {"format": "pb"}}, len),
        ("memory_viewer", {"module_name": "MODULE", "memory_space": "0"}, json.loads),
        ("memory_viewer", {"module_name": "MODULE", "view_memory_allocation_timeline": True}, same),
        (
            "graph_viewer",
            {"graph_viewer_options": {"module_name": "MODULE", "type": "short_txt"}},
            same,
        ),
        (
            "graph_viewer",
            {"graph_viewer_options": {"module_name": "MODULE", "type": "long_txt"}},
            same,
        ),
        ("kernel_utilization", {}, same),
    ],
)
def test_params_are_handed_on(
    alone: pathlib.Path, tool: str, params: dict[str, Any], seen_as: Compare
) -> None:
    """`seen_as`: two calls of the library itself already differ in the order of some lists."""
    from xprof.convert import raw_to_tool_data

    raw_to_tool_data.xspace_to_tool_names([str(shutil.copy(alone, alone.parent.with_name("m.pb")))])
    module = next(
        path.name.removesuffix(".hlo_proto.pb")
        for path in alone.parent.parent.glob("*.hlo_proto.pb")
    )
    params = json.loads(json.dumps(params).replace("MODULE", module))
    data, mime = require_profile_support().xspace_to_tool_data([alone], tool, params)
    wanted, wanted_mime = xprofs(alone, tool, params)
    assert mime == wanted_mime
    if seen_as is len:
        assert abs(len(data) - len(wanted)) < 64
    else:
        assert seen_as(data) == seen_as(wanted)


def test_trace_viewer_is_the_librarys_protobuf(alone: pathlib.Path) -> None:
    from xprof.protobuf import trace_events_old_pb2

    data, mime = require_profile_support().xspace_to_tool_data([alone], "trace_viewer")
    assert mime == "application/octet-stream"
    trace = trace_events_old_pb2.Trace()
    trace.ParseFromString(data)
    theirs = json.loads(xprofs(alone, "trace_viewer")[0])
    assert len(trace.trace_events) == sum(
        event.get("ph") in ("X", "i") for event in theirs["traceEvents"]
    )


def test_gpu_capture(shared_captures: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "alone"
    folder.mkdir()
    path = pathlib.Path(shutil.copy(shared_captures / "gpu-mi300-conv.xplane.pb", folder))
    converter = require_profile_support()
    for tool in converter.xspace_to_tool_names([path]):
        if tool.endswith("viewer") or tool == "trace_viewer@":
            continue
        data, mime = converter.xspace_to_tool_data([path], tool)
        wanted, wanted_mime = xprofs(path, tool)
        assert mime == wanted_mime
        if tool == "memory_profile":  # its lists vary in order and length from call to call
            assert json.loads(data).keys() == json.loads(wanted).keys()
        else:
            assert data == wanted, tool


@pytest.mark.parametrize("damage", ["garbage", "half", "empty", "missing", "folder"])
def test_captures_that_yield_nothing(alone: pathlib.Path, damage: str) -> None:
    """Field note 15: an error with path, tool and version, never None or []."""
    whole = alone.read_bytes()
    match damage:
        case "garbage":
            alone.write_bytes(b"not a capture \xff\xff")
        case "half":
            alone.write_bytes(whole[: len(whole) // 2])
        case "empty":
            alone.write_bytes(b"")
        case _:
            alone.unlink()
    if damage == "folder":
        alone.mkdir()
    converter = require_profile_support()
    for call in (
        lambda: converter.xspace_to_tool_names([alone]),
        lambda: converter.xspace_to_tool_data([alone], "overview_page"),
    ):
        with pytest.raises((RuntimeError, OSError)) as caught:
            call()
        assert str(alone) in str(caught.value)
        if damage in ("garbage", "half"):
            assert f"xprof {converter.version}" in str(caught.value)
    if damage == "empty":
        assert "2 GiB" in str(caught.value)


def test_unknown_tool(alone: pathlib.Path) -> None:
    with pytest.raises(RuntimeError, match=r"xprof .* gave no 'nonsense' .*: Can not find tool"):
        require_profile_support().xspace_to_tool_data([alone], "nonsense")


def test_module_viewers_without_a_module(alone: pathlib.Path) -> None:
    with pytest.raises(RuntimeError, match="memory_viewer"):
        require_profile_support().xspace_to_tool_data([alone], "memory_viewer")


def test_two_hosts(alone: pathlib.Path) -> None:
    """Field note 16."""
    other = shutil.copy(alone, alone.with_name("other.xplane.pb"))
    converter = require_profile_support()
    with pytest.raises(ValueError, match="one host at a time"):
        converter.xspace_to_tool_data([alone, other], "memory_profile")
    assert converter.xspace_to_tool_data([alone, other], "overview_page")[0]
    with pytest.raises(RuntimeError, match="share the file name"):
        converter.xspace_to_tool_data([alone, alone], "overview_page")


@pytest.mark.parametrize(
    ("paths", "error"),
    [
        ([], ValueError),
        ("one.xplane.pb", TypeError),
        ([3], TypeError),
        (3, TypeError),
        (["a\0b"], ValueError),
    ],
)
def test_wrong_paths(paths: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        require_profile_support().xspace_to_tool_names(paths)


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"use_saved_result": 1.5}, TypeError),
        ({"use_saved_result": 2**40}, OverflowError),
        ({"use_saved_result": "a\0b"}, ValueError),
        (3, Exception),
    ],
)
def test_wrong_params(alone: pathlib.Path, params: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        require_profile_support().xspace_to_tool_data([alone], "overview_page", params)


def test_read_only_folder(alone: pathlib.Path) -> None:
    """Field note 18; the converter's own scratch folder is elsewhere."""
    alone.parent.chmod(0o555)
    try:
        assert require_profile_support().xspace_to_tool_data([alone], "overview_page")[0]
    finally:
        alone.parent.chmod(0o755)


def test_scratch_is_removed(alone: pathlib.Path, tmp_path: pathlib.Path) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    source = (
        "import sys\nfrom dew.telemetry.profile import require_profile_support\n"
        "c = require_profile_support()\n"
        "c.xspace_to_tool_data([sys.argv[1]], 'overview_page')\n"
        "try: c.xspace_to_tool_data([sys.argv[1]], 'nonsense')\n"
        "except RuntimeError: pass\n"
    )
    done = run_python(source, alone, TMPDIR=str(scratch))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert list(scratch.iterdir()) == []
    # Where it is not there, the next place is taken, as Python's tempfile does.
    elsewhere = run_python(source, alone, TMPDIR=str(scratch / "gone"), TEMP=str(scratch))
    assert (elsewhere.returncode, elsewhere.stderr) == (0, ""), elsewhere.stderr
    assert list(scratch.iterdir()) == []


def test_other_threads_run_meanwhile(alone: pathlib.Path) -> None:
    converter = require_profile_support()
    results: list[bytes] = []
    threads = [
        threading.Thread(
            target=lambda: results.append(
                converter.xspace_to_tool_data([alone], "overview_page")[0]
            )
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert len(set(results)) == 1


# ---- missing, old, broken, new -------------------------------------------------------------------


def package(folder: pathlib.Path, version: str, library: bytes | pathlib.Path) -> pathlib.Path:
    """A site-packages with an xprof of that version."""
    convert = folder / "xprof" / "convert"
    convert.mkdir(parents=True)
    (folder / "xprof" / "__init__.py").write_text("raise AssertionError('imported')\n")
    (folder / f"xprof-{version}.dist-info").mkdir()
    target = convert / "profiler_plugin_c_api.so"
    if isinstance(library, bytes):
        target.write_bytes(library)
    else:
        target.symlink_to(library)
    return folder


REQUIRE = (
    "from dew.telemetry.profile import require_profile_support\n"
    "try: print(require_profile_support())\n"
    "except ImportError as e: print('ImportError:', e)\n"
)


def test_missing() -> None:
    done = run_python("import sys; sys.modules['xprof'] = None\n" + REQUIRE)
    assert done.stdout.startswith("ImportError: xprof is not installed")
    assert "pip install 'xprof>=2.22.3'" in done.stdout


def test_too_old(tmp_path: pathlib.Path) -> None:
    done = run_python(
        REQUIRE,
        PYTHONPATH=os.pathsep.join(
            [str(package(tmp_path, "2.21.9", b"old")), os.environ.get("PYTHONPATH", "")]
        ),
    )
    assert done.stdout.startswith("ImportError: xprof 2.21.9 is too old: 2.22.3"), done
    assert "pip install" in done.stdout


def test_broken(tmp_path: pathlib.Path) -> None:
    done = run_python(
        REQUIRE,
        PYTHONPATH=os.pathsep.join(
            [str(package(tmp_path, "2.24.2", b"broken")), os.environ.get("PYTHONPATH", "")]
        ),
    )
    assert done.stdout.startswith("ImportError: xprof's library cannot be opened"), done
    assert "pip install" in done.stdout


def test_no_library(tmp_path: pathlib.Path) -> None:
    site = package(tmp_path, "2.24.2", b"")
    (site / "xprof" / "convert" / "profiler_plugin_c_api.so").unlink()
    done = run_python(
        REQUIRE, PYTHONPATH=os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    )
    assert done.stdout.startswith("ImportError: no xprof converter library"), done


def test_newer_version_is_tried_first(tmp_path: pathlib.Path) -> None:
    """A version that nobody has seen: the real library under a higher number passes its trial in a
    process of its own, and one that crashes there does not reach this process."""
    real = pathlib.Path(require_profile_support().library)
    good = package(tmp_path / "good", "9.0.0", b"")
    link = good / "xprof" / "convert" / "profiler_plugin_c_api.so"
    link.unlink()
    os.link(real, link) if os.stat(real).st_dev == os.stat(good).st_dev else shutil.copy(real, link)
    done = run_python(
        REQUIRE, PYTHONPATH=os.pathsep.join([str(good), os.environ.get("PYTHONPATH", "")])
    )
    assert done.stdout.startswith("<converter of xprof 9.0.0"), done
    bad = package(tmp_path / "bad", "9.0.0", b"not a library")
    done = run_python(
        REQUIRE, PYTHONPATH=os.pathsep.join([str(bad), os.environ.get("PYTHONPATH", "")])
    )
    assert done.stdout.startswith("ImportError: xprof 9.0.0 has not been seen by this version"), (
        done
    )


def test_a_trial_may_print_and_one_that_crashes_leaves_nothing(
    fake: pathlib.Path, scratch: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The fake converter prints to both streams."""
    site = shutil.copytree(fake, tmp_path / "site")
    (site / "xprof-2.24.2.dist-info").rename(site / "xprof-9.0.0.dist-info")
    for crash in ("tool_names", "nothing"):
        done = run_python(REQUIRE, DEW_PROFILE_CONVERTER=str(site), FAKE_CRASH=crash)
        assert ("crashed (Aborted)" in done.stdout) == (crash == "tool_names"), done
        assert done.stdout.startswith(("ImportError: xprof 9.0.0", "<converter of xprof 9.0.0"))
        assert list(scratch.iterdir()) == []


def test_named_by_the_environment(tmp_path: pathlib.Path) -> None:
    done = run_python(REQUIRE, DEW_PROFILE_CONVERTER=str(tmp_path))
    assert "named by DEW_PROFILE_CONVERTER" in done.stdout
    done = run_python(REQUIRE, DEW_PROFILE_CONVERTER=require_profile_support().library)
    assert done.stdout.startswith("<converter of xprof")

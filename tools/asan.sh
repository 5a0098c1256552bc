#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# asan - the C tests and the program's own tests with AddressSanitizer and UBSan. The extension is
# left out of this build: a sanitized extension inside an unsanitized Python needs a preloaded
# runtime, which jaxlib's own libraries do not survive; tests/python/test_leaks.py covers it.
set -eu
CC=clang tools/meson_build.sh build/asan -Db_sanitize=address,undefined -Db_lundef=false \
    -Dtests=enabled -Dbuildtype=debugoptimized
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
meson test -C build/asan --print-errorlogs --quiet
DEW_PROFILE_PROGRAM=build/asan/src/cli/dew-profile python -m pytest -q \
    -k "not report and not does_not_grow" tests/python/test_cli.py tests/python/test_merge.py \
    tests/python/test_merge_refused.py tests/python/test_summary.py tests/python/test_summary_recipes.py \
    tests/python/test_summary_platforms.py tests/python/test_summary_launches.py \
    tests/python/test_summary_parts.py

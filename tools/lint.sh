#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lint - everything that judges the source without running it. Called by `make lint`, which puts the
# tools on PATH.
set -eu

step() {
    echo "lint: $1"
}

step "clang-format"
git ls-files '*.c' '*.h' | xargs clang-format --dry-run --Werror
step "layers"
python tools/check_layers.py
step "ruff"
ruff format --quiet --check .
ruff check --quiet .
step "mypy"
mypy --no-error-summary tools/*.py examples bench
step "gcc, warnings are errors"
CC=gcc tools/meson_build.sh build/lint-gcc --werror -Dtests=enabled
step "clang, warnings are errors"
CC=clang tools/meson_build.sh build/lint-clang --werror -Dtests=enabled
step "clang-tidy"
git ls-files 'src/*.c' | xargs -P 2 -n 8 clang-tidy --quiet -p build/lint-clang 2>/dev/null
step "spelled-out shell scripts"
for script in tools/*.sh .ci/run; do sh -n "$script"; done
echo "lint: clean"

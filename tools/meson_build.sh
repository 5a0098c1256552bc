#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# meson_build DIR OPTION... - sets a build folder up, or brings it up to date, and builds it.
set -eu
dir=$1
shift
if [ ! -f "$dir/build.ninja" ]; then
    meson setup "$dir" "$@" >"/dev/null" || { cat "$dir/meson-logs/meson-log.txt" >&2; exit 1; }
fi
ninja -C "$dir" --quiet

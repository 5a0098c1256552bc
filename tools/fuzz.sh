#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz SECONDS - builds the libFuzzer targets with clang and the sanitizers and runs each for SECONDS.
#
# What they learn goes to build/fuzz/corpus; what is new of it is then merged, smallest first, into
# tests/fuzz/corpus where DEW_FUZZ_KEEP is set. A crashing input is left in build/fuzz and the
# script fails. The same targets run under AFL++, each input a file:
#   CC=afl-clang-fast meson setup build/afl -Dtests=enabled && ninja -C build/afl
#   afl-fuzz -i tests/fuzz/corpus/xplane -o build/afl/out -- build/afl/tests/fuzz/fuzz_xplane_replay @@
set -eu
seconds=${1:-120}
build=build/fuzz
if [ ! -f $build/build.ninja ]; then
    CC=clang meson setup $build -Dfuzz=true -Dtests=enabled -Dman=disabled \
        -Db_sanitize=address,undefined,fuzzer-no-link -Db_lundef=false \
        -Dbuildtype=debugoptimized >/dev/null
fi
targets=$(cd tests/fuzz && ls fuzz_*.c | sed 's/\.c$//')
known=$(meson introspect $build --targets | tr ',' '\n' | sed -n 's/.*"name": "\(fuzz_[a-z]*\)".*/\1/p')
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
for target in $targets; do
    name=${target#fuzz_}
    if ! echo "$known" | grep -qx "$target"; then
        echo "fuzz: $target left out: it needs nanopb (Debian: nanopb, libnanopb-dev)"
        continue
    fi
    ninja -C $build --quiet tests/fuzz/$target
    mkdir -p $build/corpus/$name
    echo "fuzz: $target for $seconds s"
    $build/tests/fuzz/$target -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -max_len=4096 -print_final_stats=1 -artifact_prefix=$build/$name- \
        $build/corpus/$name tests/fuzz/corpus/$name >$build/$name.log 2>&1 || {
        tail -40 $build/$name.log
        echo "fuzz: $target failed; the input is $build/$name-*, the log $build/$name.log"
        exit 1
    }
    grep -E 'number_of_executed_units|new_units_added' $build/$name.log
    if [ -n "${DEW_FUZZ_KEEP:-}" ]; then
        $build/tests/fuzz/$target -merge=1 tests/fuzz/corpus/$name $build/corpus/$name \
            >>$build/$name.log 2>&1
    fi
done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# system_packages GROUP... - makes sure that the Debian packages of the groups are there.
#
# Groups: build (compiler and C libraries), test (unit tests, a browser for the page test), lint
# (formatters, static analysis, sanitizers, fuzzers). Installs what is missing where it may: as root,
# or with a sudo that asks no password. Elsewhere it prints the one command to type, and fails.
set -eu

packages=""
for group in "$@"; do
    case $group in
    build) packages="$packages gcc libc6-dev pkg-config libjansson-dev libpopt-dev libsmartcols-dev
        uthash-dev python3 python3-dev python3-venv" ;;
    test) packages="$packages g++ libcmocka-dev scdoc libnanopb-dev nanopb chromium valgrind" ;;
    lint) packages="$packages clang clang-format clang-tidy libclang-rt-14-dev llvm" ;;
    *)
        echo "system_packages: unknown group '$group' (build, test, lint)" >&2
        exit 2
        ;;
    esac
done

if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian: please install what these Debian packages hold:" $packages >&2
    exit 0 # the build itself says what it cannot find
fi

missing=""
for package in $packages; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

install="env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    echo "These Debian packages are missing, and installing them needs root. Please run:" >&2
    echo "    sudo apt-get update && sudo apt-get install$missing" >&2
    exit 1
fi
echo "Installing Debian packages:$missing"
log=$(mktemp)
if ! { $as_root apt-get update && $as_root $install; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "system_packages: apt-get failed; its output is in $log" >&2
    exit 1
fi
rm -f "$log"

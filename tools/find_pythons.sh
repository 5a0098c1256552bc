#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# find_pythons - prints one usable interpreter a supported version, oldest version first.
#
# Looks on PATH, then among pyenv's installed versions. Usable means: it starts, it is the version
# that its name says, it can make virtual environments, and its C headers are there. The oldest
# comes first because a stable-ABI wheel is tagged with the version that built it.
set -u

usable() {
    "$1" - "$2" <<'EOF' 2>/dev/null
import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1] or not os.path.exists(header))
EOF
}

for version in 3.11 3.12 3.13; do
    for python in "$(command -v "python$version")" /usr/bin/python"$version" \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python"$version"; do
        if [ -x "$python" ] && usable "$python" "$version"; then
            echo "$python"
            break
        fi
    done
done

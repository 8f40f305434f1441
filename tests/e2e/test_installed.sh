#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs everything into a prefix nobody configured, moves that, and has the moved herdgated check a configuration:
# it must find its loader program and the shipped plugins there, and nowhere else.
# usage: test_installed.sh CMAKE BUILD_DIR
set -eu
cmake=$1 build=$2
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$here/first" >"$here/log" || fail "$(cat "$here/log")"
mv "$here/first" "$here/moved"
printf 'a\tb\n' >"$here/names"
cat >"$here/herdgate.conf" <<END
listen "ipc://$here/herdgate.sock" {}
loader "names" { plugin = "static" option("file", "$here/names") }
cache "names" { key = "bytes" value = "bytes" loader = "names" }
END
"$here/moved/bin/herdgated" -t -c "$here/herdgate.conf" >"$here/log" 2>&1 || fail "$(cat "$here/log")"
grep -q "runs $here/moved/lib.*/herdgate/static.so" "$here/log" || fail "another plugin was used: $(cat "$here/log")"

unit=$here/moved/lib/systemd/system/herdgate.service
grep -qx "ExecStart=$here/first/bin/herdgated -c /etc/herdgate/herdgated.conf" "$unit" || fail "the unit starts another program: $(grep Exec "$unit")"
grep -q "^u herdgate " "$here/moved/lib/sysusers.d/herdgate.conf" || fail "no user for the unit"
# The configuration that comes along is good as it is.
RUNTIME_DIRECTORY=$here/run STATE_DIRECTORY=$here/state "$here/moved/bin/herdgated" -t \
    -c "$here/moved/share/doc/herdgate/examples/herdgated.conf" >"$here/log" 2>&1 || fail "$(cat "$here/log")"

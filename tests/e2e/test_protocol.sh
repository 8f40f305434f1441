#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/PROTOCOL.md is enough to write a client: client.py, which was, asks a real server over ipc and tcp (ask.py).
# usage: test_protocol.sh PYTHON HERDGATED SCRIPT_PLUGIN
set -eu
python=$1 herdgated=$2 plugin=$3
ask=$(dirname "$0")/ask.py
here=$(mktemp -d)
server=
finish() {
    if [ -n "$server" ]; then
        kill "$server" 2>"$here/kill" || true
    fi
    rm -rf "$here"
}
trap finish EXIT
fail() { echo "FAIL: $*" >&2; cat "$here/log" >&2; exit 1; }

cat >"$here/control" <<END
slow gate $here/gate
none absent
bad fail 14 the backend is away
END
cat >"$here/herdgate.conf" <<END
runtime_dir = "$here/run"
listen "ipc://$here/run/herdgate.sock" { access = "owner" }
listen "tcp://127.0.0.1:0" { access = "data" }
loader "script" { plugin = "$plugin" workers = 8 option("control", "$here/control") }
cache "c" { key = "bytes" value = "bytes" loader = "script" ttl = "60s" load_timeout = "20s" }
cache "empty" { key = "bytes" value = "bytes" }
END
: >"$here/log"
: >"$here/ready"
"$herdgated" -c "$here/herdgate.conf" >"$here/ready" 2>"$here/log" &
server=$!
looks=0
until grep -q ready "$here/ready"; do
    kill -0 "$server" 2>"$here/kill" || fail "herdgated ended instead of becoming ready"
    looks=$((looks + 1))
    [ "$looks" -lt 400 ] || fail "herdgated did not become ready"
    sleep 0.05
done
port=$(sed -n 's|.*tcp://127\.0\.0\.1:\([0-9]*\).*|\1|p' "$here/ready")
"$python" -B "$ask" "$here/run/herdgate.sock" "$port" "$here/gate" || fail "the client and the server do not agree"
kill "$server"
status=0
wait "$server" || status=$?
server=
[ "$status" -eq 0 ] || fail "herdgated ended with $status"

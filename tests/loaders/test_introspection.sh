#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The set-up of examples/introspection, with its stand-in for an authorization server: allowed, once asked for, revoked,
# the server away. usage: test_introspection.sh SOURCE_DIR BIN_DIR
set -eu
source=$1 bin=$2
here=$(mktemp -d)
issuer=''
server=''
finish() {
    [ -z "$server" ] || kill "$server" || true
    [ -z "$issuer" ] || kill "$issuer" || true
    wait
    rm -rf "$here"
}
trap finish EXIT
fail() { echo "FAIL: $*" >&2; cat "$here/log" >&2; exit 1; }

export HERDGATE_VAR="$here" HERDGATE_URL="ipc://$here/run/herdgate.sock"
(umask 077; echo s3cret >"$here/introspection.secret")
wait_for() { # FILE WORD
    for _ in $(seq 400); do
        ! grep -q "$2" "$1" || return 0
        kill -0 $! || break
        sleep 0.05
    done
    fail "no \"$2\""
}
touch "$here/issuer" "$here/out" "$here/log"
"$source/examples/introspection/issuer.py" "$here/introspection.secret" >"$here/issuer" &
issuer=$!
wait_for "$here/issuer" http
ISSUER=$(cat "$here/issuer")
export ISSUER
"$bin/herdgated" -c "$source/examples/introspection/herdgate.conf" >"$here/out" 2>>"$here/log" &
server=$!
wait_for "$here/out" ready

load() { "$bin/herdgate" -o json load tokens --key-hash "$1" >"$here/answer" 2>&1 || echo "exit $?" >>"$here/answer"; }
expect() { # JQ_FILTER
    jq -e "$1" "$here/answer" >"$here/jq" 2>&1 || fail "not $1: $(cat "$here/answer")"
}
curl -sf -d token=T -d sub=alice -d scope='read write' "$ISSUER/issue" >>"$here/log"
load T
expect '.outcome == "value" and .source == "loaded" and .value.user_id == "alice" and .value.scopes == ["read","write"]'
load T
expect '.source == "fresh"'
curl -sf -d token=T "$ISSUER/revoke" >>"$here/log"
"$bin/herdgate" del tokens --key-hash T >>"$here/log"
load T
grep -q '"absent"' "$here/answer" || fail "$(cat "$here/answer")"
load nobody
grep -q '"absent"' "$here/answer" || fail "$(cat "$here/answer")"

# A user who leaves.
curl -sf -d token=U -d sub=bob "$ISSUER/issue" >>"$here/log"
load U
expect '.value.user_id == "bob"'
"$bin/herdgate" clear tokens --user bob >>"$here/log"
load U
expect '.source == "loaded"'

# Away: what is known is served on, what is not is an error.
kill "$issuer"
wait "$issuer" || true
issuer=''
load U
expect '.source == "fresh"'
load V
grep -q "UNAVAILABLE" "$here/answer" || fail "$(cat "$here/answer")"

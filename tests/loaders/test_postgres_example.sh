#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The set-up of examples/postgres with a database of its own: a key that is revoked there is refused here, by nobody's
# doing but the trigger's. usage: test_postgres_example.sh SOURCE_DIR BIN_DIR POSTGRES_DIR
set -eu
source=$1 bin=$2 postgres=$3
here=$(mktemp -d)
database=''
server=''
finish() {
    [ -z "$server" ] || kill "$server" || true
    [ -z "$database" ] || kill -INT "$database" || true
    wait
    rm -rf "$here"
}
trap finish EXIT
fail() { echo "FAIL: $*" >&2; cat "$here/log" >&2; exit 1; }

as='' # it does not run as root
if [ "$(id -u)" -eq 0 ]; then
    as='setpriv --reuid=postgres --regid=postgres --clear-groups'
    chown postgres "$here"
fi
touch "$here/log" "$here/out"
chmod 666 "$here/log"
$as "$postgres/initdb" -D "$here/data" -U owner -A trust -E UTF8 --locale=C --no-sync --no-instructions >>"$here/log"
$as "$postgres/postgres" -D "$here/data" -c listen_addresses= -k "$here" -F >>"$here/log" 2>&1 &
database=$!
export PGHOST="$here" PGDATABASE=postgres HERDGATE_VAR="$here/var" HERDGATE_URL="ipc://$here/var/run/herdgate.sock"
mkdir "$here/var"
sql() { psql -U owner -q -v ON_ERROR_STOP=1 "$@" >>"$here/log" 2>&1; }
until_true() { # COMMAND...
    for _ in $(seq 400); do
        ! "$@" || return 0
        sleep 0.05
    done
    fail "$*"
}
until_true sql -c 'SELECT 1'
sql -f "$source/examples/postgres/schema.sql" || fail "the schema"
sql -c "INSERT INTO api_keys VALUES ('h1', 'alice', 'k1'), ('h2', 'alice', 'k2')" || fail "the rows"
"$bin/herdgated" -c "$source/examples/postgres/herdgate.conf" >"$here/out" 2>>"$here/log" &
server=$!
until_true grep -q ready "$here/out"

load() { "$bin/herdgate" -o json load keys "$@" >"$here/answer" 2>&1 || true; }
is() { # JQ_FILTER KEY...
    filter=$1
    shift
    load "$@"
    jq -e "$filter" "$here/answer" >>"$here/log" 2>&1
}
is '.source == "loaded" and .value.user_id == "alice" and .value.attributes.plan == "free"' --key-hash h1 ||
    fail "$(cat "$here/answer")"
is '.source == "fresh"' --key-hash h1 || fail "$(cat "$here/answer")"
is '.outcome == "value"' -k user_api_key alice/k1 || fail "$(cat "$here/answer")"
is '.outcome == "value"' --key-hash h2 || fail "$(cat "$here/answer")"
is '.outcome == "absent"' --key-hash h3 || fail "$(cat "$here/answer")"

# ttl is 10 minutes: only what the database tells can bring these.
sql -c "UPDATE api_keys SET allowed = false WHERE hash = 'h1'" || fail "the update"
until_true is '.outcome == "denied"' --key-hash h1
until_true is '.outcome == "denied"' -k user_api_key alice/k1
is '.source == "fresh"' --key-hash h2 || fail "another key was invalidated: $(cat "$here/answer")"
sql -c "INSERT INTO api_keys VALUES ('h3', 'bob', 'k1')" || fail "the insert"
until_true is '.outcome == "value"' --key-hash h3
sql -c "TRUNCATE api_keys" || fail "the truncate"
until_true is '.outcome == "absent"' --key-hash h2

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The three steps at the top of README.md are true: its configuration is served and its nginx section asks it, as they
# stand there but for their folders and addresses; a good key passes, and no longer after the command it names.
# usage: test_readme.sh BIN_DIR README
set -eu
bin=$1 readme=$2
here=$(mktemp -d)
server='' nginx=''
finish() {
    for pid in $nginx $server; do
        kill -TERM "$pid" 2>/dev/null || true
        wait "$pid" || true
    done
    rm -rf "$here"
}
trap finish EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }

# The block behind a comment that names this test.
block() {
    awk -v mark="<!-- packaging.readme $1 -->" '$0 == mark { found = 1; next }
        found && /^```/ { if (inside) exit; inside = 1; next } inside' "$readme"
}
# Waits until a socket is there, while the process lives.
await() {
    for _ in $(seq 400); do
        if [ -S "$1" ]; then return 0; fi
        kill -0 "$2" 2>/dev/null || break
        sleep 0.025
    done
    fail "$1 did not come: $(cat "$here/log")"
}

mkdir "$here/run" "$here/lib"
block "serves this:" | sed "s#/run/herdgate#$here/run#g; s#/var/lib/herdgate#$here/lib#g; s#/srv/keys#$here#g" >"$here/conf"
grep -q authz "$here/conf" || fail "README.md has no configuration"
hash=$(printf %s good-key | sha256sum | cut -d ' ' -f 1)
sqlite3 -batch "$here/keys.db" "CREATE TABLE keys (key_hash TEXT PRIMARY KEY, user_id, api_key_id, allowed, expires_at);
    INSERT INTO keys VALUES ('$hash', 'u_0001', 'k', 1, NULL)"
"$bin/herdgated" -c "$here/conf" >"$here/out" 2>"$here/log" &
server=$!
await "$here/run/authz.sock" "$server"

{
    [ "$(id -u)" -ne 0 ] || echo "user root;"
    echo "daemon off; pid $here/pid; error_log $here/log; events {} http { access_log off;"
    for what in client_body proxy fastcgi uwsgi scgi; do echo "${what}_temp_path $here/$what;"; done
    block "asks this:" | sed "s#/run/herdgate#$here/run#; s#listen 8080#listen unix:$here/gateway.sock#
        s#proxy_pass http://127.0.0.1:3000#proxy_pass http://unix:$here/app.sock#"
    # shellcheck disable=SC2016
    echo "server { listen unix:$here/app.sock;" 'location / { return 200 "user=$http_x_auth_user"; } } }'
} >"$here/nginx.conf"
grep -q auth_request "$here/nginx.conf" || fail "README.md has no section for nginx"
nginx -c "$here/nginx.conf" -e "$here/log" &
nginx=$!
await "$here/gateway.sock" "$nginx"

# What the application sees of a request, if it passes, and its status.
expect() { # WHAT KEY
    status=$(curl -s --max-time 10 --unix-socket "$here/gateway.sock" -H "Authorization: Bearer $2" -H "X-Auth-User: root" \
        -o "$here/body" -w '%{http_code}' http://app.example/)
    found="$status $(grep '^user=' "$here/body" || true)"
    [ "$found" = "$1" ] || fail "with $2 it is \"$found\", not \"$1\""
}
expect "200 user=u_0001" good-key
expect "401 " bad-key
sqlite3 -batch "$here/keys.db" "DELETE FROM keys"
command=$(grep -o 'herdgate clear auth --user u_0001' "$readme" | head -n 1)
[ -n "$command" ] || fail "README.md does not say how keys are ended"
# shellcheck disable=SC2086
"$bin/herdgate" -e "ipc://$here/run/herdgate.sock" ${command#herdgate } >"$here/said" || fail "$command: $(cat "$here/said")"
expect "401 " good-key

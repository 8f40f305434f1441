#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages into a root of their own, as dpkg does it, scripts and all; runs the unit's ExecStart
# as the user that was made, without privileges and under the unit's filter of system calls, limits and view of the
# files; asks it with the packaged command; and takes the packages away again.
# usage: test_deb.sh PACKAGES_DIR VERSION SOURCE_DIR     (as root; else it is skipped)
set -eu
packages=$1 version=$2 source=$3
if [ "$(id -u)" -ne 0 ]; then
    echo "only root can install packages and become another user: skipped"
    exit 77
fi
root=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
    rm -rf "$root"
}
trap finish EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }
chmod 755 "$root"
mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/triggers" "$root/var/log" "$root/etc"
touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
in_root() { dpkg --root="$root" --log="$root/log" --force-script-chrootless --force-depends "$@" >"$root/said" 2>&1 || fail "dpkg $*: $(cat "$root/said")"; }
query() { dpkg-query --root="$root" --show --showformat="$2" "$1"; }

# ---- installing ----

in_root --install "$packages"/*_"$version"-*.deb
for package in herdgate libherdgate0 libherdgate-dev; do
    said=$(query "$package" "\${Status} \${Version}")
    case $said in "install ok installed $version-"*) ;; *) fail "$package: $said" ;; esac
done
for needs in "herdgate libnng1" "herdgate libsqlite3-0" "herdgate systemd-standalone-sysusers" "libherdgate0 libnng1" "libherdgate-dev libherdgate0"; do
    query "${needs% *}" "\${Depends}" | grep -qw "${needs#* }" || fail "$needs is no dependency"
done
conf=/etc/herdgate/herdgated.conf
[ "$(query herdgate "\${Conffiles}" | awk 'NF { print $1 }')" = "$conf" ] || fail "the configuration is no conffile"
uid=$(sed -n 's/^herdgate:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/passwd")
gid=$(sed -n 's/^herdgate:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/group")
if [ -z "$uid" ] || [ -z "$gid" ]; then fail "no user was made: $(cat "$root/said")"; fi
unit=$root/usr/lib/systemd/system/herdgate.service
[ -L "$root/etc/systemd/system/multi-user.target.wants/herdgate.service" ] || fail "the unit is not enabled"
sed 's#^ExecStart=.*#ExecStart=/bin/true#' "$unit" >"$root/herdgate.service" # the program is not in /usr/bin
systemd-analyze verify --man=no "$root/herdgate.service" >"$root/said" 2>&1 || fail "systemd does not take the unit: $(cat "$root/said")"
if grep "herdgate.service" "$root/said"; then fail "systemd has something to say of the unit"; fi

# ---- running ----

# What systemd makes before it starts the program. Its /proc and read-only files, where mounting is allowed.
for dir in run/herdgate var/lib/herdgate; do
    mkdir -p "$root/$dir"
    chown "$uid:$gid" "$root/$dir"
done
chmod 0750 "$root/run/herdgate"
chmod 0700 "$root/var/lib/herdgate"
cat >"$root/view" <<END
set -eu
mount --make-rprivate /
mount -t proc -o subset=pid,hidepid=invisible proc /proc
mount --bind "$root/run/herdgate" "$root/run/herdgate"
mount --bind "$root/var/lib/herdgate" "$root/var/lib/herdgate"
mount -o remount,bind,ro /
exec "\$@"
END
if unshare --mount true 2>/dev/null && unshare --mount sh "$root/view" true 2>/dev/null; then
    view="unshare --mount sh $root/view"
    if $view touch "$root/written" 2>/dev/null; then fail "files can be written that the unit forbids"; fi
    if $view test -e /proc/meminfo; then fail "all of /proc can be seen"; fi
else
    echo "mounts are not allowed here: files and /proc are as they are"
    view="env"
fi
as_user() {
    setpriv --reuid "$uid" --regid "$gid" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"
}
start() {
    line=$(sed -n 's/^ExecStart=//p' "$unit" | sed "s#^/#$root/#; s# /# $root/#g")
    : >"$root/out"
    # shellcheck disable=SC2086
    RUNTIME_DIRECTORY=$root/run/herdgate STATE_DIRECTORY=$root/var/lib/herdgate env $view \
        setpriv --reuid "$uid" --regid "$gid" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all \
        /usr/bin/python3 "$source/tests/packaging/confined.py" "$unit" $line >"$root/out" 2>"$root/log" &
    server=$!
    for _ in $(seq 400); do
        if grep -q "^herdgated $version ready" "$root/out"; then return 0; fi
        kill -0 "$server" 2>/dev/null || break
        sleep 0.025
    done
    fail "$line did not become ready: $(cat "$root/log")"
}
stop() {
    kill -TERM "$server"
    rc=0
    wait "$server" || rc=$?
    server=
    [ "$rc" = 0 ] || fail "herdgated ended with $rc: $(cat "$root/log")"
}
ask() { as_user "$root/usr/bin/herdgate" -e "ipc://$root/run/herdgate/herdgate.sock" "$@"; }

start
for line in 'NoNewPrivs:.*1' 'Seccomp:.*2' 'CapBnd:.*0000000000000000' "Uid:.$uid.$uid.*"; do
    grep -q "^$line\$" "/proc/$server/status" || fail "no $line: $(cat "/proc/$server/status")"
done
ask health >"$root/said" || fail "health: $(cat "$root/said")"
ask put auth --key-hash h --auth user=u1,allowed=yes >"$root/said" || fail "put: $(cat "$root/said")"
stop

# With what the file shows in comments it answers over HTTP; a plugin of the package answers, in its child, under the
# same filter; and the snapshot brings back what there was.
printf 'a\tanswer\n' >"$root/names"
sed -i 's/^# \(http\|authz\|key_file\|tokens_file\) /\1 /; s/:7480/:0/; s/ttl = "10s"/ttl = "1h"/; s/stale_ttl = "30s"/stale_ttl = "1h"/' "$root$conf"
cat >>"$root$conf" <<END
loader "names" { plugin = "static" option("file", "$root/names") }
cache "names" { key = "bytes" value = "bytes" loader = "names" }
END
start
said=$(ask load names a) || fail "load: $(cat "$root/log")"
[ "$said" = answer ] || fail "the plugin said $said"
grep -q "runs $root/usr/lib/.*/herdgate/static.so (version $version)" "$root/log" || fail "another plugin: $(cat "$root/log")"
hash=$(printf %s good-key | sha256sum | cut -d ' ' -f 1)
ask put auth --key-hash "$hash" --auth user=u1,allowed=yes >"$root/said" || fail "put: $(cat "$root/said")"
stop
start
http=$(grep -o 'http://127.0.0.1:[0-9]*' "$root/out") || fail "no listener of HTTP: $(cat "$root/out")"
curl -sf --max-time 10 "$http/readyz" >"$root/body" || fail "not ready over HTTP"
curl -sf --max-time 10 "$http/metrics" | grep -q "^herdgate_build_info{.*version=\"$version\"" || fail "no metrics"
# A gateway's user is in the server's group, and nobody else gets to the socket.
ask_http() { # KEY GROUP
    setpriv --reuid 65534 --regid 65534 --groups "$2" curl -si --max-time 10 -H "Authorization: Bearer $1" \
        --unix-socket "$root/run/herdgate/authz.sock" http://herdgate/authz/auth | tr -d '\r'
}
for key in "good-key 200" "bad-key 503"; do # without a loader nobody can tell whether another key is good
    ask_http "${key% *}" "$gid" >"$root/said"
    grep -q "^HTTP/1.1 ${key#* } " "$root/said" || fail "over HTTP ${key% *} is $(cat "$root/said")"
done
ask_http good-key "$gid" | grep -qi '^X-Auth-User: u1$' || fail "nobody is named"
[ -z "$(ask_http good-key 65534)" ] || fail "who is not in the group herdgate was answered"

# As systemctl reload would; the loader's new process begins under the filter, too.
sed -i 's/^cache "names" {/& ttl = "7m"/; s/^loader "names" {/& workers = 3/' "$root$conf"
reload=$(sed -n 's/^ExecReload=//p' "$unit")
[ -n "$reload" ] || fail "the unit cannot be reloaded"
MAINPID=$server sh -c "$reload"
for _ in $(seq 400); do
    ttl=$(ask -o json caches | jq '.caches[] | select(.name == "names") | .ttl_ms')
    [ "$ttl" != 420000 ] || break
    sleep 0.025
done
[ "$ttl" = 420000 ] || fail "after a reload ttl is $ttl ms: $(cat "$root/log")"
grep -q "static.so (version $version), the old one drains" "$root/log" || fail "the loader was not begun anew: $(cat "$root/log")"
[ "$(ask load names a)" = answer ] || fail "the new loader does not answer: $(cat "$root/log")"
stop

# ---- upgrading and leaving ----

in_root --install "$packages"/herdgate_"$version"-*.deb
grep -q '^loader "names"' "$root$conf" || fail "an upgrade has thrown away the operator's configuration"
in_root --remove herdgate
[ -f "$root$conf" ] || fail "remove took the configuration"
[ ! -e "$root/usr/bin/herdgated" ] || fail "remove left the program"
in_root --purge herdgate
for left in "$conf" /var/lib/herdgate; do
    [ ! -e "$root$left" ] || fail "purge left $left"
done

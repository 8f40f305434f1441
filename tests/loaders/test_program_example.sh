#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The set-up of examples/exec: a loader in Python, shut in, that says when its file has changed; and how it is drained,
# reloaded, killed and refused. usage: test_program_example.sh SOURCE_DIR BIN_DIR
set -eu
source=$1 bin=$2
here=$(mktemp -d)
server=''
finish() {
    [ -z "$server" ] || kill "$server" || true
    wait
    rm -rf "$here"
}
trap finish EXIT
fail() { echo "FAIL: $*" >&2; tail -30 "$here/log" >&2; exit 1; }
# A copy: the checkout may be one that others may write to.
mkdir -m 755 "$here/exec" "$here/data"
cp "$source"/examples/exec/*.py "$source"/examples/exec/herdgate.conf "$here/exec"
chmod go-w "$here/exec"/*
cat >"$here/exec/liar.py" <<'END'
#!/usr/bin/python3
import herdgate_loader as herdgate


class Liar:
    def load(self, request):
        if request.key == b"refused":
            return herdgate.Value(herdgate.Auth(allowed=False, user_id="eve"))
        return herdgate.Value(b"{")


herdgate.serve(Liar(), "liar", "1")
END
chmod 755 "$here/exec/liar.py"
cat >>"$here/exec/herdgate.conf" <<'END'
loader "liar" { program = "${EXAMPLES}/liar.py" }
cache "lies" { key = "bytes" value = "json" loader = "liar" }
cache "claims" { key = "key_hash" value = "auth" loader = "liar" }
END
export HERDGATE_VAR="$here" HERDGATE_URL="ipc://$here/run/herdgate.sock" EXAMPLES="$here/exec"
echo '{"h1": {"allowed": true, "user_id": "alice", "scopes": ["read", "write"]},
       "h2": {"allowed": false, "user_id": "bob"}, "h3": {"allowed": true}}' >"$here/data/keys.json"
touch "$here/out" "$here/log"
until_true() { # COMMAND...
    for _ in $(seq 400); do
        ! "$@" || return 0
        sleep 0.05
    done
    fail "$*"
}
"$bin/herdgated" -c "$here/exec/herdgate.conf" >"$here/out" 2>>"$here/log" &
server=$!
until_true grep -q ready "$here/out"

is() { # JQ_FILTER CACHE KEY...
    filter=$1
    shift
    "$bin/herdgate" -o json load "$@" >"$here/answer" 2>&1 || true
    jq -e "$filter" "$here/answer" >>"$here/log" 2>&1
}
must() { is "$@" || fail "not $1: $(cat "$here/answer")"; }
must '.source == "loaded" and .value.user_id == "alice" and .value.scopes == ["read","write"]' keys --key-hash h1
must '.source == "fresh"' keys --key-hash h1
must '.outcome == "denied"' keys --key-hash h2
must '.outcome == "absent"' keys --key-hash nobody
must '.value.user_id == "bob"' things h2
# What the loader itself stumbles over is an error of that load.
"$bin/herdgate" load keys --key-hash h3 >"$here/answer" 2>&1 && fail "$(cat "$here/answer")"
grep -q "KeyError" "$here/answer" || fail "$(cat "$here/answer")"

# ttl is 10 minutes: only the loader's own word brings this.
echo '{"h1": {"allowed": false, "user_id": "alice"}}' >"$here/new" && mv "$here/new" "$here/data/keys.json"
until_true is '.outcome == "denied"' keys --key-hash h1
until_true is '.outcome == "absent"' things h2

# What a program is wrong about is an error, and its outcome does not overrule its value.
must_fail() { # WORD CACHE KEY
    "$bin/herdgate" load "$2" --kind "$4" "$3" >"$here/answer" 2>&1 && fail "$(cat "$here/answer")"
    grep -q "$1" "$here/answer" || fail "not \"$1\": $(cat "$here/answer")"
}
must_fail "wrong value" lies k bytes
must_fail "wrong value" claims garbage key_hash
must '.outcome == "denied"' claims --key-hash refused

# A reload puts a new process in place, and the old one ends by itself.
pid() { "$bin/herdgate" -o json loaders | jq -r '.. | objects | select(.name == "lookup") | .pid' 2>>"$here/log"; }
first=$(pid)
"$bin/herdgate" loaders --reload lookup >>"$here/log"
until_true grep -q "process $first has drained" "$here/log"
second=$(pid)
[ "$second" != "$first" ] || fail "the same process"
[ "$second" -gt 1 ] || fail "no process: $second"
must '.outcome == "denied"' keys --key-hash h1
# One that is killed is started anew, and a load finds it.
kill -9 "$second"
until_true is '.outcome == "absent"' keys --key-hash another
kill "$server"
wait "$server" || fail "the server did not end well"
server=''

# What is shown of the configuration is one itself.
"$bin/herdgated" -D -c "$here/exec/herdgate.conf" >"$here/dumped" 2>>"$here/log" || fail "the dump"
grep -q 'program = .*/exec/lookup.py' "$here/dumped" || fail "the dump has no program: $(cat "$here/dumped")"
"$bin/herdgated" -t -c "$here/dumped" >>"$here/log" 2>&1 || fail "the dump is no configuration"

# What the program says against its options is what the operator reads; so is what is wrong with the file.
refused() { # SENTENCE
    "$bin/herdgated" -t -c "$here/exec/herdgate.conf" >"$here/answer" 2>&1 && fail "not refused: $1"
    grep -q "$1" "$here/answer" || fail "not \"$1\": $(cat "$here/answer")"
}
rm "$here/data/keys.json"
refused 'option "file": .*No such file'
echo '{' >"$here/data/keys.json"
refused 'option "file": .*keys.json'
echo '{}' >"$here/data/keys.json"
chmod a-x "$here/exec/lookup.py"
refused 'lookup.py is not executable; chmod +x'
chmod u+x,o+w "$here/exec/lookup.py"
refused 'lookup.py can be written by others'
chmod o-w "$here/exec/lookup.py"
sed -i '1s|.*|#!/nowhere/python|' "$here/exec/lookup.py"
refused 'is the interpreter in its first line there'
sed -i 's|program = .*lookup.py"|program = "/nowhere/lookup.py"|' "$here/exec/herdgate.conf"
refused 'program /nowhere/lookup.py cannot be opened'

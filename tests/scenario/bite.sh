#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wrong scenarios must fail, in the right line, with what came. Usage: bite.sh SCENARIO
set -eu
runner=$1
folder=$(mktemp -d /tmp/herdgate-bite-XXXXXX) || exit 1
trap 'rm -rf "$folder"' EXIT
faults=0

# bites SENTENCE: the scenario on standard input fails and says so.
bites() {
    {
        echo 'cache "c" { key = "bytes" value = "bytes" loader = "script" ttl = "1h" }'
        cat
    } >"$folder/wrong.hgs"
    if "$runner" "$folder/wrong.hgs" >"$folder/out" 2>&1; then
        echo "passed, and should have failed with: $1"
        faults=1
    elif ! grep -qF "wrong.hgs:$1" "$folder/out"; then
        echo "failed without saying: wrong.hgs:$1"
        cat "$folder/out"
        faults=1
    fi
}

bites '3: expected: VALUE "other" loaded' <<'EOS'
> load c k
< VALUE "other" loaded
EOS
bites '3: came:     VALUE "k" loaded' <<'EOS'
> load c k
< VALUE "other" loaded
EOS
bites '3: came:     VALUE "k" loaded' <<'EOS'
> load c k
< VALUE "k" fresh
EOS
bites '3: expected: VALUE "k" age>=1s' <<'EOS'
> load c k
< VALUE "k" age>=1s
EOS
bites '3: expected: VALUE "k" | ABSENT' <<'EOS'
> batch c k l
< VALUE "k" | ABSENT
EOS
bites '3: expected: VALUE "k"' <<'EOS'
> batch c k l
< VALUE "k"
EOS
bites '7: came:     VALUE "k" loaded fenced' <<'EOS'
! k gate go
> a: load c k
= loader.k 1
> clear c
! open go
< a: VALUE "k" loaded
EOS
bites '3: expected: c.load rose by 0' <<'EOS'
> load c k
+ c.load 0
EOS
bites '4: came:     by 0, to 1' <<'EOS'
> load c k
+ c.load 1
+ c.load 1
EOS
bites '2: came:     NOT_FOUND' <<'EOS'
> load nope k
+ c.load 0
EOS
bites '2: the answer to "a" is never looked at' <<'EOS'
> a: load c k
EOS
bites '2: no request before this line is "b:"' <<'EOS'
< b: VALUE "k"
EOS
bites '2: "fetch" is not a request' <<'EOS'
> fetch c k
EOS
bites '2: c has no counter "lod"' <<'EOS'
+ c.lod 1
EOS
bites '2: a step begins with one of' <<'EOS'
>load c k
EOS
bites '1: there is no step in this file' </dev/null
exit $faults

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# says: with a fault in the engine the simulator names a seed, and --seed repeats that very failure. Usage: says.sh SIM
set -eu
sim=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }

noticed=0
for fault in 1 2 3 4 5 6 7 8 9 10; do
    export HGI_MUTANT=$fault
    ! "$sim" --seeds 300 >"$folder/found" 2>&1 || continue # it takes a suite to notice this one
    seed=$(sed -n 's/^sim: again with --seed \([0-9]*\)$/\1/p' "$folder/found")
    [ -n "$seed" ] || fail "the failure under fault $fault does not say its seed"
    ! "$sim" --seed "$seed" >"$folder/again" 2>&1 || fail "under fault $fault --seed $seed alone breaks no promise"
    cmp "$folder/found" "$folder/again" || fail "under fault $fault --seed $seed breaks another promise, or at another step"
    noticed=$((noticed + 1))
done
[ "$noticed" -gt 0 ] || fail "the simulator notices none of the first faults of mutants.txt"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each scenario is in RULES.md, and each that RULES.md names is there. Usage: rules.sh FOLDER
set -eu
cd "$1"
faults=0
tick=$(printf '\140')
for file in *.hgs; do
    if ! grep -qF "$tick${file%.hgs}$tick" RULES.md; then
        echo "RULES.md: no rule names $file"
        faults=1
    fi
done
for name in $(grep '^|' RULES.md | sed 's/.*| \([^|]*\) |$/\1/' | grep -o "${tick}[a-z0-9-]*${tick}" | tr -d "$tick"); do
    if [ ! -f "$name.hgs" ]; then
        echo "RULES.md: there is no $name.hgs"
        faults=1
    fi
done
exit $faults

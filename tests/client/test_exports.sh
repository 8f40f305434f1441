#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libherdgate exports exactly the functions that client.h, access.h, control.h, inspect.h, lease.h, own_loader.h, snapshot.h and status.h
# declare.
# usage: test_exports.sh LIBRARY INCLUDE_DIR
set -eu
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$here/exported"
cat "$2/client.h" "$2/access.h" "$2/control.h" "$2/inspect.h" "$2/lease.h" "$2/own_loader.h" "$2/snapshot.h" | tr '\n' ' ' | cat - "$2/status.h" | grep -o 'HG_EXPORT[^;]*;' |
    sed 's/(.*//; s/.*[ *]//' | sort >"$here/declared"
[ -s "$here/declared" ] || { echo "FAIL: found no declaration" >&2; exit 1; }
diff "$here/declared" "$here/exported" || { echo "FAIL: < is declared, > is exported" >&2; exit 1; }

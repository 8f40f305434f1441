#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Takes the plugin out of docs/LOADERS.md and builds it as the page says.
# docs_plugin.sh LOADERS.md INCLUDE_DIR CC OUT.so [flag ...]
set -eu
page=$1 include=$2 cc=$3 out=$4
shift 4
source=${out%.so}.c

awk '/^<!-- plugin:/ { wanted = 1 }
     wanted && /^```c$/ { inside = 1; next }
     inside && /^```$/ { exit }
     inside { print }' "$page" > "$source"
if ! [ -s "$source" ]; then
    echo "$page has no block \`\`\`c behind its line <!-- plugin: -->" >&2
    exit 1
fi
# The page's own command, with warnings as errors on top.
"$cc" -std=c11 -D_GNU_SOURCE -shared -fPIC -fvisibility=hidden -Wall -Wextra -Wpedantic -Werror "$@" \
    -I "$include" -o "$out" "$source"

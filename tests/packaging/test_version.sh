#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The version stands in CMakeLists.txt and is what everything says: the programs, the shipped plugins, and CHANGELOG.md,
# which begins with it and a date.
# usage: test_version.sh BIN_DIR SOURCE_DIR VERSION
set -eu
bin=$1 source=$2 version=$3
fail() { echo "FAIL: $*" >&2; exit 1; }

for program in herdgated herdgate; do
    said=$("$bin/$program" --version)
    [ "$said" = "$program $version" ] || fail "$program says it is \"$said\""
done
newest=$(grep -m 1 '^## ' "$source/CHANGELOG.md")
case $newest in
"## $version - "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]) ;;
*) fail "CHANGELOG.md begins with \"$newest\", not with $version and its date" ;;
esac
# A plugin that states a version of its own would not follow.
plain=$(grep -rn '\.version = "' "$source/loaders" || true)
[ -z "$plain" ] || fail "a version in a second place: $plain"

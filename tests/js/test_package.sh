#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What npm packs is whole: installed from its file into a program of its own, it asks a server. It has the version of the rest.
# usage: test_package.sh SOURCE_DIR FOLDER VERSION
set -eu
source=$1 folder=$2 version=$3
fail() { echo "FAIL: $*" >&2; exit 1; }

rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
packed=$(npm pack --silent "$source/client/js")
[ "$packed" = "herdgate-$version.tgz" ] || fail "npm packed $packed; CMakeLists.txt says $version"
tar -tzf "$packed" | sort >names
for name in README.md index.d.ts package.json proto/health.proto proto/herdgate.proto src/index.js; do
    grep -qx "package/$name" names || fail "$name is not in the package"
done
if grep -qE '^package/(test|node_modules|scripts)/' names; then
    fail "the package has what only the repository needs"
fi
if grep -q '"resolved"' "$source/client/js/package-lock.json"; then
    fail "package-lock.json names where packages come from"
fi
echo '{ "private": true, "type": "module" }' >package.json
npm install --silent --no-audit --no-fund --prefer-offline "./$packed"
cat >ask.js <<'END'
import { Client, UnavailableError, key } from 'herdgate';

const client = new Client('ipc:///nobody/here');
const error = await client.get('auth', key.keyHash('kh')).catch((reason) => reason);
console.log(error instanceof UnavailableError && error.message);
END
said=$(node ask.js)
[ "$said" = "cannot reach ipc:///nobody/here: connect ENOENT /nobody/here" ] || fail "the installed package said \"$said\""

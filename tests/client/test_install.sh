#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the client library into an empty prefix and builds the example gateway against nothing but
# that prefix, once with pkg-config and once with find_package. Both must run; so must the one that
# opens a plugin.
# usage: test_install.sh CMAKE BUILD_DIR SOURCE_DIR CC [CFLAGS...]
set -eu
cmake=$1 build=$2 source=$3 cc=$4
shift 4
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$here/first" --component client >"$here/log" || fail "$(cat "$here/log")"
mv "$here/first" "$here/prefix" # what was installed must not remember where
lib=$(dirname "$(find "$here/prefix" -name libherdgate.so)")
for file in herdgate.proto health.proto PROTOCOL.md; do
    [ -f "$here/prefix/share/herdgate/$file" ] || fail "$file, for clients in other languages, is not installed"
done

# A gateway of an absent server lets nobody in, and does not hang.
check() {
    said=$(echo some-key | LD_LIBRARY_PATH="$lib" "$1" "ipc://$here/nobody.sock" auth) || fail "$1 ended with $?"
    case $said in
    "503 cannot connect to ipc://$here/nobody.sock"*) ;;
    *) fail "$1 said: $said" ;;
    esac
    rc=0
    LD_LIBRARY_PATH="$lib" "$1" 2>/dev/null || rc=$?
    [ "$rc" = 2 ] || fail "$1 without arguments ended with $rc"
}

PKG_CONFIG_PATH="$lib/pkgconfig"
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
"$cc" "$@" -Wall -Wextra -Werror "$source/client/examples/gateway.c" \
    $(pkg-config --cflags --libs herdgate) -o "$here/by-pkg-config" || fail "pkg-config build"
check "$here/by-pkg-config"

# shellcheck disable=SC2046
"$cc" "$@" -Wall -Wextra -Werror "$source/client/examples/leader.c" \
    $(pkg-config --cflags --libs herdgate) -o "$here/leader" || fail "pkg-config build of leader"
rc=0
LD_LIBRARY_PATH="$lib" "$here/leader" "ipc://$here/nobody.sock" names k "$here/no.so" 2>"$here/log" || rc=$?
said=$(cat "$here/log")
case $rc:$said in
"1:leader: plugin $here/no.so cannot be opened: "*) ;;
*) fail "leader ended with $rc and said: $said" ;;
esac

mkdir "$here/project"
cat >"$here/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(gateway C)
find_package(herdgate 0.1 REQUIRED)
add_executable(by-find-package $source/client/examples/gateway.c)
target_link_libraries(by-find-package PRIVATE herdgate::client)
END
{
    "$cmake" -S "$here/project" -B "$here/project/build" -DCMAKE_PREFIX_PATH="$here/prefix" \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$*" && "$cmake" --build "$here/project/build"
} >"$here/log" 2>&1 || fail "$(cat "$here/log")"
check "$here/project/build/by-find-package"

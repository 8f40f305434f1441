#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the client library and what is needed to build against it into an empty prefix, moves that, and builds the
# example gateways and a plugin against nothing but that prefix, once with pkg-config and once with find_package. The
# programs must run, and herdgated must open the plugins.
# usage: test_install.sh CMAKE BUILD_DIR SOURCE_DIR VERSION CC [CFLAGS...]
set -eu
cmake=$1 build=$2 source=$3 version=$4 cc=$5
shift 5
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }

for component in library dev; do
    "$cmake" --install "$build" --prefix "$here/first" --component "$component" >"$here/log" || fail "$(cat "$here/log")"
done
mv "$here/first" "$here/prefix" # what was installed must not remember where
lib=$(dirname "$(find "$here/prefix" -name libherdgate.so)")
[ -f "$lib/libherdgate.so.$version" ] || fail "no libherdgate.so.$version"
for file in herdgate.proto health.proto loader.proto PROTOCOL.md; do
    [ -f "$here/prefix/share/herdgate/$file" ] || fail "$file, for clients in other languages, is not installed"
done
PKG_CONFIG_PATH="$lib/pkgconfig"
export PKG_CONFIG_PATH
for package in herdgate herdgate-plugin; do
    said=$(pkg-config --modversion "$package")
    [ "$said" = "$version" ] || fail "$package.pc says version $said, not $version"
done
said=$(realpath -m "$(pkg-config --variable=plugindir herdgate-plugin)")
[ "$said" = "$lib/herdgate" ] || fail "herdgate-plugin.pc has plugins in $said"

# A gateway of an absent server lets nobody in, and does not hang.
check_gateway() {
    said=$(echo some-key | LD_LIBRARY_PATH="$lib" "$1" "ipc://$here/nobody.sock" auth) || fail "$1 ended with $?"
    case $said in
    "503 cannot connect to ipc://$here/nobody.sock"*) ;;
    *) fail "$1 said: $said" ;;
    esac
    rc=0
    LD_LIBRARY_PATH="$lib" "$1" 2>/dev/null || rc=$?
    [ "$rc" = 2 ] || fail "$1 without arguments ended with $rc"
}

# The server's child opens it and reads its version.
check_plugin() {
    printf 'a\tb\n' >"$here/names"
    cat >"$here/plugin.conf" <<END
listen "ipc://$here/herdgate.sock" {}
loader "names" { plugin = "$1" option("file", "$here/names") }
cache "names" { key = "bytes" value = "bytes" loader = "names" }
END
    "$build/bin/herdgated" -t -c "$here/plugin.conf" >"$here/log" 2>&1 || fail "$(cat "$here/log")"
    grep -q "runs $1 (version outside)" "$here/log" || fail "$1 was not opened: $(cat "$here/log")"
}

# shellcheck disable=SC2046
"$cc" "$@" -Wall -Wextra -Werror "$source/client/examples/gateway.c" \
    $(pkg-config --cflags --libs herdgate) -o "$here/by-pkg-config" || fail "pkg-config build"
check_gateway "$here/by-pkg-config"

# shellcheck disable=SC2046
"$cc" "$@" -std=c11 -D_GNU_SOURCE -DHERDGATE_VERSION='"outside"' -Wall -Wextra -Werror -shared -fPIC "$source/loaders/static/static.c" \
    $(pkg-config --cflags --libs herdgate-plugin) -o "$here/by-pkg-config.so" || fail "pkg-config build of a plugin"
check_plugin "$here/by-pkg-config.so"

# shellcheck disable=SC2046
"$cc" "$@" -Wall -Wextra -Werror "$source/client/examples/gateway_http.c" \
    "$source/client/examples/gateway_headers.c" "$source/client/examples/gateway_upstream.c" \
    $(pkg-config --cflags --libs herdgate libmicrohttpd libcurl libsodium) -o "$here/gateway_http" || fail "pkg-config build of gateway_http"

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
project(outside C)
find_package(herdgate $version EXACT REQUIRED)
add_executable(by-find-package $source/client/examples/gateway.c)
target_link_libraries(by-find-package PRIVATE herdgate::client)
add_library(plugin-by-find-package MODULE $source/loaders/static/static.c)
set_target_properties(plugin-by-find-package PROPERTIES PREFIX "")
target_compile_definitions(plugin-by-find-package PRIVATE _GNU_SOURCE HERDGATE_VERSION="outside")
target_link_libraries(plugin-by-find-package PRIVATE herdgate::plugin)
if(NOT HERDGATE_PLUGIN_DIR STREQUAL "$lib/herdgate")
  message(FATAL_ERROR "the package has plugins in \${HERDGATE_PLUGIN_DIR}")
endif()
END
{
    "$cmake" -S "$here/project" -B "$here/project/build" -DCMAKE_PREFIX_PATH="$here/prefix" \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$*" && "$cmake" --build "$here/project/build"
} >"$here/log" 2>&1 || fail "$(cat "$here/log")"
check_gateway "$here/project/build/by-find-package"
check_plugin "$here/project/build/plugin-by-find-package.so"

# Another version is not taken for this one.
sed -i "s/herdgate $version EXACT/herdgate 99.0/" "$here/project/CMakeLists.txt"
if "$cmake" -S "$here/project" -B "$here/project/other" -DCMAKE_PREFIX_PATH="$here/prefix" \
    -DCMAKE_C_COMPILER="$cc" >"$here/log" 2>&1; then
    fail "$version passes for 99.0"
fi
grep -q "compatible with requested version \"99.0\"" "$here/log" || fail "$(cat "$here/log")"

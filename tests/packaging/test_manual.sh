#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each page of the manual is one that man and mandoc have nothing to say against, is of this version, and names what
# the sources have: every verb, every option.
# usage: test_manual.sh PACKAGING_BUILD_DIR SOURCE_DIR VERSION
set -eu
pages=$1 source=$2 version=$3
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }

for page in herdgate.1 herdgated.8 herdgated.conf.5 herdgate_plugin.7; do
    LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l "$pages/$page.gz" >"$here/$page" 2>"$here/log" || fail "man $page"
    [ ! -s "$here/log" ] || fail "$page: $(cat "$here/log")"
    mandoc -T lint -W error "$pages/$page.gz" || fail "mandoc $page"
    grep -q "herdgate $version" "$here/$page" || fail "$page is not of $version"
    if grep -n '@[A-Z_]*@' "$here/$page"; then fail "$page has an empty place"; fi
done

# A verb has a part of its own; an option of the configuration begins its line.
verbs=$(sed -n 's/^HGI_VERB_ROW(\([a-z_]*\),.*/\1/p' "$source/client/cli/verbs.def")
[ "$(echo "$verbs" | wc -l)" -gt 10 ] || fail "found no verbs"
for verb in $verbs; do
    grep -q "^ \{3\}$verb\$" "$here/herdgate.1" || fail "herdgate(1) says nothing of $verb"
done
options=$(sed -n 's/^HGI_OPTION_ROW([a-z_]*, \([a-z_]*\),.*/\1/p' "$source/server/options.def")
[ "$(echo "$options" | wc -l)" -gt 40 ] || fail "found no options"
for option in $options; do
    grep -q "^ \{7\}$option = " "$here/herdgated.conf.5" || fail "herdgated.conf(5) says nothing of $option"
done

# What a plugin fills in and what it is given: the fields of two structures.
fields_of() { sed -n "/^struct $1 {/,/^};/p" "$source/include/herdgate/loader.h" | grep -o '(\*[a-z_]*)' | tr -d '(*)'; }
fields=$(fields_of hg_loader; fields_of hg_host_services)
[ "$(echo "$fields" | wc -l)" -gt 12 ] || fail "found no fields"
gzip -dc "$pages/herdgate_plugin.7.gz" | sed 's/\\f.//g; s/\\//g' >"$here/plugin" # as written: man breaks words at the ends of lines
for field in $fields; do
    grep -qw "$field" "$here/plugin" || fail "herdgate_plugin(7) says nothing of $field"
done

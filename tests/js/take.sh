#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# take: puts the JavaScript client as it would be packed, its tests and what npm's lock file names into FOLDER. npm is only asked
# if the lock file is not the one of before. usage: take.sh SOURCE_DIR FOLDER
set -eu
source=$1 folder=$2
mkdir -p "$folder"
for name in src test examples proto; do
    rm -rf "${folder:?}/$name"
done
(cd "$source/client/js" && tar --exclude=node_modules --exclude=proto -cf - .) | tar -C "$folder" -xf -
mkdir "$folder/proto"
cp "$source/proto/herdgate.proto" "$source/proto/health.proto" "$folder/proto/"
cd "$folder"
if ! cmp -s package-lock.json node_modules/.taken; then
    npm ci
    cp package-lock.json node_modules/.taken
fi

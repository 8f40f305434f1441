// SPDX-License-Identifier: Apache-2.0
// take_protos: before npm packs: the .proto files of the repository become part of the package.
import { cpSync, mkdirSync } from 'node:fs';

const here = new URL('../proto/', import.meta.url);
mkdirSync(here, { recursive: true });
for (const name of ['herdgate.proto', 'health.proto']) {
    cpSync(new URL(`../../../proto/${name}`, import.meta.url), new URL(name, here));
}

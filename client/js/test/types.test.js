// SPDX-License-Identifier: Apache-2.0
// index.d.ts says what is there: tsc takes what it should and refuses the rest, and no name is missing on either side.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import * as herdgate from '../src/index.js';

const file = (name) => fileURLToPath(new URL(name, import.meta.url));

test('tsc takes the right uses and refuses the wrong ones', () => {
    const { config } = ts.readConfigFile(file('tsconfig.json'), ts.sys.readFile);
    const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, file('.'));
    const faults = ts.getPreEmitDiagnostics(ts.createProgram(fileNames, options));
    assert.equal(ts.formatDiagnostics(faults, { getCurrentDirectory: () => '', getCanonicalFileName: (name) => name, getNewLine: () => '\n' }), '');
});

test('the declarations name what the module has, and every public member of its classes', () => {
    const declared = new Map();
    const source = ts.createSourceFile('index.d.ts', readFileSync(file('../index.d.ts'), 'utf8'), ts.ScriptTarget.ES2022);
    for (const statement of source.statements) {
        if (ts.isClassDeclaration(statement)) {
            declared.set(statement.name.text, statement.members.filter((one) => ts.isMethodDeclaration(one)).map((one) => one.name.text));
        } else if (ts.isFunctionDeclaration(statement)) {
            declared.set(statement.name.text, []);
        } else if (ts.isVariableStatement(statement)) {
            statement.declarationList.declarations.forEach((one) => declared.set(one.name.text, []));
        }
    }
    assert.deepEqual([...declared.keys()].sort(), Object.keys(herdgate).sort());
    for (const name of ['Client', 'Lease']) {
        const { constructor, ...rest } = Object.getOwnPropertyDescriptors(herdgate[name].prototype);
        const methods = Object.keys(rest).filter((one) => typeof rest[one].value === 'function');
        assert.deepEqual(declared.get(name).sort(), methods.sort());
    }
});

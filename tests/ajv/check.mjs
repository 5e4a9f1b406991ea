// SPDX-License-Identifier: Apache-2.0
// Second opinion on the run schema: ajv must accept every file whose name starts with valid_ and refuse
// every one starting with invalid_. The C++ test schema_test.cc puts the same files to our own validator.
// Files named on the command line replace cases/; there a name without either prefix must be valid.
// Usage: npm ci && node check.mjs [file.json ...]. Exit status: 0 all agree, 1 disagreement, 2 cannot run.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import Ajv from 'ajv';

const here = path.dirname(fileURLToPath(import.meta.url));

function compileSchema() {
  const schema = JSON.parse(fs.readFileSync(path.join(here, '../../schemas/run.schema.json'), 'utf8'));
  // strict: an unknown keyword, an ignored one or a type mismatch inside the schema is an error.
  const ajv = new Ajv.default({ strict: true, allowUnionTypes: true, allErrors: true });
  return ajv.compile(schema);
}

function caseFiles() {
  if (process.argv.length > 2) return process.argv.slice(2);
  const folder = path.join(here, 'cases');
  return fs.readdirSync(folder).filter((name) => name.endsWith('.json')).sort().map((name) => path.join(folder, name));
}

function checkFile(validate, file) {
  const name = path.basename(file);
  const expected = !name.startsWith('invalid_');
  const found = validate(JSON.parse(fs.readFileSync(file, 'utf8')));
  const reason = found ? '' : ` (${validate.errors[0].instancePath || 'document'} ${validate.errors[0].message})`;
  const agrees = found === expected;
  console.log(`${agrees ? 'agree   ' : 'DISAGREE'} ${name}: ajv says ${found ? 'valid' : 'invalid'}${reason}`);
  return agrees;
}

try {
  const validate = compileSchema();
  const files = caseFiles();
  if (files.length === 0) throw new Error('no case files found');
  const disagreements = files.filter((file) => !checkFile(validate, file)).length;
  console.log(`${files.length - disagreements} of ${files.length} agree`);
  process.exitCode = disagreements === 0 ? 0 : 1;
} catch (error) {
  console.error(`check.mjs: ${error.message}`);
  process.exitCode = 2;
}

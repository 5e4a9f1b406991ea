// SPDX-License-Identifier: Apache-2.0
// Do the answers of a server have the form that its own OpenAPI 3.1 document promises? Reads {document, answers} from standard input, where
// an answer is {name, path, method, status, type, value}, and prints PASS or FAIL for each. Schemas of OpenAPI 3.1 are JSON Schema 2020-12;
// strict: a keyword that ajv does not know, or ignores, is an error. Every schema of the document is compiled, also those without an answer.
import Ajv2020 from 'ajv/dist/2020.js';

const text = await new Promise((resolve) => {
  let all = '';
  process.stdin.on('data', (piece) => (all += piece));
  process.stdin.on('end', () => resolve(all));
});
const { document, answers } = JSON.parse(text);
const ajv = new Ajv2020.default({ strict: true, strictRequired: false, allowUnionTypes: true });
// Of OpenAPI itself, around its schemas; and our units.
ajv.addVocabulary(['openapi', 'info', 'servers', 'security', 'tags', 'paths', 'components', 'x-unit']);
ajv.addFormat('binary', true);
ajv.addSchema(document, 'openapi');

const pointer = (...parts) => 'openapi#/' + parts.map((part) => encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
const compiled = new Map();
function validatorOf(reference) {
  if (!compiled.has(reference)) compiled.set(reference, ajv.compile({ $ref: reference }));
  return compiled.get(reference);
}

// The response that the document has for a status: its own, or that of its class.
function responseOf(path, method, status) {
  const responses = document.paths[path]?.[method]?.responses ?? {};
  const key = [String(status), `${Math.floor(status / 100)}XX`].find((one) => one in responses);
  if (!key) throw new Error(`the document has no response ${status} of ${method} ${path}`);
  return [responses[key], key];
}

function check({ path, method, status, type, value }) {
  const [response, key] = responseOf(path, method, status);
  if (type === null) return response.content ? 'an answer without a body' : '';
  const media = response.content?.[type];
  if (!media) return `${type} is not in the document`;
  if (!media.schema) return `${type} has no schema`;
  const validate = validatorOf(pointer('paths', path, method, 'responses', key, 'content', type, 'schema'));
  return validate(value) ? '' : `${validate.errors[0].instancePath || 'answer'} ${validate.errors[0].message}`;
}

function report(name, work) {
  try {
    const why = work();
    console.log(why ? `FAIL ${name}: ${why}` : `PASS ${name}`);
  } catch (error) {
    console.log(`FAIL ${name}: ${error.message}`);
  }
}

for (const name of Object.keys(document.components.schemas)) report(`schema ${name}`, () => void validatorOf(pointer('components', 'schemas', name)));
for (const [path, methods] of Object.entries(document.paths)) {
  for (const [method, entry] of Object.entries(methods)) {
    const body = entry.requestBody?.content?.['application/json'];
    if (body) report(`body of ${method} ${path}`, () => void validatorOf(pointer('paths', path, method, 'requestBody', 'content', 'application/json', 'schema')));
    (entry.parameters ?? []).forEach((parameter, at) =>
      report(`parameter ${parameter.name} of ${method} ${path}`, () => void validatorOf(pointer('paths', path, method, 'parameters', at, 'schema'))));
  }
}
for (const answer of answers) report(answer.name, () => check(answer));

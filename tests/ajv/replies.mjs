// SPDX-License-Identifier: Apache-2.0
// Do replies have the form their operation promises? Reads a JSON list of {name, schema, value} from standard
// input and prints PASS or FAIL for each. The parameter schemas are compiled too (value null: compile only).
import Ajv from 'ajv';

const text = await new Promise((resolve) => {
  let all = '';
  process.stdin.on('data', (piece) => (all += piece));
  process.stdin.on('end', () => resolve(all));
});
const ajv = new Ajv.default({ strict: true, allowUnionTypes: true });
// Units of numbers, as replies have them.
ajv.addKeyword('x-unit');
for (const { name, schema, value } of JSON.parse(text)) {
  try {
    const validate = ajv.compile(schema);
    const good = value === null || validate(value);
    const why = good ? '' : `: ${validate.errors[0].instancePath || 'reply'} ${validate.errors[0].message}`;
    console.log(`${good ? 'PASS' : 'FAIL'} ${name}${why}`);
  } catch (error) {
    console.log(`FAIL ${name}: ${error.message}`);
  }
}

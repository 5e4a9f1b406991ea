// SPDX-License-Identifier: Apache-2.0
// Lists the operations of /openapi.json. All text goes through textContent: nothing of it is markup.
"use strict";

function element(name, text, className) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function typeText(schema) {
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.type === "array") return `list of ${typeText(schema.items || {})}`;
  return schema.type || "any";
}

function parametersOf(operation) {
  const body = operation.requestBody?.content["application/json"]?.schema;
  const fields = Object.entries(body?.properties || {}).map(([name, schema]) => {
    return { name, schema, description: schema.description, required: (body.required || []).includes(name) };
  });
  return [...(operation.parameters || []), ...fields];
}

function section(method, path, operation) {
  const made = element("section");
  const heading = element("h2");
  heading.append(element("span", method.toUpperCase(), "method"), path);
  made.append(heading, element("p", operation.summary));
  const table = element("table");
  for (const parameter of parametersOf(operation)) {
    const row = element("tr");
    const name = parameter.name + (parameter.required ? " (required)" : "");
    row.append(element("td", name), element("td", typeText(parameter.schema)), element("td", parameter.description));
    table.append(row);
  }
  if (table.children.length > 0) made.append(table);
  return made;
}

async function main() {
  const list = document.getElementById("operations");
  const response = await fetch("/openapi.json");
  if (!response.ok) {
    list.textContent = `Cannot load /openapi.json: status ${response.status}.`;
    return;
  }
  const paths = (await response.json()).paths;
  list.textContent = "";
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) list.append(section(method, path, operation));
  }
  document.getElementById("filter").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const part of list.children) part.hidden = !part.textContent.toLowerCase().includes(wanted);
  });
}

main();

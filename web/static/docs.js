// The API reference, rendered from /openapi.json.
"use strict";

let doc;

// resolve follows a reference inside the document.
function resolve(schema) {
  if (schema && schema.$ref) return doc.components.schemas[schema.$ref.split("/").pop()];
  return schema;
}

const named = (schema, name) => schema.$ref && schema.$ref.endsWith("/" + name);

// range writes the limits of a number or a length.
function range(schema) {
  if (schema.minimum === undefined && schema.maximum === undefined) return "";
  const low = schema.minimum === undefined ? "" : (schema.exclusiveMinimum ? " > " : " ≥ ") + schema.minimum;
  return low + (schema.maximum === undefined ? "" : " ≤ " + schema.maximum);
}

// remark writes what a member means as lines of comment.
function remark(member, indent) {
  const schema = resolve(member) || {};
  const text = [member.description || schema.description, schema["x-unit"] && `Unit: ${schema["x-unit"]}.`,
    schema.default !== undefined && `Default: ${JSON.stringify(schema.default)}.`].filter(Boolean).join(" ");
  if (!text) return "";
  const start = "\n" + indent + "// ";
  let out = "", column = Infinity;
  for (const word of text.split(/\s+/)) {
    column += word.length + 1;
    if (column > 100) column = start.length + word.length;
    out += (column === start.length + word.length ? start : " ") + word;
  }
  return out.slice(1) + "\n";
}

// sketch writes a schema as commented JSON. What every value may be (null, a
// substitution), second spellings and features that are missing are left out; a
// schema that is in seen is named only.
function sketch(schema, indent = "", depth = 0, seen = new Set()) {
  const name = schema && schema.$ref && schema.$ref.split("/").pop();
  schema = resolve(schema) || {};
  if (schema.allOf) schema = { ...resolve(schema.allOf[0]), ...schema, allOf: undefined };
  const maybe = schema.nullable ? " or null" : "";
  if (name && (schema.anyOf || schema.properties)) {
    if (seen.has(name)) return name + maybe;
    seen.add(name);
  }
  if (schema.anyOf) {
    const forms = schema.anyOf.filter((s) => !named(s, "config.Null") && !named(s, "config.Substitution"));
    const texts = (name === "config.Document" ? forms.slice(0, 1) : forms).map((s) => sketch(s, indent, depth, seen));
    return [...new Set(texts)].join(" | ") + maybe;
  }
  if (schema.enum) return schema.enum.map((v) => JSON.stringify(v)).join(" | ") + maybe;
  if (depth > 12) return "…";
  const inner = indent + "  ";
  if (schema.properties) {
    const lines = Object.entries(schema.properties).filter(([, m]) => !m["x-alias-of"] && !m["x-unsupported"])
      .map(([member, m]) => remark(m, inner) + inner + JSON.stringify(member) + ": " +
        (m["x-short-for"] ? "…" : sketch(m, inner, depth + 1, seen)));
    return "{\n" + lines.join("\n") + "\n" + indent + "}" + maybe;
  }
  if (schema.type === "array") return "[" + sketch(schema.items, indent, depth + 1, seen) + "]" + maybe;
  if (schema.type === "object" && typeof schema.additionalProperties === "object") {
    return "{\n" + inner + "<name>: " + sketch(schema.additionalProperties, inner, depth + 1, seen) + "\n" + indent + "}" + maybe;
  }
  const example = schema.example === undefined ? "" : ` such as ${JSON.stringify(schema.example)}`;
  return (schema.type || "any") + (schema.format ? ` (${schema.format})` : "") + range(schema) + example + maybe;
}

function table(head, rows) {
  const cells = (tag, row) => make("tr", {}, ...row.map((c) => make(tag, { class: "text" }, c)));
  return make("table", {}, make("thead", {}, cells("th", head)), make("tbody", {}, ...rows.map((r) => cells("td", r))));
}

function content(title, entry) {
  const types = Object.keys(entry.content || {});
  if (!types.length) return [];
  const media = entry.content[types[0]];
  const out = [make("h3", {}, `${title} · ${types.join(", ")}`), make("p", { class: "muted" }, (resolve(media.schema) || {}).description || ""), make("pre", {}, sketch(media.schema))];
  if (media.example !== undefined) out.push(make("h3", {}, "Example"), make("pre", {}, JSON.stringify(media.example, null, 2)));
  return out;
}

function operation(verb, path, op) {
  const body = make("div", { class: "body" });
  if (op.description) body.append(make("p", {}, op.description));
  if (op.parameters && op.parameters.length) {
    body.append(make("h3", {}, "Parameters"), table(["name", "in", "type", "meaning"],
      op.parameters.map((p) => [p.name + (p.required ? " *" : ""), p.in, sketch(p.schema), p.description || ""])));
  }
  if (op.requestBody) body.append(...content("Body", op.requestBody));
  body.append(make("h3", {}, "Answers"), table(["status", "meaning"],
    Object.entries(op.responses).map(([status, r]) => [status, r.description || ""])));
  for (const status of ["200", "201"]) {
    if (op.responses[status]) body.append(...content("Answer " + status, op.responses[status]));
  }
  const head = make("summary", {}, make("b", { class: "verb " + verb }, verb), make("code", {}, path), make("span", {}, op.summary || ""));
  return make("details", { id: op.operationId }, head, body);
}

async function main() {
  doc = await (await fetch("/openapi.json")).json();
  document.getElementById("about").textContent = doc.info.description;
  const routes = document.getElementById("routes");
  for (const tag of doc.tags) {
    routes.append(make("h2", {}, tag.name), make("p", { class: "muted" }, tag.description));
    for (const [path, item] of Object.entries(doc.paths)) {
      for (const [verb, op] of Object.entries(item)) {
        if ((op.tags || []).includes(tag.name)) routes.append(operation(verb, path, op));
      }
    }
  }
  const open = location.hash && document.getElementById(location.hash.slice(1));
  if (open) { open.open = true; open.scrollIntoView(); }
}

main();

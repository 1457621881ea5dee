// The API reference, rendered from /openapi.json.
"use strict";

let doc;

// resolve follows a reference inside the document.
function resolve(schema) {
  if (schema && schema.$ref) return doc.components.schemas[schema.$ref.split("/").pop()];
  return schema;
}

// sketch writes a schema as commented JSON; depth keeps it short.
function sketch(schema, indent = "", depth = 0) {
  schema = resolve(schema) || {};
  if (schema.allOf) schema = { ...resolve(schema.allOf[0]), ...schema, allOf: undefined };
  const maybe = schema.nullable ? " or null" : "";
  if (schema.enum) return schema.enum.map((v) => JSON.stringify(v)).join(" | ") + maybe;
  if (depth > 5) return "…";
  const inner = indent + "  ";
  if (schema.properties) {
    const lines = Object.entries(schema.properties).map(([name, member]) => {
      const note = (resolve(member) || {}).description || member.description;
      return inner + JSON.stringify(name) + ": " + sketch(member, inner, depth + 1) + (note ? "  // " + note.replaceAll("\n", " ") : "");
    });
    return "{\n" + lines.join("\n") + "\n" + indent + "}" + maybe;
  }
  if (schema.type === "array") return "[" + sketch(schema.items, indent, depth + 1) + "]" + maybe;
  if (schema.type === "object" && typeof schema.additionalProperties === "object") {
    return "{\n" + inner + "<name>: " + sketch(schema.additionalProperties, inner, depth + 1) + "\n" + indent + "}" + maybe;
  }
  return (schema.type || "any") + (schema.format ? ` (${schema.format})` : "") + maybe;
}

function table(head, rows) {
  const cells = (tag, row) => make("tr", {}, ...row.map((c) => make(tag, { class: "text" }, c)));
  return make("table", {}, make("thead", {}, cells("th", head)), make("tbody", {}, ...rows.map((r) => cells("td", r))));
}

function content(title, entry) {
  const types = Object.keys(entry.content || {});
  if (!types.length) return [];
  const media = entry.content[types[0]];
  const out = [make("h3", {}, `${title} · ${types.join(", ")}`), make("pre", {}, sketch(media.schema))];
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

// The API reference, made from the OpenAPI document of the daemon.
import { type JSX, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { address, getJSON } from "./api/client";
import { ErrorText } from "./ui/parts";
import "./ui/theme";
import icon from "./icon.svg";

interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  description?: string;
  nullable?: boolean;
  enum?: unknown[];
  anyOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  default?: unknown;
  example?: unknown;
  "x-unit"?: string;
  "x-alias-of"?: string;
  "x-short-for"?: string;
  "x-unsupported"?: boolean;
}

interface Body {
  description?: string;
  content?: Record<string, { schema?: Schema; example?: unknown }>;
}

interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: Body;
  responses: Record<string, Body>;
}

interface OpenAPI {
  info: { title: string; description: string; version: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const deepest = 12;

/** Sketch writes schemas as commented JSON. */
class Sketch {
  private readonly seen = new Set<string>();

  constructor(private readonly doc: OpenAPI) {}

  resolve(schema: Schema = {}): Schema {
    return schema.$ref ? (this.doc.components.schemas[refName(schema)] ?? {}) : schema;
  }

  /** write leaves out what every value may be (null, a substitution), second spellings and
   * what is not supported. A schema that was written before is named only. */
  write(from: Schema | undefined, indent = "", depth = 0): string {
    const name = from?.$ref ? refName(from) : "";
    let schema = this.resolve(from);
    if (schema.allOf) schema = { ...this.resolve(schema.allOf[0]), ...schema, allOf: undefined };
    const maybe = schema.nullable ? " or null" : "";
    if (name && (schema.anyOf || schema.properties)) {
      if (this.seen.has(name)) return name + maybe;
      this.seen.add(name);
    }
    if (schema.anyOf) {
      const forms = schema.anyOf.filter((s) => !["config.Null", "config.Substitution"].includes(refName(s)));
      const texts = (name === "config.Document" ? forms.slice(0, 1) : forms).map((s) => this.write(s, indent, depth));
      return [...new Set(texts)].join(" | ") + maybe;
    }
    if (schema.enum) return schema.enum.map((v) => JSON.stringify(v)).join(" | ") + maybe;
    if (depth > deepest) return "…";
    const inner = indent + "  ";
    if (schema.properties) return "{\n" + this.members(schema.properties, inner, depth) + "\n" + indent + "}" + maybe;
    if (schema.type === "array") return "[" + this.write(schema.items, indent, depth + 1) + "]" + maybe;
    if (schema.type === "object" && typeof schema.additionalProperties === "object") {
      return `{\n${inner}<name>: ${this.write(schema.additionalProperties, inner, depth + 1)}\n${indent}}${maybe}`;
    }
    const example = schema.example === undefined ? "" : ` such as ${JSON.stringify(schema.example)}`;
    return (schema.type ?? "any") + (schema.format ? ` (${schema.format})` : "") + range(schema) + example + maybe;
  }

  private members(properties: Record<string, Schema>, indent: string, depth: number): string {
    return Object.entries(properties)
      .filter(([, m]) => !m["x-alias-of"] && !m["x-unsupported"])
      .map(
        ([name, m]) =>
          this.remark(m, indent) +
          indent +
          JSON.stringify(name) +
          ": " +
          (m["x-short-for"] ? "…" : this.write(m, indent, depth + 1)),
      )
      .join("\n");
  }

  /** remark writes what a member means as lines of comment. */
  private remark(member: Schema, indent: string): string {
    const schema = this.resolve(member);
    const unit = schema["x-unit"] && `Unit: ${schema["x-unit"]}.`;
    const byDefault = schema.default !== undefined && `Default: ${JSON.stringify(schema.default)}.`;
    const text = [member.description ?? schema.description, unit, byDefault].filter(Boolean).join(" ");
    const lines: string[] = [];
    for (const word of text.split(/\s+/).filter(Boolean)) {
      const last = lines.at(-1);
      if (last === undefined || last.length + word.length > 95) lines.push(indent + "// " + word);
      else lines[lines.length - 1] = last + " " + word;
    }
    return lines.map((l) => l + "\n").join("");
  }
}

function refName(schema: Schema): string {
  return schema.$ref?.split("/").pop() ?? "";
}

function range(schema: Schema): string {
  const low = schema.minimum === undefined ? "" : (schema.exclusiveMinimum ? " > " : " ≥ ") + schema.minimum;
  return low + (schema.maximum === undefined ? "" : " ≤ " + schema.maximum);
}

function Content({ doc, title, body }: { doc: OpenAPI; title: string; body: Body }): JSX.Element | null {
  const types = Object.keys(body.content ?? {});
  const media = types.length ? body.content![types[0]!]! : undefined;
  if (!media) return null;
  const sketch = new Sketch(doc);
  return (
    <>
      <h3>
        {title} · {types.join(", ")}
      </h3>
      <p class="muted">{sketch.resolve(media.schema).description}</p>
      <pre tabIndex={0}>
        <code>{sketch.write(media.schema)}</code>
      </pre>
      {media.example !== undefined && (
        <>
          <h3>Example</h3>
          <pre tabIndex={0}>
            <code>{JSON.stringify(media.example, null, 2)}</code>
          </pre>
        </>
      )}
    </>
  );
}

function Details({ doc, verb, path, op }: { doc: OpenAPI; verb: string; path: string; op: Operation }): JSX.Element {
  const [open, setOpen] = useState(location.hash === "#" + op.operationId);
  return (
    <details id={op.operationId} open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        <b class={"verb " + verb}>{verb}</b>
        <code>{path}</code>
        <span>{op.summary}</span>
      </summary>
      {open && (
        <div class="body">
          {op.description && <p>{op.description}</p>}
          {op.parameters?.length ? (
            <>
              <h3>Parameters</h3>
              <Rows
                head={["name", "in", "type", "meaning"]}
                rows={op.parameters.map((p) => [
                  p.name + (p.required ? " *" : ""),
                  p.in,
                  new Sketch(doc).write(p.schema),
                  p.description ?? "",
                ])}
              />
            </>
          ) : null}
          {op.requestBody && <Content doc={doc} title="Body" body={op.requestBody} />}
          <h3>Answers</h3>
          <Rows
            head={["status", "meaning"]}
            rows={Object.entries(op.responses).map(([status, r]) => [status, r.description ?? ""])}
          />
          {["200", "201", "202"].map(
            (status) =>
              op.responses[status] && <Content doc={doc} title={"Answer " + status} body={op.responses[status]} />,
          )}
          <h3>Example</h3>
          <pre tabIndex={0}>
            <code>{curl(verb, path, op)}</code>
          </pre>
        </div>
      )}
    </details>
  );
}

/** curl writes a request for the terminal. */
function curl(verb: string, path: string, op: Operation): string {
  const method = verb === "get" ? "" : `-X ${verb.toUpperCase()} `;
  const type =
    Object.keys(op.requestBody?.content ?? {}).find((t) => t.endsWith("yaml")) ??
    Object.keys(op.requestBody?.content ?? {})[0];
  const body = type
    ? `-H 'Content-Type: ${type}' --data-binary @${type.endsWith("yaml") ? "bench.yaml" : "body.json"} `
    : "";
  return `curl ${method}${body}'${new URL(".", document.baseURI).href}${path.slice(1).replace("{id}", "latest")}'`;
}

function Rows({ head, rows }: { head: string[]; rows: string[][] }): JSX.Element {
  return (
    <table>
      <thead>
        <tr>
          {head.map((h) => (
            <th class="text">{h}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {row.map((c) => (
              <td class="text wrap">{c}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Reference(): JSX.Element {
  const [doc, setDoc] = useState<OpenAPI | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    getJSON<OpenAPI>("openapi.json").then(setDoc, setError);
  }, []);
  useEffect(() => {
    if (doc && location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, [doc]);
  return (
    <>
      <header>
        <a class="brand" href={address("dashboard").href}>
          <img src={icon} alt="" width={22} height={22} />
          aiperfd
        </a>
        <nav aria-label="Pages">
          <a href={address("dashboard").href}>Runs</a>
          <a href={address("docs").href} aria-current="page">
            API
          </a>
          <a href={address("openapi.json").href}>openapi.json</a>
        </nav>
      </header>
      <main class="docs">
        <h1>API</h1>
        <ErrorText error={error} />
        {doc && <p class="muted">{doc.info.description}</p>}
        {doc?.tags.map((tag) => (
          <section key={tag.name}>
            <h2>{tag.name}</h2>
            <p class="muted">{tag.description}</p>
            {Object.entries(doc.paths).flatMap(([path, item]) =>
              Object.entries(item)
                .filter(([, op]) => op.tags?.includes(tag.name))
                .map(([verb, op]) => <Details key={verb + path} doc={doc} verb={verb} path={path} op={op} />),
            )}
          </section>
        ))}
      </main>
    </>
  );
}

render(<Reference />, document.getElementById("app")!);

// The benchmark document of the form: a YAML text whose comments and unknown parts stay.
import { type Document, parseDocument, stringify } from "yaml";

/** Target is the server of a template. */
export interface Target {
  url: string;
  model: string;
}

export interface Template {
  name: string;
  title: string;
  text: (target: Target) => string;
}

const head = (t: Target) => `benchmark:
  model: ${JSON.stringify(t.model)}
  endpoint:
    url: ${JSON.stringify(t.url)}
    type: chat
    streaming: true
`;

const dataset = `  dataset:
    type: synthetic
    isl: 512
    osl: 128
`;

/** templates are documents to begin with. */
export const templates: Template[] = [
  {
    name: "concurrency",
    title: "Fixed concurrency",
    text: (t) => `# A fixed number of requests in flight. Every field: docs/document.md
${head(t)}${dataset}  phases:
    - name: warmup
      type: concurrency
      concurrency: 8
      requests: 16
    - name: profiling
      type: concurrency
      concurrency: 8
      duration: 60
`,
  },
  {
    name: "rate",
    title: "Request rate with objectives",
    text: (t) => `# Poisson arrivals, as from independent users. A request is good if it meets the slos.
${head(t)}${dataset}  phases:
    - name: warmup
      type: concurrency
      concurrency: 4
      requests: 16
    - name: profiling
      type: poisson
      rate: 5
      duration: 60
      gracePeriod: 30
  slos: # milliseconds
    time_to_first_token: 500
    inter_token_latency: 50
`,
  },
  {
    name: "sweep",
    title: "Concurrency sweep",
    text: (t) => `# One run for each concurrency: throughput against latency.
${head(t)}${dataset}  phases:
    - name: profiling
      type: concurrency
      concurrency: 1
      duration: 20
sweep:
  type: grid
  parameters:
    phases.profiling.concurrency: [1, 2, 4, 8, 16, 32]
`,
  },
  {
    name: "conversations",
    title: "Multi-turn conversations",
    text: (t) => `# Each session sends its turns one after the other, with all turns before.
${head(t)}  dataset:
    type: synthetic
    isl: 256
    osl: 128
    turns: 4
  phases:
    - name: profiling
      type: concurrency
      concurrency: 8
      duration: 60
`,
  },
];

export const someServer: Target = { url: "http://127.0.0.1:8000", model: "my-model" };

export type Path = (string | number)[];

/** phase is the path of the first phase that is measured, or of the first. */
export function phase(doc: Document): Path {
  const phases = (doc.toJS()?.benchmark?.phases ?? []) as { name?: string; kind?: string }[];
  if (!Array.isArray(phases)) return ["benchmark", "phases"];
  const at = phases.findIndex((p) => p?.name === "profiling" || p?.kind === "profiling");
  return ["benchmark", "phases", Math.max(at, 0)];
}

export function parse(text: string): Document | null {
  const doc = parseDocument(text);
  return doc.errors.length === 0 && doc.contents !== null ? doc : null;
}

/** get returns a value as text; "" if the document does not have it. */
export function get(doc: Document | null, path: Path): string {
  const value = doc?.getIn(path);
  return value === undefined || value === null || typeof value === "object" ? "" : String(value);
}

/** set returns the text with a value changed; an empty value removes the field. */
export function set(doc: Document, path: Path, value: string | number | boolean): string {
  if (value === "") doc.deleteIn(path);
  else doc.setIn(path, value);
  return doc.toString({ lineWidth: 0 });
}

/** again returns the document of a run without what the daemon sets. */
export function again(config: Record<string, unknown>): string {
  const { runtime: _, logging: __, artifacts, ...rest } = config;
  const files = { ...(artifacts as object | undefined), dir: null };
  return stringify({ benchmark: pruned({ ...rest, artifacts: files }) }, { lineWidth: 0 });
}

/** pruned leaves out what is null or empty: it is the default. */
function pruned(v: unknown): unknown {
  if (Array.isArray(v)) return v.map(pruned);
  if (v === null || typeof v !== "object") return v;
  const kept = Object.entries(v)
    .map(([k, x]) => [k, pruned(x)] as const)
    .filter(([, x]) => !empty(x));
  return Object.fromEntries(kept);
}

function empty(v: unknown): boolean {
  return v === null || (typeof v === "object" && Object.keys(v as object).length === 0);
}

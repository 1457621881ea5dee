// A new run: a form for what every benchmark needs beside the whole document in YAML.
import type { ComponentType, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type FieldProblem, getJSON, postJSON, type Run, type Schemas } from "../api/client";
import { go, link } from "../router";
import { type Check, checked, refused, valid, verdict } from "../state/check";
import { Card, ErrorText } from "../ui/parts";
import {
  again,
  get,
  type Path,
  parse,
  phase,
  set,
  someServer,
  type Target,
  type Template,
  templates,
} from "./document";

type EditorProps = {
  text: string;
  problems: FieldProblem[];
  warnings: FieldProblem[];
  onChange: (text: string) => void;
};

const draftKey = "aiperfd.draft";
const yamlType = "application/yaml";
const pause = 400;
const none: FieldProblem[] = [];

export function NewRunPage({ from }: { from: string }): JSX.Element {
  const [text, setText] = useState(() =>
    from ? "" : (sessionStorage.getItem(draftKey) ?? templates[0]!.text(someServer)),
  );
  const [check, setCheck] = useState<Check | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const key = useRef("");
  useEffect(() => {
    document.title = "New run · aiperfd";
  }, []);
  useEffect(() => {
    if (from === "simulator") simulator().then((t) => setText(quick(templates[1]!.text(t))), setError);
    else if (from) getJSON<Record<string, unknown>>(`api/runs/${from}/config`).then((c) => setText(again(c)), setError);
  }, [from]);
  useEffect(() => {
    if (!text) return;
    sessionStorage.setItem(draftKey, text);
    key.current = crypto.randomUUID?.() ?? String(Math.random());
    const timer = setTimeout(() => {
      postJSON<Schemas["wire.Validation"]>("api/validate", text, yamlType).then(
        (answer) => setCheck(checked(text, answer)),
        (problem: unknown) => setCheck(refused(text, problem)),
      );
    }, pause);
    return () => clearTimeout(timer);
  }, [text]);

  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      // A repetition after a lost answer starts no second run.
      const run = await postJSON<Run>("api/runs", text, yamlType, { "Idempotency-Key": key.current });
      sessionStorage.removeItem(draftKey);
      go(link("runs/" + run.id));
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  // Problems stay on the screen until the next answer.
  const problems = check?.errors ?? none;
  const warnings = check?.warnings ?? none;
  return (
    <>
      <div class="row between">
        <h1>New run</h1>
        <span class="row">
          <span role="status" class={problems.length ? "bad" : "muted"}>
            {problems.length > 0 ? (
              <button type="button" class="quiet danger" onClick={showProblems}>
                {verdict(check, text)}
              </button>
            ) : (
              verdict(check, text)
            )}
          </span>
          <button type="button" class="primary" disabled={busy || !valid(check, text)} onClick={submit}>
            Start the run
          </button>
        </span>
      </div>
      <ErrorText error={error ?? (check?.text === text ? check.failed : null)} />
      <Templates text={text} onChange={setText} onError={setError} />
      <div class="columns new-run">
        <Form text={text} problems={problems} onChange={setText} />
        <Card title="Document">
          <LazyEditor text={text} problems={problems} warnings={warnings} onChange={setText} />
          <Problems problems={problems} warnings={warnings} />
        </Card>
      </div>
    </>
  );
}

/** showProblems brings the list of problems into view, which stands below the document. */
function showProblems(): void {
  document.querySelector(".problems")?.scrollIntoView({ block: "center" });
}

/** simulator starts the simulated server of the daemon. */
function simulator(): Promise<Target> {
  return postJSON<Schemas["wire.Simulator"]>("api/simulator");
}

/** quick makes the run of a template short: it is to be watched. */
function quick(text: string): string {
  return text.replace("duration: 60", "duration: 30").replace("rate: 5", "rate: 10");
}

/** Templates puts a template in place of the document, for the same server. */
function Templates({
  text,
  onChange,
  onError,
}: {
  text: string;
  onChange: (text: string) => void;
  onError: (error: unknown) => void;
}): JSX.Element {
  const doc = useMemo(() => parse(text), [text]);
  const server: Target = {
    url: get(doc, ["benchmark", "endpoint", "url"]) || someServer.url,
    model: get(doc, ["benchmark", "model"]) || someServer.model,
  };
  const known = templates.some((t) => t.text(server) === text);
  const put = (template: Template) => {
    if (!text || known || confirm("Replace the document by this template?")) onChange(template.text(server));
  };
  const simulate = () =>
    simulator().then((t) => {
      if (!doc) return onChange(templates[0]!.text(t));
      const model = parse(set(doc, ["benchmark", "endpoint", "url"], t.url));
      onChange(set(model!, ["benchmark", "model"], t.model));
    }, onError);
  return (
    <div class="row templates">
      <span class="muted">Start with</span>
      {templates.map((t) => (
        <button type="button" class="small" onClick={() => put(t)}>
          {t.title}
        </button>
      ))}
      <button
        type="button"
        class="small"
        title="A server with plausible latencies, started by the daemon"
        onClick={simulate}
      >
        Use the built-in simulator as the server
      </button>
    </div>
  );
}

/** LazyEditor loads the editor when it is needed; until then the text is plain. */
function LazyEditor(props: EditorProps): JSX.Element {
  const [Editor, setEditor] = useState<ComponentType<EditorProps> | null>(null);
  useEffect(() => {
    void import("../ui/editor").then((m) => setEditor(() => m.default));
  }, []);
  if (Editor) return <Editor {...props} />;
  return (
    <textarea
      class="editor"
      aria-label="Benchmark document, YAML"
      value={props.text}
      onInput={(e) => props.onChange(e.currentTarget.value)}
    />
  );
}

function Problems({ problems, warnings }: { problems: FieldProblem[]; warnings: FieldProblem[] }): JSX.Element | null {
  if (problems.length + warnings.length === 0) return null;
  const row = (p: FieldProblem) => (
    <li>
      <code>{p.pointer?.replace(/^#/, "") || "document"}</code>
      {p.line ? ` line ${p.line}: ` : ": "}
      {p.detail}
    </li>
  );
  return (
    <>
      {problems.length > 0 && <ul class="problems bad">{problems.map(row)}</ul>}
      {warnings.length > 0 && <ul class="problems muted">{warnings.map(row)}</ul>}
    </>
  );
}

const loads = [
  ["concurrency", "concurrency"],
  ["poisson", "request rate, Poisson arrivals"],
  ["constant", "request rate, even arrivals"],
] as const;

interface FormProps {
  text: string;
  problems: FieldProblem[];
  onChange: (text: string) => void;
}

function Form({ text, problems, onChange }: FormProps): JSX.Element {
  const doc = useMemo(() => parse(text), [text]);
  const types = useEndpointTypes();
  if (!doc)
    return (
      <Card title="Main settings">
        <p class="empty">The form needs valid YAML.</p>
      </Card>
    );
  const root: Path = ["benchmark"];
  const at = phase(doc);
  const first = (path: Path[]): Path => path.find((p) => doc.hasIn(p)) ?? path[0]!;
  const bind = (path: Path, kind: "text" | "number" = "text") => ({
    value: get(doc, path),
    problem: problems.find((p) => p.pointer?.replace(/^#/, "") === "/" + path.join("/"))?.detail,
    change: (value: string) => onChange(set(doc, path, kind === "number" && value !== "" ? Number(value) : value)),
  });
  const url = first([
    [...root, "endpoint", "url"],
    [...root, "endpoint", "urls", 0],
  ]);
  const model = first([
    [...root, "model"],
    [...root, "models", "items", 0, "name"],
  ]);
  const data = first([
    [...root, "dataset"],
    [...root, "datasets", 0],
  ]);
  const isl = first([
    [...data, "isl"],
    [...data, "prompts", "isl", "mean"],
  ]);
  const osl = first([
    [...data, "osl"],
    [...data, "prompts", "osl", "mean"],
  ]);
  const type = get(doc, [...at, "type"]);
  return (
    <Card title="Main settings" class="form">
      <label>
        Name
        <Field {...bind(["metadata", "name"])} placeholder="shown in the list of runs" />
      </label>
      <label>
        Server
        <Field type="url" required {...bind(url)} placeholder="http://127.0.0.1:8000" />
      </label>
      <label>
        Model
        <Field required {...bind(model)} placeholder="as the server calls it" />
      </label>
      <label>
        Endpoint type
        <select
          value={get(doc, [...root, "endpoint", "type"])}
          onChange={(e) => onChange(set(doc, [...root, "endpoint", "type"], e.currentTarget.value))}
        >
          {types.map((t) => (
            <option value={t}>{t}</option>
          ))}
        </select>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={get(doc, [...root, "endpoint", "streaming"]) === "true"}
          onChange={(e) => onChange(set(doc, [...root, "endpoint", "streaming"], e.currentTarget.checked))}
        />
        Stream responses
      </label>
      <label>
        Load
        <select value={type} onChange={(e) => onChange(set(doc, [...at, "type"], e.currentTarget.value))}>
          {loads.map(([value, label]) => (
            <option value={value}>{label}</option>
          ))}
          {!loads.some(([value]) => value === type) && <option value={type}>{type || "choose"}</option>}
        </select>
      </label>
      <div class="pair">
        <label>
          Concurrency
          <Field type="number" min={1} {...bind([...at, "concurrency"], "number")} />
        </label>
        <label>
          Requests per second
          <Field
            type="number"
            min={0}
            step="any"
            {...bind([...at, "rate"], "number")}
            disabled={type === "concurrency"}
          />
        </label>
      </div>
      <div class="pair">
        <label>
          Requests
          <Field type="number" min={1} {...bind([...at, "requests"], "number")} />
        </label>
        <label>
          Duration in seconds
          <Field type="number" min={0} step="any" {...bind([...at, "duration"], "number")} />
        </label>
      </div>
      <div class="pair">
        <label>
          Input tokens
          <Field type="number" min={1} {...bind(isl, "number")} />
        </label>
        <label>
          Output tokens
          <Field type="number" min={1} {...bind(osl, "number")} />
        </label>
      </div>
      <p class="muted">The document has all other settings: warm-up, datasets, sweeps, objectives, headers and keys.</p>
    </Card>
  );
}

interface FieldProps {
  value: string;
  /** what is wrong with it */
  problem: string | undefined;
  change: (value: string) => void;
  type?: "url" | "number";
  placeholder?: string;
  required?: boolean;
  disabled?: boolean;
  min?: number;
  step?: "any";
}

/** Field is an input whose text stays as it is typed while it has the focus, with its problem below it. */
function Field({ value, problem, change, ...rest }: FieldProps): JSX.Element {
  const [text, setText] = useState<string | null>(null);
  return (
    <>
      <input
        {...(rest as object)}
        value={text ?? value}
        aria-invalid={problem ? true : undefined}
        onBlur={() => setText(null)}
        onInput={(e) => {
          setText(e.currentTarget.value);
          change(e.currentTarget.value);
        }}
      />
      {problem && <span class="bad">{problem}</span>}
    </>
  );
}

/** useEndpointTypes reads the types of endpoints from the JSON Schema of documents. */
function useEndpointTypes(): string[] {
  const [types, setTypes] = useState<string[]>(["chat", "completions"]);
  useEffect(() => {
    void getJSON<object>("api/config/schema").then(
      (schema) => {
        const found = endpointTypes(schema);
        if (found.length) setTypes(found);
      },
      () => undefined,
    );
  }, []);
  return types;
}

/** endpointTypes finds the accepted values of endpoint.type. */
function endpointTypes(schema: object): string[] {
  const defs =
    (
      schema as {
        $defs?: Record<string, { properties?: Record<string, { enum?: string[]; anyOf?: { enum?: string[] }[] }> }>;
      }
    ).$defs ?? {};
  const type = Object.entries(defs).find(([name]) => name.endsWith("Endpoint"))?.[1].properties?.type;
  return type?.enum ?? type?.anyOf?.find((o) => o.enum)?.enum ?? [];
}

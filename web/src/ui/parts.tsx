// Small parts that several pages use.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ended, Problem, type Run, type Schemas } from "../api/client";
import { embedded } from "../api/embedded";
import * as format from "../format";
import { link } from "../router";
import { choice, setTheme } from "./theme";

/** StatePill shows the state of a run. */
export function StatePill({ run }: { run: Pick<Run, "state" | "queue_position" | "state_reason"> }): JSX.Element {
  const text = run.state === "queued" && run.queue_position ? `queued, ${run.queue_position}` : run.state;
  return (
    <span class={"pill " + run.state} title={run.state_reason || undefined}>
      {text}
    </span>
  );
}

/** ClientPill says how far the load generator can be believed. */
export function ClientPill({ client }: { client: Run["client"] }): JSX.Element | null {
  if (!client) return null;
  const reasons = client.reasons?.map((r) => r.message).join("; ");
  return (
    <span class={"pill client-" + client.verdict} title={reasons || "no distortion found"}>
      <span class="about">measurement </span>
      {client.verdict}
    </span>
  );
}

/** VerdictPill shows whether the objectives of a run were met. */
export function VerdictPill({ verdict }: { verdict: string | null | undefined }): JSX.Element | null {
  if (!verdict) return null;
  return <span class={"pill slo-" + verdict}>SLO {verdict}</span>;
}

export function Tile(props: {
  label: string;
  value: string;
  unit?: string;
  note?: string;
  bad?: boolean;
  title?: string;
  doubt?: Schemas["verdict.Reason"];
}): JSX.Element {
  return (
    <div class={props.bad ? "tile bad" : "tile"} title={props.title}>
      <span>
        {props.label}
        <Doubt of={props.doubt} />
      </span>
      <b>
        {props.value}
        {props.unit && /\d/.test(props.value) && <small>{props.unit}</small>}
      </b>
      {props.note && <span class="sub">{props.note}</span>}
    </div>
  );
}

/** Doubt marks a number that the load generator distorted, or may have distorted. */
export function Doubt({ of }: { of: Schemas["verdict.Reason"] | undefined }): JSX.Element | null {
  if (!of) return null;
  return (
    <span class={"doubt client-" + of.level} title={of.message}>
      {of.level === "invalid" ? "distorted" : "doubtful"}
    </span>
  );
}

/** Mean is a mean with half the width of its interval, or with the upper end of one that would go below zero. */
/** Mean is a statistic of a value of a sweep. measured is how many of its runs have results: if the load generator
 * distorted the statistic in some, the mean is that of the others, which it says. */
export function Mean(props: { of: Schemas["results.Estimate"] | null; measured?: number }): JSX.Element {
  const { of: e, measured = 0 } = props;
  if (!e) return <>{format.absent}</>;
  const text = (
    <>
      {format.number(e.mean)}
      {e.unsupported && "*"}
      {e.runs > 1 && " "}
      {e.runs > 1 && <span class="spread">{format.spread(e)}</span>}
      {!e.distorted && e.runs < measured && (
        <span class="sub" title="The load generator distorted it in the other runs">
          {e.runs} of {measured} runs
        </span>
      )}
    </>
  );
  return e.distorted ? <s title="The load generator distorted it">{text}</s> : text;
}

/** asOf says of which moment the numbers of a part of a live page are, in seconds from the start of the run: its parts
 * are not all of the same. */
export function asOf(run: Run, elapsed: number | null | undefined): JSX.Element | null {
  if (ended(run.state) || embedded || !elapsed) return null;
  return <span class="muted">as of {format.seconds(elapsed)}</span>;
}

interface CardProps {
  title?: string;
  /** what stands beside the title */
  beside?: ComponentChildren;
  /** the title has names that readers gave, which stay as they are */
  named?: boolean;
  class?: string;
  children: ComponentChildren;
}

export function Card(props: CardProps): JSX.Element {
  const title = props.title && <h2 class={props.named ? "named" : undefined}>{props.title}</h2>;
  return (
    <section class={"card " + (props.class ?? "")}>
      {props.beside ? (
        <div class="row between">
          {title}
          {props.beside}
        </div>
      ) : (
        title
      )}
      {props.children}
    </section>
  );
}

/** ErrorText shows an error with every field that the daemon named. */
export function ErrorText({ error }: { error: unknown }): JSX.Element | null {
  if (!error) return null;
  const fields = error instanceof Problem ? error.fields : [];
  return (
    <div class="alert" role="alert">
      {error instanceof Error ? error.message : String(error)}
      {fields.length > 0 && (
        <ul>
          {fields.map((f) => (
            <li>
              <code>{f.pointer || "document"}</code> {f.detail}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Action is a button for a request: it waits for the answer and shows an error beside it. */
export function Action(props: {
  text: string;
  class?: string;
  confirm?: string;
  act: () => Promise<unknown>;
}): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const act = async () => {
    if (props.confirm && !confirm(props.confirm)) return;
    setBusy(true);
    setError(null);
    await props.act().catch(setError);
    setBusy(false);
  };
  return (
    <span class="action">
      <button type="button" class={props.class} disabled={busy} onClick={act}>
        {props.text}
      </button>
      <ErrorText error={error} />
    </span>
  );
}

/** Missing says that something does not exist, and where to go from there. */
export function Missing({ what, name }: { what: string; name: string }): JSX.Element {
  useEffect(() => {
    document.title = "Not found · aiperfd";
  }, []);
  return (
    <section class="card welcome">
      <h1>There is no such {what}</h1>
      <p>
        <code>{name}</code> was deleted, or the address is wrong.
      </p>
      <p class="row">
        <a class="button primary" href={link("")}>
          Show the runs
        </a>
        <a class="button" href={link("new")}>
          New run
        </a>
      </p>
    </section>
  );
}

/** Copy shows a text with a button that copies it. */
export function Copy({ text, label }: { text: string; label: string }): JSX.Element | null {
  if (embedded) return null; // only pages from the daemon may use the clipboard
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class="quiet" onClick={copy} aria-label={label}>
      {done ? "copied" : "copy"}
    </button>
  );
}

export function ThemeButton(): JSX.Element {
  const next = { auto: "dark", dark: "light", light: "auto" } as const;
  return (
    <button class="quiet" type="button" onClick={() => setTheme(next[choice.value])} title="Change the theme">
      Theme: {choice.value}
    </button>
  );
}

export function Bar({ percent, label }: { percent: number | null | undefined; label: string }): JSX.Element {
  const value = Math.min(100, Math.max(0, percent ?? 0));
  return (
    <div
      class="bar"
      role="progressbar"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(value)}
      aria-label={label}
    >
      <i
        ref={(e) => {
          if (e) e.style.transform = `translateX(${value - 100}%)`;
        }}
      />
    </div>
  );
}

/** load describes the load of a run: "64 concurrent", "10 req/s"; those of several phases if there are. That of a sweep has as many values as it has runs. */
export function load(
  run: Pick<Run, "concurrency" | "request_rate"> & Partial<Pick<Run, "kind" | "progress" | "loads">>,
): string {
  if (run.kind === "sweep") {
    const runs = run.progress?.cells_total;
    return runs ? `sweep of ${format.count(runs)} ${runs === 1 ? "run" : "runs"}` : "sweep";
  }
  const all = run.loads ?? [];
  if (all.length > 0) return all.map((l) => (all.length > 1 ? `${l.phase}: ${l.load}` : l.load)).join("; ");
  const parts = [];
  if (run.request_rate) parts.push(format.plain(run.request_rate) + " req/s");
  if (run.concurrency) parts.push(format.count(run.concurrency) + " concurrent");
  return parts.join(", ") || format.absent;
}

/** loadLines are the loads of a run where there is little room, a line each: "4 concurrent", "then 40 req/s". */
export function loadLines(run: Parameters<typeof load>[0]): string[] {
  const all = run.kind === "sweep" ? [] : (run.loads ?? []);
  if (all.length < 2) return [load(run)];
  const lines = all.map((l, i) => (i > 0 ? "then " : "") + l.load);
  return lines.length <= 3 ? lines : [...lines.slice(0, 2), `then ${lines.length - 2} more loads`];
}

export function lasted(run: Pick<Run, "started_at" | "ended_at">): number | null {
  if (!run.started_at) return null;
  const now = embedded?.as_of ? Date.parse(embedded.as_of) : Date.now();
  const end = run.ended_at ? Date.parse(run.ended_at) : now;
  return (end - Date.parse(run.started_at)) / 1000;
}

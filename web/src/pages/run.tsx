// One run: live while it goes on, and the same page afterwards.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { address, ended, Problem, postJSON, type Run, type Schemas, type Stats, send } from "../api/client";
import { embedded } from "../api/embedded";
import * as format from "../format";
import { go, link, route } from "../router";
import { alarming, bound, byCause, doubtOf, marked } from "../state/doubt";
import { RunStore } from "../state/run";
import { choose, chosen } from "../state/runs";
import { barOf, inOrder, measured, totals } from "../state/scope";
import { useReading } from "../ui/lazy";
import {
  Action,
  asOf,
  Card,
  ClientPill,
  Copy,
  ErrorText,
  lasted,
  load,
  Missing,
  StatePill,
  Tile,
  VerdictPill,
} from "../ui/parts";
import { ProgressBar } from "../ui/progress";
import { Agents } from "./agents";
import { Charts } from "./charts";
import { Distributions } from "./distributions";
import { Edit } from "./edit";
import { GPUs } from "./gpus";
import { Percentiles } from "./metrics";
import { Network } from "./network";
import { Attainment, goodText, OpenLoop } from "./openloop";
import { Server, Spans } from "./server";
import { Slowest } from "./slowest";
import { Speculation } from "./speculation";
import { SweepPart } from "./sweep";
import { Workers } from "./workers";

export function RunPage({ id }: { id: string }): JSX.Element {
  const store = useMemo(() => new RunStore(id), [id]);
  useEffect(() => () => store.close(), [store]);
  const run = store.run.value;
  useEffect(() => {
    if (run) document.title = `${run.state} · ${run.name || run.id.slice(0, 12)} · aiperfd`;
  }, [run]);
  const problem = store.problem.value;
  if (!run && problem instanceof Problem && problem.status === 404) return <Missing what="run" name={id} />;
  if (!run) return problem ? <ErrorText error={problem} /> : <p class="empty">Loading …</p>;
  return (
    <>
      <Head store={store} run={run} />
      <ErrorText error={store.problem.value} />
      <Alarms run={run} metrics={store.metrics.value} />
      {run.kind === "sweep" ? (
        <SweepPart run={run} />
      ) : (
        <>
          <Phases store={store} run={run} />
          <Scope store={store} />
          <Tiles store={store} run={run} />
          <OpenLoop run={run} store={store} />
          <Workers store={store} run={run} />
          <Server run={run} scope={store.scope.value} />
          <Spans run={run} scope={store.scope.value} />
          <GPUs run={run} scope={store.scope.value} />
          <Network run={run} scope={store.scope.value} />
          <Charts store={store} run={run} />
          <div class="columns wide-left">
            <Percentiles store={store} />
            <div class="stack">
              <Objectives store={store} run={run} />
              <Errors store={store} run={run} />
            </div>
          </div>
          <Agents store={store} run={run} />
          <Speculation store={store} run={run} />
          <Distributions store={store} run={run} />
          <Slowest run={run} />
        </>
      )}
      {!embedded && (
        <div class="columns">
          <Artifacts store={store} run={run} />
          <Again run={run} />
        </div>
      )}
    </>
  );
}

function Head({ store, run }: { store: RunStore; run: Run }): JSX.Element {
  const base = "api/runs/" + run.id;
  const [editing, setEditing] = useState(false);
  const facts = [
    run.models.join(", "),
    run.targets.join(", "),
    run.endpoint_type + (run.streaming ? ", streaming" : ""),
    run.kind !== "sweep" && load(run),
    run.started_at && "started " + format.date(run.started_at),
    run.started_at && (ended(run.state) ? "took " : "for ") + format.seconds(lasted(run)),
  ];
  return (
    <section class="run-head" aria-labelledby="run-name">
      <div>
        {run.parent_id && !embedded && (
          <p class="muted">
            <a href={link("runs/" + run.parent_id)}>Sweep</a>
          </p>
        )}
        <h1 id="run-name">{run.name || run.models.join(", ") || run.id}</h1>
        <p class="muted">{facts.filter(Boolean).join(" · ")}</p>
        <p class="muted">
          <code>{run.id}</code> <Copy text={run.id} label="Copy the id of the run" />
          {Object.entries(run.labels).map(([k, v]) => (
            <a class="tag" href={link("", { label: `${k}=${v}` })}>
              {k}={v}
            </a>
          ))}
          {run.pinned && (
            <span class="tag" title="Retention rules do not delete this run">
              pinned
            </span>
          )}
        </p>
        {run.notes && !editing && <p class="notes">{run.notes}</p>}
        {editing && <Edit store={store} run={run} close={() => setEditing(false)} />}
      </div>
      <div class="actions">
        <StatePill run={run} />
        <ClientPill client={run.client} />
        <VerdictPill verdict={run.verdict} />
        {!embedded && (
          <button type="button" aria-expanded={editing} onClick={() => setEditing(!editing)}>
            Edit
          </button>
        )}
        {embedded ? null : ended(run.state) ? (
          <>
            <a class="button" href={link("new", { from: run.id })}>
              Run again
            </a>
            <button
              type="button"
              onClick={() => {
                choose(run.id, true);
                go(link("compare", { ids: chosen.value.join(",") }));
              }}
            >
              Compare with …
            </button>
            <Action
              text="Delete"
              class="danger"
              confirm="Delete this run and its files?"
              act={async () => {
                await send(base, { method: "DELETE" });
                go(link(""));
              }}
            />
          </>
        ) : (
          <Action
            text="Cancel run"
            class="danger"
            confirm="Cancel this run? The results measured so far are kept."
            act={async () => {
              await postJSON(base + "/cancel");
              await store.refresh();
            }}
          />
        )}
      </div>
    </section>
  );
}

/** ClientAlarm names the numbers that the load generator distorted. It is an alarm only if every
 * page shows one of them. */
function ClientAlarm({ client, metrics }: Alarmed & { client: NonNullable<Run["client"]> }): JSX.Element | null {
  const numbers = (level: string) => {
    const tags = (client.reasons ?? []).filter((r) => r.level === level).flatMap((r) => r.concerns ?? []);
    return [...new Set(tags)].map((tag) => metrics[tag]?.header ?? tag).join(", ");
  };
  const phases = new Set((client.reasons ?? []).map((r) => r.phase));
  const off = (r: Schemas["verdict.Reason"]) => bound(r) + (phases.size > 1 ? ` (${r.phase})` : "");
  const wrong = numbers("invalid");
  const doubtful = numbers("suspect");
  if (!wrong && !doubtful) return null;
  return (
    <div class={"alert client-" + (alarming(client) ? "invalid" : "suspect")} role="alert">
      {wrong && (
        <p>
          <strong>The load generator distorted these numbers, do not use them: {wrong}.</strong>
        </p>
      )}
      {doubtful && (
        <p>
          <strong>The load generator may have distorted {doubtful}.</strong>
        </p>
      )}
      <details open={embedded !== null || innerWidth > 700}>
        <summary>Why, and what helps</summary>
        <ul>
          {byCause(client).map((group) => {
            const { cause, source, remedy } = group[0]!;
            return (
              <li>
                {cause
                  ? `${format.sentence(cause)}${source ? "; " + source : ""}: ${group.map(off).join("; ")}.`
                  : group[0]!.message}
                {remedy && ` What helps: ${remedy}.`}
              </li>
            );
          })}
        </ul>
      </details>
    </div>
  );
}

interface Alarmed {
  metrics: Record<string, Stats>;
}

/** reasonOf says why a run is in its state; empty if the state or an error says it. */
function reasonOf(run: Run): string {
  const text = run.state_reason;
  if (!text || run.error || text === run.state || run.state === "completed") return "";
  return ended(run.state) ? `${format.sentence(run.state)}: ${text}.` : text;
}

/** Alarms are what a reader must know before the numbers. */
function Alarms({ run, metrics }: Alarmed & { run: Run }): JSX.Element {
  const client = run.client;
  const reason = reasonOf(run);
  return (
    <>
      {run.error && (
        <div class="alert" role="alert">
          <strong>{run.error.code}</strong>: {run.error.message}
        </div>
      )}
      {client && <ClientAlarm client={client} metrics={metrics} />}
      {reason && (
        <p class="notice" role="status">
          {reason}
        </p>
      )}
      {(run.warnings?.length ?? 0) > 0 && (
        <details class="notice">
          <summary>{run.warnings!.length === 1 ? "1 warning" : `${run.warnings!.length} warnings`}</summary>
          <ul>
            {run.warnings!.map((w) => (
              <li>
                <code>{w.pointer || w.code}</code> {w.detail}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Phases({ store, run }: { store: RunStore; run: Run }): JSX.Element {
  return (
    <section class="phases" aria-label="Phases">
      {inOrder(store.progress.value).map((p) => {
        const bar = barOf(p, ended(run.state));
        return (
          <div class={`phase ${p.phase} ${bar.tone}`} key={p.phase_index}>
            <span class="name">{p.phase_name}</span>
            <ProgressBar percent={bar.percent} failed={bar.failed} label={p.phase_name} />
            <span class="figures">{bar.text}</span>
          </div>
        );
      })}
    </section>
  );
}

/** Scope chooses between the run as a whole and one of its phases. */
function Scope({ store }: { store: RunStore }): JSX.Element | null {
  const phases = inOrder(store.progress.value);
  if (phases.length < 2) return null;
  const several = phases.filter((p) => p.phase === "profiling").length > 1;
  const choice = (name: string | null, text: string) => (
    <button
      key={text}
      type="button"
      class="small"
      aria-pressed={store.scope.value === name}
      onClick={() => {
        store.scope.value = name;
      }}
    >
      {text}
    </button>
  );
  const waits = store.scope.value !== null && !store.record();
  return (
    <div class="row scope" role="group" aria-label="Show the numbers of">
      <span class="muted">Numbers of</span>
      {choice(null, measured(phases))}
      {phases
        .filter((p) => p.phase === "warmup" || several)
        .map((p) => choice(p.phase_name, p.phase === "warmup" ? `${p.phase_name} (warm-up)` : p.phase_name))}
      {waits && <span class="muted">The metrics of one phase are computed when the run has ended.</span>}
    </div>
  );
}

const perUser = "output_token_throughput_per_user";

function Tiles({ store, run }: { store: RunStore; run: Run }): JSX.Element {
  const m = store.shown();
  const scope = store.scope.value;
  const all = totals(store.progress.value, scope, run.summary);
  const withheld = store.results.value?.stream?.withheld ?? {};
  const median = (tag: string) => (withheld[tag] ? "withheld" : marked(m[tag], "p50"));
  const spread = (tag: string) =>
    withheld[tag] ? "see the metrics below" : `p90 ${marked(m[tag], "p90")} · p99 ${marked(m[tag], "p99")}`;
  const goodput = m.goodput?.avg ?? (scope === null ? run.summary?.goodput_per_sec : undefined);
  const doubt = (tag: string, unit?: string) => doubtOf(run.client, tag, unit);
  return (
    <section class="tiles" aria-label={"Key figures of " + (scope ?? measured(inOrder(store.progress.value)))}>
      <Tile
        label="Requests"
        value={format.number(m.request_throughput?.avg)}
        unit="req/s"
        note={format.count(all.succeeded) + " succeeded"}
        doubt={doubt("request_throughput", "requests/sec")}
      />
      {goodput !== undefined && goodput !== null && (
        <Tile label="Goodput" value={format.number(goodput)} unit="req/s" doubt={doubt("goodput")} note={goodText(m)} />
      )}
      <Tile
        label="Output"
        value={format.number(m.output_token_throughput?.avg)}
        unit="tokens/s"
        doubt={doubt("output_token_throughput", "tokens/sec")}
        note={withheld[perUser] ? "per user: withheld" : `${marked(m[perUser], "p50")} per user (median)`}
      />
      {m.time_to_first_token && (
        <Tile
          label="TTFT p50"
          value={median("time_to_first_token")}
          unit="ms"
          note={spread("time_to_first_token")}
          doubt={doubt("time_to_first_token")}
          title="Time to first token"
        />
      )}
      {m.inter_token_latency && (
        <Tile
          label="ITL p50"
          value={median("inter_token_latency")}
          unit="ms"
          note={spread("inter_token_latency")}
          doubt={doubt("inter_token_latency")}
          title="Inter-token latency"
        />
      )}
      <Tile
        label="Latency p50"
        value={marked(m.request_latency, "p50")}
        unit="ms"
        note={spread("request_latency")}
        doubt={doubt("request_latency")}
        title="From the start of a request to its last byte"
      />
      <Tile
        label="Errors"
        value={format.count(all.failed)}
        note={format.percent(all.errorShare ?? 0) + " of requests"}
        bad={all.failed > 0}
      />
    </section>
  );
}

function Objectives({ store, run }: { store: RunStore; run: Run }): JSX.Element | null {
  const results = store.scope.value === null ? (run.summary?.slo_results ?? []) : [];
  const single = Object.keys(store.slos.value).length > 0;
  if (results.length === 0 && !single) return null;
  return (
    <Card title="Service level objectives">
      {results.length > 0 && (
        <table>
          <tbody>
            {results.map((r) => (
              <tr key={r.objective}>
                <td>
                  <span class={"pill " + (r.met ? "slo-pass" : "slo-fail")}>{r.met ? "met" : "missed"}</span>
                </td>
                <td class="text wrap">{r.objective}</td>
                <td class="wrap">
                  {format.number(r.value)} {r.unit}
                  {r.uncertain && (
                    <span class="muted" title={r.doubt}>
                      {" "}
                      (uncertain)
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Attainment store={store} />
    </Card>
  );
}

/** Errors lists the failed requests in groups, with the message of one of each. */
function Errors({ store, run }: { store: RunStore; run: Run }): JSX.Element {
  const scope = store.scope.value;
  const failed = totals(store.progress.value, scope, run.summary).failed;
  const over = ended(run.state);
  const path = failed > 0 ? `api/runs/${run.id}/errors` : null;
  const { value } = useReading<Schemas["wire.Errors"]>(path, !over);
  const record = store.record();
  const ofPhase = record?.error_summary.map((e) => ({
    class: e.error_details.class,
    message: e.error_details.message,
    count: e.count,
  }));
  const shown = scope === null ? (value?.items ?? []) : (ofPhase ?? []);
  return (
    <Card title="Errors" beside={scope === null && asOf(run, value?.elapsed_sec)}>
      {failed === 0 ? (
        <p class="empty">{over && run.error ? "No request failed; see the error above." : "No request failed."}</p>
      ) : (
        <table>
          <tbody>
            {shown.slice(0, 20).map((g) => (
              <tr key={g.class + g.message}>
                <td class="text wrap">
                  <strong>{g.class}</strong> {g.message.slice(0, 300)}
                </td>
                <td>{format.count(g.count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {failed > 0 && scope !== null && !record && (
        <p class="muted">The errors of one phase are listed when the run has ended.</p>
      )}
    </Card>
  );
}

/** fewFiles are listed at first: a sweep has several for each of its runs. */
const fewFiles = 12;

function Artifacts({ store, run }: { store: RunStore; run: Run }): JSX.Element {
  // The files of the run come before those of its phases.
  const files = [...store.files.value].sort(
    (a, b) => depth(a.name) - depth(b.name) || a.name.localeCompare(b.name, undefined, { numeric: true }),
  );
  const [all, setAll] = useState(false);
  const base = address(`api/runs/${run.id}/`).href;
  return (
    <Card title="Files">
      {files.length === 0 ? (
        <p class="empty">{ended(run.state) ? "This run has no files." : "Available after the run."}</p>
      ) : (
        <ul class="files" aria-label="Files">
          {files.slice(0, all ? files.length : fewFiles).map((f) => (
            <li key={f.name}>
              <a href={address(f.href.replace(/^\//, "")).href} download>
                {f.name}
              </a>
              <span class="muted">{format.bytes(f.size)}</span>
            </li>
          ))}
        </ul>
      )}
      {files.length > fewFiles && (
        <button type="button" class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? `Show the first ${fewFiles} files` : `Show all ${format.count(files.length)} files`}
        </button>
      )}
      <p class="row">
        {files.length > 0 && (
          <a class="button" href={base + "artifacts.zip"} download>
            All as zip
          </a>
        )}
        <a class="button" href={base + "report.html"} download={reportName(run) + ".html"}>
          HTML report
        </a>
        <a class="button" href={base + "report.md"} download={reportName(run) + ".md"}>
          Markdown
        </a>
      </p>
    </Card>
  );
}

function reportName(run: Run): string {
  return `aiperfd-report-${run.id.slice(0, 12)}`;
}

function depth(name: string): number {
  return name.split("/").length;
}

/** Again shows how to run the same document from a terminal. */
function Again({ run }: { run: Run }): JSX.Element {
  const base = new URL(".", document.baseURI).href;
  const command = `curl ${base}api/runs/${run.id}/config > bench.json\naiperfd ctl --server ${base} submit bench.json`;
  return (
    <Card title="Run it again">
      <p class="muted">
        From this page: <a href={link("new", { from: run.id })}>open its document</a>. From a terminal:
      </p>
      <pre tabIndex={0}>
        <code>{command}</code>
      </pre>
      <Copy text={command} label="Copy the commands" />
      <p class="muted">
        Seed {run.random_seed}, aiperfd {run.aiperfd_version}. The page of this run:{" "}
        <a href={link(route.value.path.join("/"))}>permalink</a>
      </p>
    </Card>
  );
}

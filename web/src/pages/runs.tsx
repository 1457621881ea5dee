// The runs: those that wait or run now, and the history with its filters.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { postJSON, type Run, send } from "../api/client";
import { Spark } from "../charts/spark";
import * as format from "../format";
import { go, link, route } from "../router";
import {
  active,
  choose,
  chosen,
  filterNames,
  filters,
  list,
  loadRuns,
  mostCompared,
  pageSize,
  problem,
  queue,
} from "../state/runs";
import { Action, Bar, Card, ClientPill, lasted, load, StatePill, VerdictPill } from "../ui/parts";

export function RunsPage(): JSX.Element {
  useEffect(() => {
    document.title = "Runs · aiperfd";
  }, []);
  const empty = list.value?.items.length === 0 && Object.keys(filters()).length === 0 && active.value.length === 0;
  return (
    <>
      <h1 class="hidden-text">Runs</h1>
      {problem.value && (
        <p class="alert" role="alert">
          {problem.value}
        </p>
      )}
      {empty ? (
        <Welcome />
      ) : (
        <>
          <Active />
          <History />
        </>
      )}
    </>
  );
}

function Welcome(): JSX.Element {
  const origin = new URL(".", document.baseURI).href;
  return (
    <Card class="welcome">
      <h2>No run yet</h2>
      <p>Benchmark a server: enter its address and model, choose a load, and watch the results live.</p>
      <p class="row">
        <a class="button primary" href={link("new")}>
          New run
        </a>
        <a class="button" href={link("new", { from: "simulator" })}>
          Try it on the built-in simulator
        </a>
      </p>
      <p class="muted">From a terminal:</p>
      <pre tabIndex={0}>
        <code>{`curl -H 'Content-Type: application/yaml' --data-binary @bench.yaml ${origin}api/runs`}</code>
      </pre>
    </Card>
  );
}

function Active(): JSX.Element | null {
  const runs = [...active.value].sort((a, b) => (a.queue_position ?? 0) - (b.queue_position ?? 0));
  const paused = queue.value?.paused ?? false;
  if (runs.length === 0 && !paused) return null;
  const top = Math.max(0, ...runs.filter((r) => r.state === "queued").map((r) => r.priority));
  return (
    <Card>
      <div class="row between">
        <h2>Running and queued</h2>
        <Action
          text={paused ? "Resume the queue" : "Pause the queue"}
          class="small"
          act={async () => {
            await postJSON("api/queue/" + (paused ? "resume" : "pause"));
            await loadRuns();
          }}
        />
      </div>
      {paused && (
        <p class="notice" role="status">
          The queue is paused: no queued run starts. Active runs continue.
        </p>
      )}
      <ul class="active-runs">
        {runs.map((run) => (
          <ActiveRun key={run.id} run={run} top={top} />
        ))}
      </ul>
    </Card>
  );
}

/** highest is the greatest priority of a run. */
const highest = 100;

/** prefer puts a queued run before all others: the queue is in the order of priorities. */
async function prefer(run: Run, top: number): Promise<void> {
  const body = JSON.stringify({ priority: Math.min(highest, top + 1) });
  await send("api/runs/" + run.id, {
    method: "PATCH",
    body,
    headers: { "Content-Type": "application/merge-patch+json" },
  });
  await loadRuns();
}

function ActiveRun({ run, top }: { run: Run; top: number }): JSX.Element {
  const p = run.progress;
  const facts = [];
  if (p?.cells_total) facts.push(`${format.count(p.cells_done)} of ${format.count(p.cells_total)} cells`);
  else if (p && run.state !== "queued")
    facts.push(`${format.count(p.requests_completed)} requests`, `${format.count(p.in_flight)} in flight`);
  if (p?.request_errors) facts.push(`${format.count(p.request_errors)} errors`);
  if (p?.eta_sec) facts.push(format.seconds(p.eta_sec) + " left");
  if (run.state_reason) facts.push(run.state_reason);
  return (
    <li>
      <StatePill run={run} />
      <a href={link("runs/" + run.id)}>{run.name || run.id.slice(0, 12)}</a>
      <span class="muted">
        {run.models.join(", ")} · {load(run)}
      </span>
      <Bar percent={p?.percent} label={"Progress of " + (run.name || run.id)} />
      <span class="figures">{facts.join(" · ")}</span>
      <span class="row">
        {run.state === "queued" && (run.queue_position ?? 0) > 1 && (
          <Action text="Start next" class="small" act={() => prefer(run, top)} />
        )}
        <Action
          text="Cancel"
          class="danger small"
          confirm="Cancel this run? The results measured so far are kept."
          act={() => postJSON(`api/runs/${run.id}/cancel`)}
        />
      </span>
    </li>
  );
}

function History(): JSX.Element {
  const page = list.value;
  return (
    <Card title="History">
      <Filters />
      {page === null ? <p class="empty">Loading …</p> : <Table runs={page.items} />}
      {page && <Pager next={page.next_cursor ?? ""} total={page.total ?? null} shown={page.items.length} />}
    </Card>
  );
}

function Filters(): JSX.Element {
  const set = filters();
  const apply = (changed: Record<string, string>) => go(link("", { ...set, ...changed }), true);
  return (
    <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
      <Search
        label="Search"
        class="grow"
        value={set.q ?? ""}
        placeholder="name, model, target, id"
        apply={(q) => apply({ q })}
      />
      <label>
        State
        <select value={set.state ?? ""} onChange={(e) => apply({ state: e.currentTarget.value })}>
          <option value="">all</option>
          {["completed", "failed", "cancelled", "running", "queued"].map((s) => (
            <option>{s}</option>
          ))}
        </select>
      </label>
      <label>
        Kind
        <select value={set.kind ?? ""} onChange={(e) => apply({ kind: e.currentTarget.value })}>
          <option value="">all</option>
          <option value="run">runs</option>
          <option value="sweep">sweeps</option>
        </select>
      </label>
      <label>
        Sort
        <select value={set.sort ?? ""} onChange={(e) => apply({ sort: e.currentTarget.value })}>
          <option value="">newest first</option>
          <option value="created_at">oldest first</option>
        </select>
      </label>
      <Search label="Model" value={set.model ?? ""} placeholder="all" apply={(model) => apply({ model })} />
      <Search label="Label" value={set.label ?? ""} placeholder="key=value" apply={(label) => apply({ label })} />
      <label>
        From
        <input
          type="date"
          value={set.created_after ? lastDay(new Date(Date.parse(set.created_after) + 1).toISOString()) : ""}
          onChange={(e) => apply({ created_after: midnight(e.currentTarget.value, 0) })}
        />
      </label>
      <label>
        To
        <input
          type="date"
          value={lastDay(set.created_before)}
          onChange={(e) => apply({ created_before: midnight(e.currentTarget.value, 1) })}
        />
      </label>
      {filterNames.some((name) => set[name]) && <a href={link("")}>Clear filters</a>}
    </form>
  );
}

/** midnight is the begin of a day of the reader, or of a day after it, in RFC 3339. */
function midnight(day: string, after: number): string {
  if (!day) return "";
  const at = new Date(day + "T00:00:00");
  at.setDate(at.getDate() + after);
  return at.toISOString();
}

/** lastDay is the day before a midnight. */
function lastDay(before: string | undefined): string {
  if (!before) return "";
  const at = new Date(Date.parse(before) - 1);
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((v) => String(v).padStart(2, "0")).join("-");
}

/** Search applies the text shortly after the last key. */
function Search({
  value,
  apply,
  label,
  placeholder,
  ...rest
}: {
  value: string;
  apply: (q: string) => void;
  label: string;
  placeholder: string;
  class?: string;
}): JSX.Element {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => apply(text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label {...rest}>
      {label}
      <input type="search" value={text} placeholder={placeholder} onInput={(e) => setText(e.currentTarget.value)} />
    </label>
  );
}

function Table({ runs }: { runs: Run[] }): JSX.Element {
  if (runs.length === 0) return <p class="empty">No run matches these filters.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="History">
      <table class="runs">
        <thead>
          <tr>
            <th>
              <span class="hidden-text">Compare</span>
            </th>
            <th class="text">Run</th>
            <th class="text">State</th>
            <th class="text">Load, model</th>
            <th>Started, took</th>
            <th>Requests, errors</th>
            <th>req/s</th>
            <th>
              <span class="hidden-text">Requests per second over time</span>
            </th>
            <th>tokens/s</th>
            <th>TTFT p50</th>
            <th>TTFT p99</th>
            <th>Latency p99</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <Row key={run.id} run={run} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ run }: { run: Run }): JSX.Element {
  const s = run.summary;
  const name = run.name || run.id.slice(0, 12);
  const on = chosen.value.includes(run.id);
  const errors = s?.errors ?? run.progress?.request_errors ?? 0;
  const full = !on && chosen.value.length >= mostCompared;
  return (
    <tr class={on ? "chosen" : ""}>
      <td>
        <input
          type="checkbox"
          checked={on}
          disabled={full}
          aria-label={"Compare " + name}
          onChange={(e) => choose(run.id, e.currentTarget.checked)}
        />
      </td>
      <td class="text">
        <a href={link("runs/" + run.id)}>{name}</a>
        {run.kind === "sweep" && <span class="tag">sweep</span>}
        {run.pinned && (
          <span class="tag" title="Retention rules do not delete this run">
            pinned
          </span>
        )}
        <span class="sub">
          {Object.entries(run.labels).map(([k, v]) => (
            <a class="tag" href={link("", { label: `${k}=${v}` })}>
              {k}={v}
            </a>
          ))}
        </span>
      </td>
      <td class="text">
        <StatePill run={run} /> <VerdictPill verdict={run.verdict} />
        <span class="sub">{run.client && run.client.verdict !== "ok" && <ClientPill client={run.client} />}</span>
      </td>
      <td class="text">
        {load(run)}
        <span class="sub">{run.models.join(", ")}</span>
      </td>
      <td title={run.started_at ?? ""}>
        {format.date(run.started_at ?? run.created_at)}
        <span class="sub">{format.seconds(lasted(run))}</span>
      </td>
      <td>
        {run.kind === "sweep"
          ? `${format.count(run.progress?.cells_total)} cells`
          : format.count(s?.requests ?? run.progress?.requests_completed)}
        <span class={errors ? "sub bad" : "sub"}>{errors ? format.count(errors) + " failed" : ""}</span>
      </td>
      <td>{format.number(s?.request_throughput_per_sec)}</td>
      <td>
        <Spark run={run} />
      </td>
      <td>{format.number(s?.output_token_throughput_per_sec)}</td>
      <td>{format.number(s?.time_to_first_token_p50_ms)}</td>
      <td>{format.number(s?.time_to_first_token_p99_ms)}</td>
      <td>{format.number(s?.request_latency_p99_ms)}</td>
    </tr>
  );
}

function Pager(props: { next: string; total: number | null; shown: number }): JSX.Element {
  const set = filters();
  const later = route.value.query.get("cursor");
  const size = props.total === null ? "" : `${format.count(props.total)} runs`;
  return (
    <p class="row pager">
      <span class="muted">
        {size}
        {props.shown === pageSize || later ? `, ${pageSize} per page` : ""}; latencies in ms
      </span>
      {later && <a href={link("", set)}>First page</a>}
      {props.next && <a href={link("", { ...set, cursor: props.next })}>Next page</a>}
    </p>
  );
}

// The runs: those that wait or run now, and the history with its filters.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { postJSON, type Run } from "../api/client";
import * as format from "../format";
import { go, link, route } from "../router";
import { active, choose, chosen, filterNames, filters, list, mostCompared, pageSize, problem } from "../state/runs";
import { Action, Bar, Card, ClientPill, lasted, load, StatePill, VerdictPill } from "../ui/parts";

export function RunsPage(): JSX.Element {
  useEffect(() => { document.title = "Runs · aiperfd"; }, []);
  const empty = list.value?.items.length === 0 && Object.keys(filters()).length === 0 && active.value.length === 0;
  return (
    <>
      <h1 class="hidden-text">Runs</h1>
      {problem.value && <p class="alert" role="alert">{problem.value}</p>}
      {empty ? <Welcome /> : <><Active /><History /></>}
    </>
  );
}

function Welcome(): JSX.Element {
  const origin = new URL(".", document.baseURI).href;
  return (
    <Card class="welcome">
      <h2>No run yet</h2>
      <p>Measure a server: name its address and model, choose a load, and watch the numbers as they are made.</p>
      <p class="row">
        <a class="button primary" href={link("new")}>New run</a>
        <a class="button" href={link("new", { from: "simulator" })}>Try it on the built-in simulator</a>
      </p>
      <p class="muted">From a terminal:</p>
      <pre tabIndex={0}><code>{`curl -H 'Content-Type: application/yaml' --data-binary @bench.yaml ${origin}api/runs`}</code></pre>
    </Card>
  );
}

function Active(): JSX.Element | null {
  const runs = [...active.value].sort((a, b) => (a.queue_position ?? 0) - (b.queue_position ?? 0));
  if (runs.length === 0) return null;
  return (
    <Card title="Running and queued">
      <ul class="active-runs">{runs.map((run) => <ActiveRun key={run.id} run={run} />)}</ul>
    </Card>
  );
}

function ActiveRun({ run }: { run: Run }): JSX.Element {
  const p = run.progress;
  const facts = [];
  if (p?.cells_total) facts.push(`${format.count(p.cells_done)} of ${format.count(p.cells_total)} cells`);
  else if (p && run.state !== "queued") facts.push(`${format.count(p.requests_completed)} requests`, `${format.count(p.in_flight)} in flight`);
  if (p?.request_errors) facts.push(`${format.count(p.request_errors)} errors`);
  if (p?.eta_sec) facts.push(format.seconds(p.eta_sec) + " left");
  if (run.state_reason) facts.push(run.state_reason);
  return (
    <li>
      <StatePill run={run} />
      <a href={link("runs/" + run.id)}>{run.name || run.id.slice(0, 12)}</a>
      <span class="muted">{run.models.join(", ")} · {load(run)}</span>
      <Bar percent={p?.percent} label={"Progress of " + (run.name || run.id)} />
      <span class="figures">{facts.join(" · ")}</span>
      <Action text="Cancel" class="danger small" confirm="Cancel this run? The results measured so far are kept."
        act={() => postJSON(`api/runs/${run.id}/cancel`)} />
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
      <Search value={set.q ?? ""} apply={(q) => apply({ q })} />
      <label>State
        <select value={set.state ?? ""} onChange={(e) => apply({ state: e.currentTarget.value })}>
          <option value="">all</option>
          {["completed", "failed", "cancelled", "running", "queued"].map((s) => <option>{s}</option>)}
        </select>
      </label>
      <label>Kind
        <select value={set.kind ?? ""} onChange={(e) => apply({ kind: e.currentTarget.value })}>
          <option value="">all</option>
          <option value="run">runs</option>
          <option value="sweep">sweeps</option>
        </select>
      </label>
      <label>Sort
        <select value={set.sort ?? ""} onChange={(e) => apply({ sort: e.currentTarget.value })}>
          <option value="">newest first</option>
          <option value="created_at">oldest first</option>
        </select>
      </label>
      {set.label && <span class="pill">label {set.label}</span>}
      {filterNames.some((name) => set[name]) && <a href={link("")}>Clear filters</a>}
    </form>
  );
}

/** Search applies the text shortly after the last key. */
function Search({ value, apply }: { value: string; apply: (q: string) => void }): JSX.Element {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => apply(text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label class="grow">Search
      <input type="search" value={text} placeholder="name, model, target, id" onInput={(e) => setText(e.currentTarget.value)} />
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
            <th><span class="hidden-text">Compare</span></th><th class="text">Run</th><th class="text">State</th><th class="text">Model</th><th class="text">Load</th>
            <th>Started</th><th>Duration</th><th>Requests</th><th>Errors</th><th>req/s</th><th>tokens/s</th><th>TTFT p50</th><th>TTFT p99</th><th>Latency p99</th>
          </tr>
        </thead>
        <tbody>{runs.map((run) => <Row key={run.id} run={run} />)}</tbody>
      </table>
    </div>
  );
}

function Row({ run }: { run: Run }): JSX.Element {
  const s = run.summary;
  const name = run.name || run.id.slice(0, 12);
  const on = chosen.value.includes(run.id);
  const full = !on && chosen.value.length >= mostCompared;
  return (
    <tr class={on ? "chosen" : ""}>
      <td><input type="checkbox" checked={on} disabled={full} aria-label={"Compare " + name} onChange={(e) => choose(run.id, e.currentTarget.checked)} /></td>
      <td class="text">
        <a href={link("runs/" + run.id)}>{name}</a>{run.kind === "sweep" && <span class="tag">sweep</span>}{run.pinned && <span class="tag" title="Pinned: kept by the retention rules">pinned</span>}
        {Object.entries(run.labels).map(([k, v]) => <a class="tag" href={link("", { label: `${k}=${v}` })}>{k}={v}</a>)}
      </td>
      <td class="text"><StatePill run={run} /> {run.client && run.client.verdict !== "ok" && <ClientPill client={run.client} />} <VerdictPill verdict={run.verdict} /></td>
      <td class="text">{run.models.join(", ") || format.absent}</td>
      <td class="text">{load(run)}</td>
      <td title={run.started_at ?? ""}>{format.date(run.started_at ?? run.created_at)}</td>
      <td>{format.seconds(lasted(run))}</td>
      <td>{format.count(s?.requests ?? run.progress?.requests_completed)}</td>
      <td class={s?.errors ? "bad" : ""}>{format.count(s?.errors ?? run.progress?.request_errors)}</td>
      <td>{format.number(s?.request_throughput_per_sec)}</td>
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
      <span class="muted">{size}{props.shown === pageSize || later ? `, ${pageSize} per page` : ""}; latencies in ms</span>
      {later && <a href={link("", set)}>First page</a>}
      {props.next && <a href={link("", { ...set, cursor: props.next })}>Next page</a>}
    </p>
  );
}

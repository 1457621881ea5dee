// The runs: those that wait or run now, and the history with its filters.
import { batch } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { postJSON, type Run, send } from "../api/client";
import { Spark } from "../charts/spark";
import * as format from "../format";
import { go, link, route } from "../router";
import { type Column, cell, columns, fits, rememberSort, show, shown, sorted, turned } from "../state/columns";
import { doubtOf, few } from "../state/doubt";
import { inOrder } from "../state/queue";
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
  reading,
} from "../state/runs";
import { counted } from "../state/scope";
import { seated } from "../state/seats";
import "./runs.css";
import { Action, Bar, Card, ClientPill, Copy, lasted, load, loadLines, StatePill, VerdictPill } from "../ui/parts";
import { Members } from "./workers";

export function RunsPage(): JSX.Element {
  useEffect(() => {
    document.title = "Runs · aiperfd";
  }, []);
  const empty =
    list.value?.items.length === 0 && Object.keys(filters()).length === 0 && active.value.length === 0 && !sorted.value;
  return (
    <>
      <h1 class="hidden-text">Runs</h1>
      {problem.value && (
        <p class="alert" role="alert">
          {problem.value}
        </p>
      )}
      {empty ? (
        <>
          <Welcome />
          <Members />
        </>
      ) : (
        <>
          <Active />
          <Members />
          <History />
          <Chosen />
        </>
      )}
    </>
  );
}

function Welcome(): JSX.Element {
  const origin = new URL(".", document.baseURI).href;
  const command = `curl -H 'Content-Type: application/yaml' --data-binary @bench.yaml ${origin}api/runs`;
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
        <code>{command}</code>
      </pre>
      <p>
        <Copy text={command} label="Copy the command" />
      </p>
    </Card>
  );
}

function Active(): JSX.Element | null {
  const turns = inOrder(active.value);
  const paused = queue.value?.paused ?? false;
  if (turns.length === 0 && !paused) return null;
  const top = Math.max(0, ...turns.filter((t) => t.place > 0).map((t) => t.run.priority));
  const pause = async () => {
    await postJSON("api/queue/" + (paused ? "resume" : "pause"));
    await loadRuns();
  };
  return (
    <Card>
      <div class="row between">
        <h2>Running and queued</h2>
        <Action text={paused ? "Resume the queue" : "Pause the queue"} class="small" act={pause} />
      </div>
      {paused && (
        <p class="notice" role="status">
          The queue is paused: no queued run starts. Active runs continue.
        </p>
      )}
      <ul class="active-runs">
        {turns.map(({ run, place }) => (
          <ActiveRun key={run.id} run={run} place={place} top={top} />
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

function ActiveRun({ run, place, top }: { run: Run; place: number; top: number }): JSX.Element {
  const p = run.progress;
  const facts = [];
  if (p?.cells_total) facts.push(`${format.count(p.cells_done)} of ${format.count(p.cells_total)} runs`);
  else if (p && place === 0) {
    facts.push(`${format.count(p.requests_completed - p.request_errors)} succeeded`);
    if (p.request_errors) facts.push(`${format.count(p.request_errors)} failed`);
    facts.push(`${format.count(p.in_flight)} in flight`);
  }
  if (p?.eta_sec) facts.push(format.seconds(p.eta_sec) + " left");
  if (run.state_reason) facts.push(run.state_reason);
  const name = run.name || run.id.slice(0, 12);
  return (
    <li class={place > 0 ? "waiting" : ""}>
      <StatePill run={{ ...run, queue_position: place }} />
      <a href={link("runs/" + run.id)} title={name}>
        {name}
      </a>
      <span class="muted">
        {load(run)} · {run.models.map(format.model).join(", ")}
      </span>
      {place === 0 ? <Bar percent={p?.percent} label={"Progress of " + name} /> : <span />}
      <span class="figures">{facts.join(" · ")}</span>
      <span class="row">
        {place > 1 && <Action text="Start next" class="small" act={() => prefer(run, top)} />}
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
  const { cursor: _, ...set } = Object.fromEntries(route.value.query);
  return (
    <Card class="history">
      <div class="row between">
        <h2>History</h2>
        <span class="row">
          <a href={link("trends", set)}>Trends of these runs</a>
          <Columns />
        </span>
      </div>
      <Filters />
      {page === null ? <p class="empty">Loading …</p> : <Table runs={page.items} />}
      {page && <Pager next={page.next_cursor ?? ""} total={page.total ?? null} shown={page.items.length} />}
    </Card>
  );
}

/** Columns lets the reader choose the numbers of the list. */
function Columns(): JSX.Element {
  return (
    <details class="menu">
      <summary>Columns</summary>
      <div class="choices">
        {columns.map((c) => (
          <label key={c.key}>
            <input
              type="checkbox"
              checked={shown.value.includes(c.key)}
              onChange={(e) => show(c.key, e.currentTarget.checked)}
            />
            {c.header}, {c.unit}
          </label>
        ))}
      </div>
    </details>
  );
}

/** Chosen says what to do with the runs that are chosen for a comparison. */
function Chosen(): JSX.Element | null {
  const ids = chosen.value;
  if (ids.length === 0) return null;
  const known = [...(list.value?.items ?? []), ...active.value];
  const names = ids.map((id) => known.find((r) => r.id === id)?.name || id.slice(0, 12));
  return (
    <div class="chosen-bar card row" role="status">
      <span class="grow">
        <b>{ids.length === 1 ? "1 run" : `${ids.length} runs`}</b> to compare: {names.join(", ")}.
        {ids.length === 1 && " Choose another one in the list."}
      </span>
      {ids.length > 1 && (
        <a class="button primary" href={link("compare", { ids: ids.join(",") })}>
          Compare
        </a>
      )}
      <button
        type="button"
        onClick={() => {
          chosen.value = [];
        }}
      >
        Clear
      </button>
    </div>
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
          {set.state?.includes(",") && <option value={set.state}>{set.state.replaceAll(",", ", ")}</option>}
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
        <select
          value={set.sort ?? sorted.value}
          onChange={(e) => {
            const sort = e.currentTarget.value;
            batch(() => {
              rememberSort(sort);
              apply({ sort: "" });
            });
          }}
        >
          <option value="">newest first</option>
          <option value="created_at">oldest first</option>
          <option value="name">name</option>
          <option value="-duration">longest first</option>
          {columns.flatMap((c) => [
            <option key={c.key} value={c.key}>
              {c.header} ({c.unit}), smallest first
            </option>,
            <option key={"-" + c.key} value={"-" + c.key}>
              {c.header} ({c.unit}), largest first
            </option>,
          ])}
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
  const box = useRef<HTMLDivElement>(null);
  /** null until it was measured, so that the rows are made once */
  const [width, setWidth] = useState<number | null>(null);
  useLayoutEffect(() => {
    const within = box.current!;
    const observer = new ResizeObserver(() => setWidth(within.clientWidth));
    observer.observe(within);
    setWidth(within.clientWidth);
    return () => observer.disconnect();
  }, []);
  const numbers = useMemo(() => columns.filter((c) => shown.value.includes(c.key)), [shown.value]);
  const seats = useRef<ReadonlyMap<string, number>>(new Map());
  const rows = useMemo(() => {
    seats.current = seated(runs, seats.current);
    return runs.map((run) => <Row key={seats.current.get(run.id)} run={run} numbers={numbers} />);
  }, [runs, numbers]);
  const sort = filters().sort ?? sorted.value;
  if (width === null) return <div ref={box} />;
  const cards = !fits(width, numbers.length);
  return (
    <div ref={box}>
      {runs.length === 0 ? (
        <p class="empty">
          No run matches these filters
          {columns.some((c) => sort.endsWith(c.key)) && " and has the number that they are sorted by"}.
        </p>
      ) : (
        <table class={cards ? "runs cards" : "runs"}>
          <thead>
            <tr>
              <th class="pick">
                <span class="hidden-text">Compare</span>
              </th>
              <th class="text">Run</th>
              <th class="text state">State</th>
              <th class="text load">Load, model</th>
              <th class="started">Started, took</th>
              <th class="count">Succeeded</th>
              <th class="line">
                <span class="hidden-text">Requests per second over time</span>
              </th>
              {numbers.map((c) => (
                <Header key={c.key} of={c} sort={sort} />
              ))}
            </tr>
          </thead>
          <tbody>{rows}</tbody>
        </table>
      )}
      <Legend runs={runs} numbers={numbers} />
    </div>
  );
}

/** Header sorts the list by its column. */
function Header({ of, sort }: { of: Column; sort: string }): JSX.Element {
  const up = sort === of.key;
  const down = sort === "-" + of.key;
  // In one step, so that the list is read once.
  const turn = () =>
    batch(() => {
      rememberSort(turned(sort, of));
      go(link("", { ...filters(), sort: "" }), true);
    });
  return (
    <th class="number" aria-sort={up ? "ascending" : down ? "descending" : undefined}>
      <button type="button" class="sort" title={`Sort by ${of.header}`} onClick={turn}>
        {of.header}
        <span class="sub">
          {of.unit}
          {up ? " ▲" : down ? " ▼" : ""}
        </span>
      </button>
    </th>
  );
}

function Row({ run, numbers }: { run: Run; numbers: Column[] }): JSX.Element {
  const s = run.summary;
  const name = run.name || run.id.slice(0, 12);
  const on = chosen.value.includes(run.id);
  const counts = counted(run);
  const full = !on && chosen.value.length >= mostCompared;
  const models = run.models.join(", ");
  return (
    <tr class={on ? "chosen" : ""}>
      <td class="pick">
        <input
          type="checkbox"
          checked={on}
          disabled={full}
          aria-label={"Compare " + name}
          onChange={(e) => choose(run.id, e.currentTarget.checked)}
        />
      </td>
      <td class="text name">
        <a class="cut" href={link("runs/" + run.id)} title={name}>
          {name}
        </a>
        <span class="sub">
          {run.kind === "sweep" && <span class="tag">sweep</span>}
          {run.pinned && (
            <span class="tag" title="Retention rules do not delete this run">
              pinned
            </span>
          )}
          {Object.entries(run.labels).map(([k, v]) => (
            <a key={k} class="tag cut" title={`${k}=${v}`} href={link("", { label: `${k}=${v}` })}>
              {k}={v}
            </a>
          ))}
        </span>
      </td>
      <td class="text state">
        <StatePill run={run} /> <VerdictPill verdict={run.verdict} />
        {run.client && run.client.verdict !== "ok" && <ClientPill client={run.client} />}
      </td>
      <td class="text load">
        {loadLines(run).map((text, i) => (
          <span key={i} class="cut" title={load(run)}>
            {text}
          </span>
        ))}
        <span class="sub cut" title={models}>
          {run.models.map(format.model).join(", ")}
        </span>
      </td>
      <td class="started" title={run.started_at ?? run.created_at}>
        {run.started_at ? format.date(run.started_at) : "not started"}
        <span class="sub">
          {run.started_at ? format.seconds(lasted(run)) : "submitted " + format.date(run.created_at)}
        </span>
      </td>
      <td class="count" data-label={run.kind === "sweep" ? "Runs" : "Succeeded"}>
        {run.kind === "sweep" ? `${format.count(run.progress?.cells_total)} runs` : format.count(counts.succeeded)}
        <span class={counts.failed ? "sub bad" : "sub"}>
          {counts.failed ? format.count(counts.failed) + " failed" : ""}
        </span>
      </td>
      <td class="line">
        <Spark key={run.id} run={run} turn={() => reading} />
      </td>
      {numbers.map((c) => (
        <td
          key={c.key}
          class={(s?.[c.key] ?? null) === null ? "number none" : "number"}
          data-label={`${c.header}, ${c.unit}`}
        >
          {figure(run, c)}
        </td>
      ))}
    </tr>
  );
}

/** doubted is the reason to doubt a number of a run, if there is a number. */
function doubted(run: Run, of: Column) {
  if (!of.metric || (run.summary?.[of.key] ?? null) === null) return undefined;
  return doubtOf(run.client, of.metric[0], of.high ? "/sec" : undefined);
}

/** Legend explains the marks of the numbers that are shown. */
function Legend({ runs, numbers }: { runs: Run[]; numbers: Column[] }): JSX.Element | null {
  const any = (marked: (run: Run, of: Column) => boolean) => runs.some((run) => numbers.some((of) => marked(run, of)));
  const parts = [
    any((run, of) => cell(run.summary, of).endsWith("*")) && `* ${few}.`,
    any((run, of) => doubted(run, of)?.level === "invalid") && "Struck out: the load generator distorted it.",
  ];
  const text = parts.filter(Boolean).join(" ");
  return text ? <p class="muted marks">{text}</p> : null;
}

/** figure is a number of a run in the list, struck out if the load generator distorted it. It is no component: a list
 * has hundreds of numbers, and each component has a state of its own. */
function figure(run: Run, of: Column): JSX.Element {
  const text = cell(run.summary, of);
  const doubt = doubted(run, of);
  if (doubt?.level === "invalid") return <s title={doubt.message}>{text}</s>;
  return <span title={doubt?.message ?? (text.endsWith("*") ? few : undefined)}>{text}</span>;
}

const pagesKey = "aiperfd.pages";

/** before returns the cursor of the page before one, "" for the first page, and undefined if this
 * tab has not shown it. It remembers which page follows the one that is shown. */
function before(cursor: string | null, next: string): string | undefined {
  const known: Record<string, string> = JSON.parse(sessionStorage.getItem(pagesKey) ?? "{}");
  if (next && known[next] === undefined) {
    known[next] = cursor ?? "";
    sessionStorage.setItem(pagesKey, JSON.stringify(known));
  }
  return cursor ? known[cursor] : undefined;
}

function Pager(props: { next: string; total: number | null; shown: number }): JSX.Element {
  const set = filters();
  const later = route.value.query.get("cursor");
  const earlier = before(later, props.next);
  const size = props.total === null ? "" : `${format.count(props.total)} runs`;
  return (
    <p class="row pager">
      <span class="muted">
        {size}
        {props.shown === pageSize || later ? `, ${pageSize} per page` : ""}
      </span>
      {later && <a href={link("", set)}>First page</a>}
      {later && earlier !== undefined && (
        <a href={link("", earlier ? { ...set, cursor: earlier } : set)}>Previous page</a>
      )}
      {props.next && <a href={link("", { ...set, cursor: props.next })}>Next page</a>}
    </p>
  );
}

// Up to ten runs side by side, against one of them.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { getJSON, type Metrics, type Run, type Stats } from "../api/client";
import { read, type Timeseries } from "../api/timeseries";
import { cycle } from "../charts/colors";
import { Cursor, Plot } from "../charts/plot";
import * as format from "../format";
import { go, link } from "../router";
import { choose, chosen } from "../state/runs";
import { Card, ClientPill, ErrorText, load, StatePill, VerdictPill } from "../ui/parts";

interface Entry {
  run: Run;
  metrics: Record<string, Stats>;
  config: Record<string, unknown>;
  series: Timeseries | null;
}

async function entry(id: string): Promise<Entry> {
  const base = "api/runs/" + id;
  const [run, metrics, config, series] = await Promise.all([
    getJSON<Run>(base), getJSON<Metrics>(base + "/metrics"), getJSON<Record<string, unknown>>(base + "/config"), read(id, 0).catch(() => null),
  ]);
  return { run, metrics: metrics.metrics as Record<string, Stats>, config, series };
}

export function ComparePage({ ids }: { ids: string[] }): JSX.Element {
  const [entries, setEntries] = useState<Entry[]>([]);
  const [error, setError] = useState<unknown>(null);
  const all = ids.join(",");
  useEffect(() => {
    document.title = "Compare · aiperfd";
    setError(null);
    Promise.all(ids.map(entry)).then(setEntries, setError);
  }, [all]);
  if (ids.length < 2) return <p class="empty">Choose at least two runs in the <a href={link("")}>list of runs</a>.</p>;
  if (error) return <ErrorText error={error} />;
  if (entries.length !== ids.length) return <p class="empty">Loading …</p>;
  const reorder = (next: string[]) => {
    chosen.value = next;
    go(next.length > 1 ? link("compare", { ids: next.join(",") }) : link(""), true);
  };
  return (
    <>
      <h1>Compare {entries.length} runs</h1>
      <Legend entries={entries} baseline={(id) => reorder([id, ...ids.filter((x) => x !== id)])} remove={(id) => { choose(id, false); reorder(ids.filter((x) => x !== id)); }} />
      <Deltas entries={entries} />
      <Overlays entries={entries} />
      <Differences entries={entries} />
    </>
  );
}

function title(e: Entry): string {
  return e.run.name || e.run.id.slice(0, 12);
}

function Legend(props: { entries: Entry[]; baseline: (id: string) => void; remove: (id: string) => void }): JSX.Element {
  return (
    <Card>
      <ul class="compared">
        {props.entries.map((e, i) => (
          <li key={e.run.id}>
            <i class={"swatch c-" + cycle[i % cycle.length]} />
            <a href={link("runs/" + e.run.id)}>{title(e)}</a>
            <span class="muted">{e.run.models.join(", ")} · {load(e.run)} · {format.date(e.run.started_at)}</span>
            <StatePill run={e.run} />{e.run.client?.verdict !== "ok" && <ClientPill client={e.run.client} />}<VerdictPill verdict={e.run.verdict} />
            {i === 0 ? <span class="tag">baseline</span> : <button class="quiet" type="button" onClick={() => props.baseline(e.run.id)}>Make baseline</button>}
            <button class="quiet" type="button" onClick={() => props.remove(e.run.id)} aria-label={"Remove " + title(e)}>Remove</button>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const rows: [string, keyof Stats & ("avg" | "p50" | "p99")][] = [
  ["request_throughput", "avg"], ["goodput", "avg"], ["output_token_throughput", "avg"], ["output_token_throughput_per_user", "p50"],
  ["time_to_first_token", "p50"], ["time_to_first_token", "p99"], ["inter_token_latency", "p50"], ["inter_token_latency", "p99"],
  ["request_latency", "p50"], ["request_latency", "p99"], ["output_sequence_length", "avg"], ["error_request_count", "avg"],
];

function Deltas({ entries }: { entries: Entry[] }): JSX.Element {
  const known = rows.filter(([tag]) => entries.some((e) => e.metrics[tag]));
  const base = entries[0]!;
  return (
    <Card title="Metrics against the baseline">
      <div class="scroll" tabIndex={0} role="region" aria-label="Metrics against the baseline">
        <table>
          <thead><tr><th class="text">Metric</th>{entries.map((e) => <th>{title(e)}</th>)}</tr></thead>
          <tbody>
            {known.map(([tag, stat]) => {
              const any = entries.find((e) => e.metrics[tag])!.metrics[tag]!;
              return (
                <tr key={tag + stat}>
                  <td class="text">{any.header} {stat !== "avg" && stat} <span class="muted">{any.unit}</span></td>
                  {entries.map((e, i) => <td>{format.number(e.metrics[tag]?.[stat])} {i > 0 && <Delta from={base.metrics[tag]?.[stat]} to={e.metrics[tag]?.[stat]} higher={any.higher_is_better === true} />}</td>)}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <p class="muted">Differences of single runs contain noise. Repeat runs (<code>multiRun</code>) before you decide by a few percent.</p>
    </Card>
  );
}

function Delta({ from, to, higher }: { from: number | undefined | null; to: number | undefined | null; higher: boolean }): JSX.Element | null {
  if (from === undefined || from === null || to === undefined || to === null || from === 0) return null;
  const change = (100 * (to - from)) / from;
  const better = higher ? change > 0 : change < 0;
  const kind = Math.abs(change) < 0.05 ? "muted" : better ? "good" : "bad";
  return <span class={"delta " + kind}>{format.signed(change)}<span class="hidden-text">{kind === "muted" ? "" : better ? " better" : " worse"}</span></span>;
}

const overlaid: [string, string, string, string][] = [
  ["output_tokens", "rate", "Output tokens", "per second"],
  ["requests_completed", "rate", "Completed requests", "per second"],
  ["time_to_first_token", "p99", "Time to first token, p99", "ms"],
  ["request_latency", "p99", "Request latency, p99", "ms"],
];

/** Overlays draws the runs over the time since their start. */
function Overlays({ entries }: { entries: Entry[] }): JSX.Element | null {
  const cursor = useMemo(() => new Cursor(), []);
  const known = entries.filter((e) => e.series && e.series.time_sec.length > 1);
  if (known.length === 0) return null;
  const x = [...new Set(known.flatMap((e) => e.series!.time_sec))].sort((a, b) => a - b);
  const place = new Map(x.map((t, i) => [t, i]));
  const charts = overlaid.map(([name, stat, text, unit]) => ({
    text, unit,
    lines: entries.flatMap((e, i) => {
      const column = e.series?.series[name]?.values[stat];
      if (!column) return [];
      const values = new Array<number | null | undefined>(x.length).fill(undefined);
      e.series!.time_sec.forEach((t, at) => { values[place.get(t)!] = column[at] ?? null; });
      return [{ label: title(e), color: cycle[i % cycle.length]!, values: values as (number | null)[] }];
    }),
  }));
  return <div class="charts">{charts.filter((c) => c.lines.length).map((c) => <Plot key={c.text} title={c.text} unit={c.unit} x={x} cursor={cursor} lines={c.lines} />)}</div>;
}

/** Differences lists the fields of the documents that are not the same. */
function Differences({ entries }: { entries: Entry[] }): JSX.Element {
  const flat = entries.map((e) => flatten(e.config));
  const paths = [...new Set(flat.flatMap((f) => [...f.keys()]))].filter((p) => !p.startsWith("/runtime") && !p.startsWith("/artifacts/dir") && new Set(flat.map((f) => f.get(p))).size > 1);
  return (
    <Card title="Differences of the documents">
      {paths.length === 0 ? <p class="empty">The documents are equal.</p> : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Differences of the documents">
          <table>
            <thead><tr><th class="text">Field</th>{entries.map((e) => <th class="text">{title(e)}</th>)}</tr></thead>
            <tbody>{paths.map((p) => <tr key={p}><td class="text"><code>{p}</code></td>{flat.map((f) => <td class="text">{f.get(p) ?? format.absent}</td>)}</tr>)}</tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function flatten(v: unknown, path = "", out = new Map<string, string>()): Map<string, string> {
  if (v !== null && typeof v === "object") Object.entries(v).forEach(([k, x]) => flatten(x, `${path}/${k}`, out));
  else out.set(path, String(v));
  return out;
}

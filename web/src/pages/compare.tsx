// Up to ten runs side by side, against one of them.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { address, getJSON, type Run, type Schemas } from "../api/client";
import { embedded } from "../api/embedded";
import { read, type Timeseries } from "../api/timeseries";
import { cycle } from "../charts/colors";
import { Cursor, Plot } from "../charts/plot";
import { Points } from "../charts/points";
import { leastPerBin } from "../charts/scales";
import * as format from "../format";
import { go, link } from "../router";
import { apart, overlay, sides } from "../state/compare";
import { meaningful } from "../state/differences";
import { few } from "../state/doubt";
import { leastForP99, tail } from "../state/overtime";
import { choose, chosen } from "../state/runs";
import { metricName } from "../state/sweep";
import { Card, ClientPill, ErrorText, load, StatePill, VerdictPill } from "../ui/parts";
import { Cdfs } from "./cdfs";
import { Judgement } from "./judgement";
import { Pick } from "./pick";
import { Sweeps } from "./sweeps";
import "./compare.css";
import "./sweep.css";

type Comparison = Schemas["compare.Comparison"];
type Value = Schemas["compare.Value"];

interface Entry {
  run: Run;
  series: Timeseries | null;
}

async function entry(id: string): Promise<Entry> {
  const [run, series] = await Promise.all([getJSON<Run>("api/runs/" + id), read(id, 0).catch(() => null)]);
  return { run, series };
}

export function ComparePage({ ids }: { ids: string[] }): JSX.Element {
  const [entries, setEntries] = useState<Entry[]>([]);
  const [comparison, setComparison] = useState<Comparison | null>(null);
  const [error, setError] = useState<unknown>(null);
  const all = ids.join(",");
  useEffect(() => {
    document.title = "Compare · aiperfd";
    setError(null);
    if (ids.length < 2) return;
    getJSON<Comparison>("api/compare?ids=" + all).then((c) => setComparison({ ...c, runs: apart(c.runs) }), setError);
    Promise.all(ids.map(entry)).then((list) => {
      const runs = apart(list.map((e) => e.run));
      setEntries(list.map((e, i) => ({ ...e, run: runs[i]! })));
    }, setError);
  }, [all]);
  const reorder = (next: string[]) => {
    chosen.value = next;
    go(link("compare", { ids: next.join(",") }), true);
  };
  const add = (id: string) => reorder([...ids, id]);
  if (ids.length < 2)
    return (
      <>
        <h1>Compare runs</h1>
        <Pick ids={ids} add={add} />
      </>
    );
  if (error) return <ErrorText error={error} />;
  if (
    entries.length !== ids.length ||
    entries.some(({ run }, i) => run.id !== ids[i]) ||
    comparison?.runs.length !== ids.length
  )
    return <p class="empty">Loading …</p>;
  const sweeps = entries.every(({ run }) => run.kind === "sweep");
  return (
    <>
      <div class="row between">
        <h1>
          {embedded ? "Comparison of" : "Compare"} {entries.length} {sweeps ? "sweeps" : "runs"}
        </h1>
        {!embedded && (
          <span class="row">
            <a
              class="button"
              href={address(`api/compare/report.html?ids=${all}`).href}
              download="aiperfd-comparison.html"
            >
              HTML report
            </a>
            <a class="button" href={address(`api/compare/report.md?ids=${all}`).href} download="aiperfd-comparison.md">
              Markdown
            </a>
          </span>
        )}
      </div>
      <Legend
        entries={entries}
        baseline={(id) => reorder([id, ...ids.filter((x) => x !== id)])}
        remove={(id) => {
          choose(id, false);
          reorder(ids.filter((x) => x !== id));
        }}
      />
      {entries.slice(1).map(({ run }) => (
        <Judgement
          key={run.id}
          a={{ id: entries[0]!.run.id, label: title(entries[0]!.run) }}
          b={{ id: run.id, label: title(run) }}
          version={entries[0]!.run.revision + " " + run.revision}
        />
      ))}
      {sweeps ? (
        <Sweeps runs={entries.map(({ run }) => ({ id: run.id, label: title(run) }))} />
      ) : (
        <>
          <Deltas of={comparison} />
          <Picture of={comparison} entries={entries} />
          <Overlays entries={entries} />
          <Cdfs
            runs={entries.map(({ run }) => ({ id: run.id, label: title(run) }))}
            few={(id, tag, stat) =>
              comparison.metrics
                .find((m) => m.tag === tag)
                ?.statistics.find((s) => s.statistic === stat)
                ?.values.find((v) => v.run === id)?.unsupported ?? false
            }
          />
        </>
      )}
      <Differences of={comparison} />
      {!embedded && <Pick ids={ids} add={add} />}
    </>
  );
}

function title(run: { id: string; name: string }): string {
  return run.name || run.id.slice(0, 12);
}

function Legend(props: {
  entries: Entry[];
  baseline: (id: string) => void;
  remove: (id: string) => void;
}): JSX.Element {
  return (
    <Card>
      <ul class="compared">
        {props.entries.map(({ run }, i) => (
          <li key={run.id}>
            <i class={"swatch c-" + cycle[i % cycle.length]} />
            <a href={link("runs/" + run.id)}>{title(run)}</a>
            <span class="muted">
              {run.models.join(", ")} · {load(run)} · {format.date(run.started_at)}
            </span>
            <StatePill run={run} />
            {run.client?.verdict !== "ok" && <ClientPill client={run.client} />}
            <VerdictPill verdict={run.verdict} />
            {i === 0 ? (
              <span class="tag">baseline</span>
            ) : (
              !embedded && (
                <button class="quiet" type="button" onClick={() => props.baseline(run.id)}>
                  Make baseline
                </button>
              )
            )}
            {!embedded && (
              <button
                class="quiet"
                type="button"
                onClick={() => props.remove(run.id)}
                aria-label={"Remove " + title(run)}
              >
                Remove
              </button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** The metrics that are shown first, with their statistics. */
const main: Record<string, string[]> = {
  request_throughput: ["avg"],
  goodput: ["avg"],
  output_token_throughput: ["avg"],
  output_token_throughput_per_user: ["avg", "p50"],
  time_to_first_token: ["avg", "p50", "p99"],
  inter_token_latency: ["avg", "p50", "p99"],
  request_latency: ["avg", "p50", "p99"],
  output_sequence_length: ["avg"],
  error_request_count: ["avg"],
};

function Deltas({ of }: { of: Comparison }): JSX.Element {
  const [all, setAll] = useState(false);
  const rows = of.metrics.flatMap((metric) =>
    metric.statistics
      .filter((s) => all || main[metric.tag]?.includes(s.statistic))
      .map((statistic) => ({ metric, statistic })),
  );
  return (
    <Card title="Values beside the baseline">
      <div class="scroll" tabIndex={0} role="region" aria-label="Values beside the baseline">
        <table class="values">
          <thead>
            <tr>
              <th class="text">Metric</th>
              {of.runs.map((r) => (
                <th key={r.id}>{title(r)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ metric, statistic }) => (
              <tr key={metric.tag + statistic.statistic}>
                <td class="text">
                  {metric.header} {statistic.statistic} <span class="muted">{metric.unit}</span>
                </td>
                {statistic.values.map((v) => (
                  <td key={v.run} data-label={title(of.runs.find((r) => r.id === v.run)!)}>
                    <span title={interval(v)}>
                      {format.number(v.value)}
                      {v.unsupported && "*"}
                    </span>{" "}
                    <Delta of={v} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <button type="button" class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
        {all ? "Show the main metrics" : "Show all metrics"}
      </button>
      <p class="muted">
        Hover over a value, or tap it, to see its 95 % confidence interval within the run.
        {rows.some((r) => r.statistic.values.some((v) => v.unsupported)) && ` * ${few}.`}
      </p>
    </Card>
  );
}

function interval(v: Value): string {
  return v.interval
    ? `95 % confidence interval: ${format.number(v.interval[0])} to ${format.number(v.interval[1])}`
    : "no confidence interval";
}

function Delta({ of }: { of: Value }): JSX.Element | null {
  if (of.delta_percent === null || of.delta_percent === undefined) return null;
  return <span class="delta muted">{format.signed(of.delta_percent)}</span>;
}

/** overlaid are the charts: metric, statistic, title, unit. The statistic of a tail depends on the runs. */
const overlaid: [string, string, string, string][] = [
  ["output_tokens", "rate", "Output tokens", "per second"],
  ["requests_completed", "rate", "Completed requests", "per second"],
  ["time_to_first_token", "p50", "Time to first token", "ms"],
  ["time_to_first_token", "p90", "Time to first token", "ms"],
  ["time_to_first_token", "tail", "Time to first token", "ms"],
  ["request_latency", "p50", "Request latency", "ms"],
  ["request_latency", "tail", "Request latency", "ms"],
];

/** Overlays draws the runs over the time since their profiling began. */
function Overlays({ entries }: { entries: Entry[] }): JSX.Element | null {
  const cursor = useMemo(() => new Cursor(), []);
  const all = entries.map((e) => e.series);
  const charts = overlaid.map(([name, wanted, header, unit]) => {
    const stat = wanted === "tail" ? tail(all, name) : wanted;
    const text = stat === "rate" ? header : `${header}, ${stat}`;
    const { x, columns } = overlay(all, name, stat);
    const lines = columns.flatMap((values, i) =>
      values?.some((v) => typeof v === "number")
        ? [
            {
              label: title(entries[i]!.run),
              color: cycle[i % cycle.length]!,
              dash: i >= cycle.length,
              peak: stat !== "rate",
              values: values as (number | null)[],
            },
          ]
        : [],
    );
    return { text, unit, x, lines, regions: sides(x) };
  });
  if (charts.every((c) => c.lines.length === 0)) return null;
  return (
    <section aria-label="Over time">
      <h2>Over time</h2>
      <div class="charts">
        {charts
          .filter((c) => c.lines.length)
          .map((c) => (
            <Plot
              key={c.text}
              title={c.text}
              unit={c.unit}
              x={c.x}
              cursor={cursor}
              runs
              lines={c.lines}
              regions={c.regions}
            />
          ))}
      </div>
      <p class="muted">
        0 s is the start of profiling; what is before it is not in the numbers above the charts. Points with fewer than{" "}
        {leastPerBin} requests have no percentiles, and those with fewer than {leastForP99} no p99.
      </p>
    </section>
  );
}

/** Picture draws throughput against latency, a point for each run. */
function Picture({ of, entries }: { of: Comparison; entries: Entry[] }): JSX.Element | null {
  const statistic = (tag: string, name: string) =>
    of.metrics.find((m) => m.tag === tag)?.statistics.find((s) => s.statistic === name)?.values;
  const rate = statistic("output_token_throughput", "avg") ? "output_token_throughput" : "request_throughput";
  const y = statistic(rate, "avg");
  const chart = (tag: string, stat: string, text: string, xText: (v: number) => string) => {
    const x = statistic(tag, stat);
    if (!x || !y) return null;
    const groups = entries.flatMap(({ run }, i) => {
      const a = x.find((v) => v.run === run.id)?.value,
        b = y.find((v) => v.run === run.id)?.value;
      if (a === null || a === undefined || b === null || b === undefined) return [];
      const name = title(run);
      const point = {
        x: a,
        y: b,
        label: format.cut(name, 24),
        title: name,
        kind: "plain" as const,
        href: link("runs/" + run.id),
      };
      return [{ label: "", color: cycle[i % cycle.length]!, points: [point] }];
    });
    if (groups.length < 2) return null;
    return <Points title={metricName(rate)} xLabel={text} xText={xText} yText={format.number} groups={groups} />;
  };
  const ms = format.round;
  return (
    <div class="charts">
      {chart("time_to_first_token", "p99", "TTFT p99", ms) ??
        chart("request_latency", "p99", "request latency p99", ms)}
      {chart("output_token_throughput_per_user", "avg", "output tokens/s of each user", format.number)}
    </div>
  );
}

/** Differences lists the values of the documents that are not the same. */
function Differences({ of }: { of: Comparison }): JSX.Element {
  const text = (v: unknown) =>
    v === undefined || v === null ? format.absent : typeof v === "object" ? JSON.stringify(v) : String(v);
  const ids = of.runs.map((r) => r.id);
  const rows = useMemo(() => meaningful(of.differences, ids), [of]);
  return (
    <Card title="Differences of the documents">
      {rows.length === 0 ? (
        <p class="empty">The documents are equal.</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Differences of the documents">
          <table class="values">
            <thead>
              <tr>
                <th class="text">Field</th>
                {of.runs.map((r) => (
                  <th key={r.id} class="text">
                    {title(r)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((d) => (
                <tr key={d.pointer}>
                  <td class="text wrap">
                    <code>{d.pointer}</code>
                  </td>
                  {of.runs.map((r, i) => (
                    <td class="text wrap" key={r.id} data-label={title(r)}>
                      {text(d.values[i])}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {of.differences_truncated && <p class="muted">There are more differences.</p>}
    </Card>
  );
}

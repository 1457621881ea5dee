// A number of runs over time: those that match the filters of the list, such as a label.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { getJSON, type Run, type Schemas } from "../api/client";
import { Plot } from "../charts/plot";
import * as format from "../format";
import { go, link, route } from "../router";
import { batches } from "../state/batches";
import { type Column, columns } from "../state/columns";
import { filters } from "../state/runs";
import { configurations, type Point, points } from "../state/trend";
import { Card, ErrorText, load } from "../ui/parts";
import "./runs.css";

type RunList = Schemas["wire.RunList"];
type Comparison = Schemas["compare.Comparison"];
type Interval = [number, number];

/** The most runs that are shown, and the most whose intervals are read, ten at a time. */
const most = 500;
const mostIntervals = 100;

export function TrendsPage(): JSX.Element {
  const [runs, setRuns] = useState<Run[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const { sort: _, ...set } = filters();
  const query = new URLSearchParams({
    kind: "run",
    ...set,
    state: set.state ?? "completed",
    limit: String(most),
  }).toString();
  useEffect(() => {
    document.title = "Trends · aiperfd";
    getJSON<RunList>("api/runs?" + query).then((l) => setRuns(l.items), setError);
  }, [query]);
  const all = route.value.query;
  const of = columns.find((c) => c.key === all.get("metric")) ?? columns.find((c) => c.metric?.[1] === "p99")!;
  const known = useMemo(() => configurations(runs ?? []), [runs]);
  const within = all.get("configuration") ?? known[0] ?? "";
  const found = useMemo(() => points(runs ?? [], of, within), [runs, of, within]);
  const apply = (changed: Record<string, string>) =>
    go(link("trends", { ...Object.fromEntries(all), ...changed }), true);
  const filtered = Object.entries(set).map(([name, value]) => `${name.replace("_", " ")} ${value}`);
  return (
    <>
      <div class="row between">
        <h1>Trends</h1>
        <a href={link("", set)}>List of these runs</a>
      </div>
      <Card>
        <div class="filters">
          <label>
            Number
            <select value={of.key} onChange={(e) => apply({ metric: e.currentTarget.value })}>
              {columns.map((c) => (
                <option key={c.key} value={c.key}>
                  {c.header}, {c.unit}
                </option>
              ))}
            </select>
          </label>
          <label class="grow">
            Configuration
            <select value={within} onChange={(e) => apply({ configuration: e.currentTarget.value })}>
              {known.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <label>
            Label
            <input
              type="search"
              placeholder="key=value"
              value={set.label ?? ""}
              onChange={(e) => apply({ label: e.currentTarget.value })}
            />
          </label>
        </div>
        {filtered.length > 0 && <p class="muted">Of the runs with {filtered.join(", ")}.</p>}
      </Card>
      <ErrorText error={error} />
      {runs === null && !error && <p class="empty">Loading …</p>}
      {runs !== null && <Trend found={found} of={of} />}
      {runs?.length === most && <p class="muted">The newest {format.count(most)} runs are shown.</p>}
    </>
  );
}

function Trend({ found, of }: { found: Point[]; of: Column }): JSX.Element {
  const intervals = useIntervals(found, of);
  const plot = useMemo(() => {
    const between = (i: 0 | 1) => found.map((p) => intervals.get(p.run.id)?.[i] ?? null);
    return {
      x: found.map((p) => p.at),
      lines: [
        {
          label: of.header,
          color: "blue" as const,
          points: true,
          values: found.map((p) => p.value),
          low: between(0),
          high: between(1),
        },
      ],
    };
  }, [found, of, intervals]);
  if (found.length === 0) return <p class="empty">No run that has ended matches and has this number.</p>;
  const name = (run: Run) => run.name || run.id.slice(0, 12);
  const day = (v: number) =>
    new Date(v * 1000).toLocaleDateString(undefined, {
      month: "short",
      day: "numeric",
      hour: "2-digit",
      minute: "2-digit",
    });
  return (
    <>
      <div class="charts whole">
        <Plot
          title={`${of.header} of ${format.count(found.length)} runs`}
          unit={of.unit}
          height={280}
          xText={day}
          pick={(i) => go(link("runs/" + found[i]!.run.id))}
          {...plot}
        />
      </div>
      <p class="muted">
        One point per run; a click opens it
        {intervals.size > 0 && `; bars are 95 % confidence intervals of the newest ${mostIntervals} runs`}.
      </p>
      <Card title="Runs">
        <div class="scroll" tabIndex={0} role="region" aria-label="Runs">
          <table class="trend-table">
            <thead>
              <tr>
                <th class="text">Run</th>
                <th class="text">Started</th>
                <th>
                  {of.header}, {of.unit}
                </th>
                <th>95 % interval</th>
                <th class="text">Load</th>
              </tr>
            </thead>
            <tbody>
              {[...found].reverse().map(({ run, value }) => {
                const interval = intervals.get(run.id);
                return (
                  <tr key={run.id}>
                    <td class="text name">
                      <a class="cut" href={link("runs/" + run.id)} title={name(run)}>
                        {name(run)}
                      </a>
                    </td>
                    <td class="text">{format.date(run.started_at)}</td>
                    <td>{format.number(value)}</td>
                    <td>
                      {interval ? `${format.number(interval[0])} to ${format.number(interval[1])}` : format.absent}
                    </td>
                    <td class="text">{load(run)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      </Card>
    </>
  );
}

/** useIntervals reads the confidence intervals of the newest runs. */
function useIntervals(found: Point[], of: Column): Map<string, Interval> {
  const [known, setKnown] = useState(new Map<string, Interval>());
  const ids = found.slice(-mostIntervals).map((p) => p.run.id);
  useEffect(() => {
    let wanted = true;
    const read = async () => {
      const out = new Map<string, Interval>();
      for (const part of of.metric ? batches(ids, 10) : []) {
        const c = await getJSON<Comparison>("api/compare?ids=" + part.join(","));
        if (!wanted) return;
        const metric = c.metrics.find((m) => m.tag === of.metric![0]);
        const values = metric?.statistics.find((s) => s.statistic === of.metric![1])?.values ?? [];
        for (const v of values) if (v?.interval) out.set(v.run, [v.interval[0]!, v.interval[1]!]);
      }
      setKnown(out);
    };
    read().catch(() => undefined);
    return () => {
      wanted = false;
    };
  }, [ids.join(), of]);
  return known;
}

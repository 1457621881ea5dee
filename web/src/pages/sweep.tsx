// A sweep: its cells in a table, and throughput against latency.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getJSON, type Run, type Schemas } from "../api/client";
import { embedded } from "../api/embedded";
import { connections, listen } from "../api/feed";
import { Plot } from "../charts/plot";
import * as format from "../format";
import { link } from "../router";
import { batches } from "../state/batches";
import { choose, chosen } from "../state/runs";
import { Bar, Card, ClientPill, load, StatePill, VerdictPill } from "../ui/parts";

type RunList = Schemas["wire.RunList"];

const most = 500;

export function SweepPart({ run }: { run: Run }): JSX.Element {
  const [cells, setCells] = useState<Run[]>([]);
  useEffect(() => {
    let timer = 0,
      closed = false;
    const read = () =>
      getJSON<RunList>(`api/runs/${run.id}/children?limit=${most}`).then(
        (l) => {
          if (!closed) setCells(l.items);
        },
        () => undefined,
      );
    void read();
    const end = listen((m) => {
      if (m.message_type !== "run_state_changed" && m.message_type !== "run_queued") return;
      clearTimeout(timer);
      timer = window.setTimeout(read, 300);
    });
    return () => {
      closed = true;
      clearTimeout(timer);
      end();
    };
  }, [run.id, connections.value]);
  const p = run.progress;
  return (
    <>
      {p?.cells_total ? (
        <section class="phases" aria-label="Progress">
          <div class="phase">
            <span class="name">runs</span>
            <Bar percent={(100 * (p.cells_done ?? 0)) / p.cells_total} label="runs" />
            <span class="figures">
              {format.count(p.cells_done)} of {format.count(p.cells_total)}
              {p.cells_failed ? ` · ${format.count(p.cells_failed)} failed` : ""}
            </span>
          </div>
        </section>
      ) : null}
      <Curves cells={cells} />
      <Cells cells={cells} />
    </>
  );
}

type Comparison = Schemas["compare.Comparison"];
type Interval = [number, number];

/** The most cells whose intervals are read; a comparison has at most ten runs. */
const mostIntervals = 100,
  compared = 10;

/** useIntervals reads the confidence intervals of cells, by cell and "metric statistic". */
function useIntervals(ids: string[]): Map<string, Map<string, Interval>> {
  const [found, setFound] = useState(new Map<string, Map<string, Interval>>());
  const all = ids.join();
  useEffect(() => {
    let wanted = true;
    void (async () => {
      const out = new Map<string, Map<string, Interval>>();
      if (embedded) {
        collect(await getJSON<Comparison>("intervals"), out);
        setFound(out);
        return;
      }
      for (const part of batches(ids.slice(0, mostIntervals), compared)) {
        if (!wanted) return;
        collect(await getJSON<Comparison>("api/compare?ids=" + part.join(",")), out);
      }
      if (wanted) setFound(out);
    })().catch(() => undefined);
    return () => {
      wanted = false;
    };
  }, [all]);
  return found;
}

function collect(c: Comparison, into: Map<string, Map<string, Interval>>): void {
  for (const metric of c.metrics)
    for (const stat of metric.statistics) {
      stat.values.forEach((v, i) => {
        const id = c.runs[i]!.id;
        if (!v?.interval) return;
        if (!into.has(id)) into.set(id, new Map());
        into.get(id)!.set(`${metric.tag} ${stat.statistic}`, [v.interval[0]!, v.interval[1]!]);
      });
    }
}

interface Point {
  x: number;
  cell: Run;
  s: NonNullable<Run["summary"]>;
}

/** distorted reports whether the load generator made a number of a cell wrong. A verdict without reasons is about all numbers. */
function distorted(cell: Run, number: string): boolean {
  const reasons = cell.client?.reasons ?? [];
  if (reasons.length === 0) return cell.client?.verdict === "invalid";
  return reasons.some((r) => r.level === "invalid" && (r.concerns ?? []).includes(number));
}

/** Curves draws latency against throughput, one point per cell. */
function Curves({ cells }: { cells: Run[] }): JSX.Element | null {
  const measured = cells.filter((c) => c.summary && c.state === "completed");
  const done = measured.filter((c) => !distorted(c, "throughput"));
  const tokens = done.some((c) => c.summary!.output_token_throughput_per_sec);
  const intervals = useIntervals(done.map((c) => c.id));
  const points: Point[] = done
    .map((cell) => ({
      x: (tokens ? cell.summary!.output_token_throughput_per_sec : cell.summary!.request_throughput_per_sec) ?? 0,
      cell,
      s: cell.summary!,
    }))
    .sort((a, b) => a.x - b.x);
  if (points.length < 2) return null;
  const incomplete = measured.filter((c) =>
    ["throughput", "time_to_first_token", "request_latency"].some((n) => distorted(c, n)),
  ).length;
  const unit = tokens ? "output tokens/s" : "requests/s";
  const curve = (
    title: string,
    tag: string,
    p50: (s: Point["s"]) => number | null,
    p99: (s: Point["s"]) => number | null,
  ) => {
    const line = (label: string, color: "blue" | "orange", stat: string, of: (s: Point["s"]) => number | null) => ({
      label,
      color,
      points: "alone" as const,
      values: points.map((p) => (distorted(p.cell, tag) ? null : (of(p.s) ?? null))),
      low: points.map((p) => intervals.get(p.cell.id)?.get(`${tag} ${stat}`)?.[0] ?? null),
      high: points.map((p) => intervals.get(p.cell.id)?.get(`${tag} ${stat}`)?.[1] ?? null),
    });
    const lines = [line("p50", "blue", "p50", p50), line("p99", "orange", "p99", p99)].filter((l) =>
      l.values.some((v) => v !== null),
    );
    const tail = lines.at(-1);
    if (!tail) return null;
    const bend = knee(
      points.map((p) => p.x),
      tail.values,
    );
    const marks =
      bend === null ? [] : [{ label: "knee", value: points[bend]!.x, color: "pink" as const, vertical: true }];
    return (
      <Plot
        title={`${title} against ${unit}`}
        unit="ms"
        x={points.map((p) => p.x)}
        height={280}
        marks={marks}
        xText={(v) => name(points, v)}
        axisText={format.short}
        lines={[
          ...lines,
          {
            label: "Pareto front of " + tail.label,
            color: "grey",
            dash: true,
            values: front(tail.values),
            joined: true,
          },
        ]}
      />
    );
  };
  return (
    <section aria-label="Throughput and latency">
      <div class="charts">
        {curve(
          "Time to first token",
          "time_to_first_token",
          (s) => s.time_to_first_token_p50_ms,
          (s) => s.time_to_first_token_p99_ms,
        )}
        {curve(
          "Request latency",
          "request_latency",
          (s) => s.request_latency_p50_ms,
          (s) => s.request_latency_p99_ms,
        )}
      </div>
      <p class="muted">
        Bars are 95 % confidence intervals. No run has more throughput at a lower latency than those on the Pareto
        front. The knee is the point of the front that is farthest below the line between its ends.
        {incomplete > 0 &&
          ` ${incomplete} of ${measured.length} runs lack a point: load generator verdict invalid for their throughput or latency.`}
      </p>
    </section>
  );
}

/** name is the name of the cell at a throughput, with the throughput. */
function name(points: Point[], x: number): string {
  const at = points.find((p) => p.x === x);
  return (at ? at.cell.name || load(at.cell) : "") + " at " + format.number(x);
}

/** front keeps the values of the Pareto front of points in the order of their throughput:
 * those that no point with more throughput is below. */
function front(values: (number | null)[]): (number | null)[] {
  let best = Infinity;
  return values
    .toReversed()
    .map((v) => {
      if (v === null || v >= best) return null;
      best = v;
      return v;
    })
    .reverse();
}

/** knee is the index of the point of the front that is farthest below the line between the
 * ends of the front, both axes in units of their range (Satopää et al. 2011, Kneedle). */
function knee(x: number[], values: (number | null)[]): number | null {
  const on = front(values)
    .map((v, i) => ({ v, i }))
    .filter((p): p is { v: number; i: number } => p.v !== null);
  const first = on[0],
    last = on.at(-1);
  if (!first || !last || on.length < 4) return null;
  const wide = x[last.i]! - x[first.i]!,
    high = last.v - first.v;
  if (!(wide > 0 && high > 0)) return null;
  const below = on.map((p) => ({ i: p.i, by: (x[p.i]! - x[first.i]!) / wide - (p.v - first.v) / high }));
  const best = below.reduce((a, b) => (b.by > a.by ? b : a));
  return best.by > 0.1 ? best.i : null;
}

function Cells({ cells }: { cells: Run[] }): JSX.Element {
  return (
    <Card title="Runs">
      <div class="scroll" tabIndex={0} role="region" aria-label="Runs">
        <table>
          <thead>
            <tr>
              {!embedded && (
                <th>
                  <span class="hidden-text">Compare</span>
                </th>
              )}
              <th class="text">Run</th>
              <th class="text">State</th>
              <th class="text">Load</th>
              <th>req/s</th>
              <th>tokens/s</th>
              <th>TTFT p50</th>
              <th>TTFT p99</th>
              <th>Latency p50</th>
              <th>Latency p99</th>
              <th>Errors</th>
            </tr>
          </thead>
          <tbody>
            {cells.map((c) => (
              <tr key={c.id}>
                {!embedded && (
                  <td>
                    <input
                      type="checkbox"
                      aria-label={"Compare " + c.name}
                      checked={chosen.value.includes(c.id)}
                      onChange={(e) => choose(c.id, e.currentTarget.checked)}
                    />
                  </td>
                )}
                <td class="text">
                  <a href={link("runs/" + c.id)}>{c.cell?.variation_label || c.name || c.id.slice(0, 12)}</a>
                </td>
                <td class="text">
                  <StatePill run={c} /> {c.client?.verdict !== "ok" && <ClientPill client={c.client} />}{" "}
                  <VerdictPill verdict={c.verdict} />
                </td>
                <td class="text">{load(c)}</td>
                <td>{format.number(c.summary?.request_throughput_per_sec)}</td>
                <td>{format.number(c.summary?.output_token_throughput_per_sec)}</td>
                <td>{format.number(c.summary?.time_to_first_token_p50_ms)}</td>
                <td>{format.number(c.summary?.time_to_first_token_p99_ms)}</td>
                <td>{format.number(c.summary?.request_latency_p50_ms)}</td>
                <td>{format.number(c.summary?.request_latency_p99_ms)}</td>
                <td>{format.count(c.summary?.errors)}</td>
              </tr>
            ))}
            {cells.length === 0 && (
              <tr>
                <td class="empty" colSpan={11}>
                  No run has started yet.
                </td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

// The charts of a run on one time axis.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { ended, type Run, type Schemas } from "../api/client";
import { embedded } from "../api/embedded";
import type { Timeseries } from "../api/timeseries";
import { type Color, cycle } from "../charts/colors";
import { ResetZoom } from "../charts/frame";
import { Heatmap } from "../charts/heatmap";
import { type Column, Cursor, type Dots, type Line, type Mark, Plot, type Region } from "../charts/plot";
import { leastPerBin } from "../charts/scales";
import * as format from "../format";
import { enough, events, full, leastForP99, only, regions, type Single, singles, tail } from "../state/overtime";
import type { RunStore } from "../state/run";
import { inOrder, phaseQuery, within } from "../state/scope";
import { meansOf, onAxis, summing } from "../state/server";
import { Lazily, useReading } from "../ui/lazy";
import { asOf } from "../ui/parts";
import { latencies } from "./distributions";
import type { Telemetry } from "./server";

const steps: [number, string][] = [
  [0, "auto"],
  [1, "1 s"],
  [10, "10 s"],
  [60, "1 min"],
];

export function Charts({ store, run }: { store: RunStore; run: Run }): JSX.Element {
  const cursor = useMemo(() => new Cursor(), [store]);
  const s = useMemo(() => within(store.series.value, store.scope.value), [store.series.value, store.scope.value]);
  const parts = useMemo(() => (s ? regions(s) : []), [s]);
  const sparse = useMemo(() => s !== null && full(s).some((enough) => !enough), [s]);
  const few = useMemo(
    () => s !== null && Object.keys(latencies).some((name) => s.series[name] && enough(s, name, "p99").includes(false)),
    [s],
  );
  const happened = s ? events(s, run, inOrder(store.progress.value)) : [];
  const marks = useMemo(() => happened, [JSON.stringify(happened)]);
  if (!s || s.time_sec.length === 0) {
    return (
      <p class="empty">
        {store.live() ? "The charts begin with the first answers." : "This run has no values over time."}
      </p>
    );
  }
  const shared = { cursor, regions: parts, events: marks };
  return (
    <section aria-label="Over time">
      <div class="row between">
        <h2>Over time</h2>
        <span class="row">
          <ResetZoom cursor={cursor} />
          {embedded ? (
            <span class="muted">Each point is {s.step_sec} s</span>
          ) : (
            <label>
              Each point is
              <select
                value={store.step.value}
                onChange={(e) => {
                  store.step.value = Number(e.currentTarget.value);
                }}
              >
                {steps.map(([value, text]) => (
                  <option value={value}>{value === 0 ? `auto (${s.step_sec} s)` : text}</option>
                ))}
              </select>
            </label>
          )}
        </span>
      </div>
      <Lazily>{() => <Heat run={run} scope={store.scope.value} series={s} {...shared} />}</Lazily>
      <Lines store={store} run={run} sparse={sparse} series={s} {...shared} />
      <p class="muted">
        Drag across a chart to zoom all of them; a double click shows everything again. The mean beside a chart leaves
        out points that were measured in part, so that it differs somewhat from the number of the whole time above.
        {sparse && ` Points with fewer than ${leastPerBin} requests have no percentiles: dots are their requests.`}
        {few && ` Points with fewer than ${leastForP99} requests have no p99.`}
        {parts.some((r) => r.partial) && " Hatched: a point that was measured in part only."}
      </p>
    </section>
  );
}

interface Shared {
  series: Timeseries;
  cursor: Cursor;
  regions: Region[];
  events: Mark[];
}

type Samples = Schemas["wire.Samples"];
type GPUCurves = Schemas["gpu.Curves"];
type Distributed = Schemas["wire.Distributions"];

/** Lines are the charts with lines. Single requests are read if some points have too few. */
function Lines(props: Shared & { store: RunStore; run: Run; sparse: boolean }): JSX.Element {
  const { series: s, store, run, cursor, events } = props;
  const { value } = useReading<Samples>(props.sparse ? `api/runs/${run.id}/samples` : null, !ended(run.state));
  const sample = value?.sample;
  const telemetry = useReading<Telemetry>(`api/runs/${run.id}/telemetry`, !ended(run.state)).value;
  const curves = telemetry?.server?.curves;
  const cards = telemetry?.gpu?.curves;
  const all = useMemo(
    () =>
      charts(s, store, sample, [
        ...(curves ? ofServer(s, onAxis(curves, s)) : []),
        ...(cards ? ofGPUs(s, cards) : []),
      ]).map((c, i) => ({
        ...c,
        // The names of events would be the same in each chart: the heat map, the first one and the errors have them.
        marks: [...(i === 0 || c.title === "Errors" ? events : bare(events)), ...(c.marks ?? [])],
      })),
    [s, sample, store.run.value, store.slos.value, events, curves, cards],
  );
  return (
    <div class="charts">
      {all.map((c) => (
        <Plot key={c.title} {...c} x={s.time_sec} step={s.step_sec} regions={props.regions} cursor={cursor} />
      ))}
    </div>
  );
}

/** bare are events without their names. */
function bare(events: readonly Mark[]): Mark[] {
  return events.map((m) => ({ ...m, label: "" }));
}

/** Heat is the heat map of a latency, on the axis of time of the charts below it. */
function Heat({
  run,
  scope,
  series,
  cursor,
  regions,
  events,
}: Shared & { run: Run; scope: string | null }): JSX.Element {
  const [metric, setMetric] = useState(run.streaming ? "time_to_first_token" : "request_latency");
  const [log, setLog] = useState(true);
  const { value } = useReading<Distributed>(
    `api/runs/${run.id}/distributions?metric=${metric}${phaseQuery(scope)}`,
    !ended(run.state),
  );
  const d = value?.distributions[metric];
  const range: [number, number] = [series.time_sec[0] ?? 0, (series.time_sec.at(-1) ?? 0) + series.step_sec];
  return (
    <div class="charts whole">
      <div class="heat">
        <div class="row">
          <label>
            Heat map of
            <select value={metric} onChange={(e) => setMetric(e.currentTarget.value)}>
              {Object.entries(latencies).map(([name, text]) => (
                <option key={name} value={name}>
                  {text}
                </option>
              ))}
            </select>
          </label>
          <label>
            <input type="checkbox" checked={log} onChange={(e) => setLog(e.currentTarget.checked)} />
            Log scale
          </label>
          {asOf(run, value?.elapsed_sec)}
        </div>
        {d && d.count > 0 ? (
          <Heatmap
            title={latencies[metric] ?? metric}
            times={value!.time_sec}
            step={value!.step_sec}
            bounds={d.heatmap.bounds}
            counts={d.heatmap.counts}
            log={log}
            cursor={cursor}
            range={range}
            regions={regions}
            marks={events}
          />
        ) : (
          <p class={d ? "empty" : "empty later"}>{d ? "No request has such a value." : "Loading …"}</p>
        )}
      </div>
    </div>
  );
}

interface Chart {
  title: string;
  unit: string;
  lines: Line[];
  marks?: Mark[];
  dots?: Dots;
}

/** line is a line if it has a value. */
function line(label: string, color: Color, values: Column | undefined, more: Partial<Line> = {}): Line[] {
  return values?.some((v) => v !== null && v !== undefined) ? [{ label, color, values, ...more }] : [];
}

function charts(s: Timeseries, store: RunStore, sample: Samples["sample"] | undefined, server: Chart[]): Chart[] {
  const counts = full(s);
  const of = (name: string, stat: string): Column | undefined => s.series[name]?.values[stat];
  const peak = true;
  const percentile = (label: string, color: Color, name: string) =>
    line(label, color, only(of(name, label) ?? [], label === "p99" ? enough(s, name, label) : counts), { peak });
  const slow = tail([s], "schedule_lag");
  const percentiles = (name: Single): Pick<Chart, "lines" | "dots" | "marks"> => {
    const { x, y } = singles(s, counts, sample, name);
    return {
      lines: [
        percentile("p50", "blue", name),
        percentile("p90", "green", name),
        percentile(tail([s], name), "orange", name),
      ].flat(),
      dots: x.length ? { label: "single requests", x, y, color: "blue" } : undefined,
      marks: objectives(store, name),
    };
  };
  const all: Chart[] = [
    {
      title: "Requests",
      unit: "per second",
      lines: [
        ...line("offered", "grey", of("requests_offered", "rate"), { dash: true }),
        ...line("sent", "blue", of("requests_sent", "rate")),
        ...line("completed", "green", of("requests_completed", "rate")),
      ],
    },
    {
      title: "Output tokens",
      unit: "per second",
      lines: line("output", "blue", of("output_tokens", "rate"), { fill: true }),
    },
    { title: "Time to first token", unit: "ms", ...percentiles("time_to_first_token") },
    { title: "Inter-token latency", unit: "ms", ...percentiles("inter_token_latency") },
    { title: "Request latency", unit: "ms", ...percentiles("request_latency") },
    {
      title: "Requests in flight",
      unit: "requests",
      lines: [
        ...line("in flight on average", "blue", of("in_flight", "avg"), { fill: true }),
        ...line("limit", "grey", of("concurrency_limit", "max"), { dash: true }),
        ...line("waiting to be sent", "orange", of("backlog", "max")),
      ],
    },
    ...server,
    { title: "Errors", unit: `per ${s.step_sec === 1 ? "second" : s.step_sec + " s"}`, lines: errors(s) },
    {
      title: "Schedule lag of the load generator",
      unit: "ms",
      lines: [
        ...line("p50", "blue", of("schedule_lag", "p50"), { peak }),
        ...line(slow, "orange", of("schedule_lag", slow), { peak }),
      ],
    },
    {
      title: "CPU of the load generator",
      unit: "% of a core",
      lines: [...line("average", "blue", of("client_cpu", "avg"), { fill: true })],
    },
  ];
  return all.filter((c) => c.lines.length > 0 || c.dots);
}

/** ofServer are the curves of what the servers said. They were read less often than the load was measured, so lines
 * go over points without a reading. */
function ofServer(s: Timeseries, of: Record<string, Column>): Chart[] {
  const percent = (values: Column | undefined) => values?.map((v) => (v === null || v === undefined ? null : 100 * v));
  const joined = { joined: true };
  const inServer = [
    ...line("running", "blue", of.running, { ...joined, fill: true }),
    ...line("waiting", "orange", of.waiting, joined),
  ];
  const inFlight = line("in flight at the client", "grey", s.series.in_flight?.values.avg, { dash: true });
  const all: Chart[] = [
    { title: "Requests in the server", unit: "requests", lines: inServer.length > 0 ? [...inServer, ...inFlight] : [] },
    {
      title: "Key-value cache of the server",
      unit: "% in use",
      lines: line("in use", "blue", percent(of.kv_usage), { ...joined, fill: true }),
      marks: [{ label: "counts as full, 95 %", value: 95, color: "pink" }],
    },
    {
      title: "Prefix cache of the server",
      unit: "% of prompt tokens",
      lines: of.hit_rate?.some((v) => v) ? line("cached", "green", percent(of.hit_rate), joined) : [],
    },
    {
      title: "Preemptions in the server",
      unit: "per second",
      lines: of.preemptions?.some((v) => v) ? line("preempted", "orange", of.preemptions, joined) : [],
    },
  ];
  return all.filter((c) => c.lines.length > 0);
}

/** ofGPUs are the curves of each GPU: its power, its clock, and how long power or heat held the clock down. */
function ofGPUs(s: Timeseries, of: GPUCurves): Chart[] {
  const sums = summing(of, s);
  if (!sums) return [];
  const cards = (pick: (d: GPUCurves["devices"][number]) => (number | null)[] | undefined, scale = 1): Line[] =>
    of.devices.flatMap((d, i) => {
      const values = pick(d);
      const column = values && meansOf(sums(values)).map((v) => (v === null ? null : scale * (v as number)));
      return line(d.label, cycle[i % cycle.length]!, column, { joined: true });
    });
  const held = of.devices.some((d) => d.throttled_share?.some((v) => v));
  const all: Chart[] = [
    { title: "Power of GPUs", unit: "W", lines: cards((d) => d.power_watts) },
    { title: "Clock of GPUs", unit: "MHz", lines: cards((d) => d.sm_clock_mhz) },
    {
      title: "Clock of GPUs held down",
      unit: "% of the time, by power or heat",
      lines: held ? cards((d) => d.throttled_share, 100) : [],
    },
  ];
  return all.filter((c) => c.lines.length > 0);
}

function errors(s: Timeseries): Line[] {
  const classes = Object.entries(s.series.errors?.values ?? {}).filter(([, values]) => values.some((v) => v));
  return classes.map(([label, values], i) => ({
    label,
    values: values.map((v) => v ?? 0),
    color: cycle[(i + 1) % cycle.length]!,
  }));
}

/** objectives are the limits of a metric for each request, and for the run as a whole. */
function objectives(store: RunStore, metric: string): Mark[] {
  const results = store.run.value?.summary?.slo_results ?? [];
  const marks = results
    .filter((r) => r.metric === metric && r.unit === "ms")
    .map((r) => ({ label: `SLO ${r.statistic}, ${format.round(r.limit)}`, value: r.limit, color: "pink" as const }));
  const each = store.slos.value[metric];
  return each === undefined
    ? marks
    : [{ label: `SLO of a request, ${format.round(each)}`, value: each, color: "pink" as const }, ...marks];
}

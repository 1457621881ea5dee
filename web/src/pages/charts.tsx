// The charts of a run on one time axis.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { embedded } from "../api/embedded";
import type { Timeseries } from "../api/timeseries";
import { type Color, cycle } from "../charts/colors";
import { type Column, Cursor, type Line, type Mark, Plot, type Region } from "../charts/plot";
import type { RunStore } from "../state/run";

const steps: [number, string][] = [
  [0, "auto"],
  [1, "1 s"],
  [10, "10 s"],
  [60, "1 min"],
];

export function Charts({ store }: { store: RunStore }): JSX.Element {
  const cursor = useMemo(() => new Cursor(), [store]);
  const s = store.series.value;
  if (!s || s.time_sec.length === 0) {
    return (
      <p class="empty">
        {store.live() ? "The charts begin with the first answers." : "This run has no values over time."}
      </p>
    );
  }
  return (
    <section aria-label="Over time">
      <div class="row between">
        <h2>Over time</h2>
        {embedded ? (
          <p class="muted">Each point is {s.step_sec} s</p>
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
      </div>
      <div class="charts">
        {charts(s, store).map((c) => (
          <Plot key={c.title} x={s.time_sec} regions={regions(s)} cursor={cursor} {...c} />
        ))}
      </div>
    </section>
  );
}

interface Chart {
  title: string;
  unit: string;
  lines: Line[];
  marks?: Mark[];
}

function charts(s: Timeseries, store: RunStore): Chart[] {
  const of = (name: string, stat: string): Column | undefined => s.series[name]?.values[stat];
  const line = (label: string, color: Color, values: Column | undefined, more: Partial<Line> = {}): Line[] =>
    values?.some((v) => v !== null) ? [{ label, color, values, ...more }] : [];
  const percentiles = (name: string): Line[] => [
    ...line("p50", "blue", of(name, "p50")),
    ...line("p90", "green", of(name, "p90")),
    ...line("p99", "orange", of(name, "p99")),
  ];
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
    {
      title: "Time to first token",
      unit: "ms",
      lines: percentiles("time_to_first_token"),
      marks: objectives(store, "time_to_first_token"),
    },
    {
      title: "Inter-token latency",
      unit: "ms",
      lines: percentiles("inter_token_latency"),
      marks: objectives(store, "inter_token_latency"),
    },
    {
      title: "Request latency",
      unit: "ms",
      lines: percentiles("request_latency"),
      marks: objectives(store, "request_latency"),
    },
    {
      title: "Requests in flight",
      unit: "requests",
      lines: [
        ...line("in flight", "blue", of("in_flight", "avg"), { fill: true }),
        ...line("limit", "grey", of("concurrency_limit", "max"), { dash: true }),
        ...line("waiting", "orange", of("backlog", "max")),
      ],
    },
    { title: "Errors", unit: `per ${s.step_sec === 1 ? "second" : s.step_sec + " s"}`, lines: errors(s) },
    {
      title: "Schedule lag of the load generator",
      unit: "ms",
      lines: [...line("p50", "blue", of("schedule_lag", "p50")), ...line("p99", "orange", of("schedule_lag", "p99"))],
    },
    {
      title: "CPU of the load generator",
      unit: "% of a core",
      lines: [...line("average", "blue", of("client_cpu", "avg"), { fill: true })],
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
    .map((r) => ({ label: "SLO " + r.statistic, value: r.limit, color: "pink" as const }));
  const each = store.slos.value[metric];
  return each === undefined ? marks : [{ label: "SLO of a request", value: each, color: "pink" as const }, ...marks];
}

function regions(s: Timeseries): Region[] {
  const end = (s.time_sec.at(-1) ?? 0) + s.step_sec;
  return s.phases.map((p) => ({
    label: p.name,
    from: p.start_sec,
    to: p.end_sec ?? end,
    quiet: p.kind !== "profiling",
  }));
}

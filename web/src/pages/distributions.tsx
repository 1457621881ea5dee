// How the latencies of a run are distributed, and single requests against their tokens.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { ended, type Run, type Schemas, type Stats } from "../api/client";
import type { Mark } from "../charts/base";
import { Cdf, type Curve, quantile } from "../charts/cdf";
import { Histogram } from "../charts/histogram";
import { Scatter } from "../charts/scatter";
import * as format from "../format";
import { duration } from "../format";
import { exact, few, type Quantile } from "../state/doubt";
import type { RunStore } from "../state/run";
import { phaseQuery } from "../state/scope";
import { Lazily, useReading } from "../ui/lazy";
import { asOf, ErrorText } from "../ui/parts";
import "./distributions.css";

type Body = Schemas["wire.Distributions"];
type Samples = Schemas["wire.Samples"];

/** The metrics that have distributions, with their names. */
export const latencies: Record<string, string> = {
  time_to_first_token: "Time to first token",
  inter_token_latency: "Inter-token latency",
  inter_chunk_latency: "Time between chunks",
  request_latency: "Request latency",
  schedule_lag: "Schedule lag",
};

export function Distributions({ store, run }: { store: RunStore; run: Run }): JSX.Element {
  return (
    <section aria-label="Distributions">
      <Lazily>{() => <Part store={store} run={run} />}</Lazily>
    </section>
  );
}

function Part({ store, run }: { store: RunStore; run: Run }): JSX.Element {
  const [metric, setMetric] = useState(run.streaming ? "time_to_first_token" : "request_latency");
  const [logX, setLogX] = useState(true);
  const [tail, setTail] = useState(false);
  const read = useReading<Body>(
    `api/runs/${run.id}/distributions?metric=${metric}${phaseQuery(store.scope.value)}`,
    !ended(run.state),
  );
  return (
    <>
      <div class="row between">
        <h2>Distributions</h2>
        <div class="row">
          {asOf(run, read.value?.elapsed_sec)}
          <label>
            Metric
            <select value={metric} onChange={(e) => setMetric(e.currentTarget.value)}>
              {Object.entries(latencies).map(([name, text]) => (
                <option key={name} value={name}>
                  {text}
                </option>
              ))}
            </select>
          </label>
          <label>
            <input type="checkbox" checked={logX} onChange={(e) => setLogX(e.currentTarget.checked)} />
            Log scale
          </label>
          <label title="The share of the requests that took longer, on a logarithmic axis">
            <input type="checkbox" checked={tail} onChange={(e) => setTail(e.currentTarget.checked)} />
            Tail
          </label>
        </div>
      </div>
      <ErrorText error={read.error} />
      {read.value && (
        <Pictures
          body={read.value}
          stats={store.shown()[Object.keys(read.value.distributions)[0]!]}
          logX={logX}
          tail={tail}
          live={!ended(run.state)}
        />
      )}
      <Scatters run={run} log={logX} />
    </>
  );
}

function Pictures({
  body,
  stats,
  logX,
  tail,
  live,
}: {
  body: Body;
  /** what the tables have of the metric */
  stats: Stats | undefined;
  logX: boolean;
  tail: boolean;
  live: boolean;
}): JSX.Element {
  const [name, d] = Object.entries(body.distributions)[0]!;
  const text = latencies[name] ?? name;
  const curves = useMemo<Curve[]>(
    () => [{ label: "requests", color: "blue", count: d.count, quantiles: body.quantiles, values: d.values }],
    [body],
  );
  if (d.count === 0)
    return (
      <p class="empty">
        {live ? `No request has a value of “${text}” yet.` : `No request of this run has a value of “${text}”.`}
      </p>
    );
  const known = percentiles(body.quantiles, d, stats);
  const marks = known.map(({ label, color, value, few }): Mark => ({ label, color, value, few }));
  return (
    <>
      <p class="facts">
        <span>{format.count(d.count)} values</span>
        <span>
          mean <b>{duration(stats?.avg ?? d.avg!)}</b>
        </span>
        <span>
          standard deviation <b>{duration(stats?.std ?? d.std!)}</b>
        </span>
        <span>
          min <b>{duration(stats?.min ?? d.min!)}</b>
        </span>
        {known.map((m) => (
          <span key={m.label} title={m.few ? few : undefined}>
            {m.label}{" "}
            <b>
              {duration(m.value)}
              {m.few && "*"}
            </b>
          </span>
        ))}
        <span>
          max <b>{duration(stats?.max ?? d.max!)}</b>
        </span>
      </p>
      <div class="charts">
        <Histogram title={text} bounds={d.histogram.bounds} counts={d.histogram.counts} marks={marks} log={logX} />
        <Cdf
          title={tail ? "Share that took longer" : "Cumulative distribution"}
          curves={curves}
          marks={marks}
          logX={logX}
          tail={tail}
        />
      </div>
    </>
  );
}

/** percentiles are the marks of a distribution; those for which there are too few values to
 * mean anything are left out. */
function percentiles(
  quantiles: number[],
  d: Body["distributions"][string],
  stats: Stats | undefined,
): (Quantile & { color: Mark["color"] })[] {
  const all = [
    [0.5, "p50", "green"],
    [0.9, "p90", "yellow"],
    [0.99, "p99", "orange"],
    [0.999, "p99.9", "pink"],
  ] as const;
  return all
    .filter(([q]) => q < 0.99 || d.count * (1 - q) >= 1)
    .map(([q, label, color]) => ({
      ...exact(label, q, quantile({ quantiles, values: d.values }, q), d.count, stats),
      color,
    }));
}

const against = { output_tokens: "output tokens", input_tokens: "input tokens", end_sec: "time" } as const;

function Scatters({ run, log }: { run: Run; log: boolean }): JSX.Element | null {
  const [first, setFirst] = useState<keyof typeof against>("input_tokens");
  const [second, setSecond] = useState<keyof typeof against>("output_tokens");
  const { value } = useReading<Samples>(`api/runs/${run.id}/samples`, !ended(run.state));
  const s = value?.sample;
  if (!s || s.of === 0) return null;
  const choose = (label: string, x: keyof typeof against, set: (x: keyof typeof against) => void) => (
    <label>
      {label}
      <select value={x} onChange={(e) => set(e.currentTarget.value as keyof typeof against)}>
        {Object.entries(against).map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <>
      <div class="row between part">
        <h3>Single requests</h3>
        <div class="row">
          {asOf(run, value.elapsed_sec)}
          {run.streaming && choose("Time to first token against", first, setFirst)}
          {choose("Request latency against", second, setSecond)}
        </div>
      </div>
      <div class="charts">
        {run.streaming && (
          <Scatter
            title="Time to first token"
            x={s[first]}
            y={s.time_to_first_token}
            xLabel={against[first]}
            tokens={first !== "end_sec"}
            time={s.end_sec}
            log={log}
            color="blue"
          />
        )}
        <Scatter
          title="Request latency"
          x={s[second]}
          y={s.request_latency}
          xLabel={against[second]}
          tokens={second !== "end_sec"}
          time={s.end_sec}
          log={log}
          color="green"
        />
        <Lengths title="Input tokens" values={s.input_tokens} />
        <Lengths title="Output tokens" values={s.output_tokens} />
      </div>
      <p class="muted">
        {s.of > s.end_sec.length
          ? `A uniform sample of ${format.count(s.end_sec.length)} of the ${format.count(s.of)} requests that succeeded.`
          : `All ${format.count(s.of)} requests that succeeded.`}
      </p>
    </>
  );
}

/** Lengths shows how numbers of tokens are distributed. */
function Lengths({ title, values }: { title: string; values: (number | null)[] }): JSX.Element | null {
  const { bounds, counts, marks } = useMemo(() => {
    const known = values.filter((v): v is number => v !== null).sort((a, b) => a - b);
    const low = known[0] ?? 0,
      span = (known.at(-1) ?? 0) - low + 1;
    const width = Math.ceil(span / 60);
    const counts = new Array<number>(Math.ceil(span / width)).fill(0);
    for (const v of known) counts[Math.floor((v - low) / width)]!++;
    const mark = (q: number, label: string, color: Mark["color"]): Mark => ({
      label,
      color,
      value: known[Math.floor(q * (known.length - 1))] ?? 0,
    });
    return {
      bounds: [...counts.map((_, i) => low + i * width), low + counts.length * width],
      counts,
      marks: [mark(0.5, "p50", "green"), mark(0.9, "p90", "yellow")],
    };
  }, [values]);
  if (counts.length < 2) return null; // all are equal
  return <Histogram title={title} bounds={bounds} counts={counts} marks={marks} log={false} tokens />;
}

// The distributions of several runs over each other.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getJSON, type Schemas } from "../api/client";
import { Cdf, type Curve } from "../charts/cdf";
import { cycle } from "../charts/colors";
import { Lazily } from "../ui/lazy";
import { ErrorText } from "../ui/parts";
import { latencies } from "./distributions";

type Body = Schemas["wire.Distributions"];

const shown = ["time_to_first_token", "inter_token_latency", "request_latency"];

interface Props {
  runs: { id: string; label: string }[];
  /** whether a run has too few requests for a percentile, as the tables have it */
  few: (run: string, metric: string, statistic: string) => boolean;
}

/** Cdfs overlays the runs, in the colors that they have in the page. */
export function Cdfs(props: Props): JSX.Element {
  return (
    <section aria-label="Distributions">
      <Lazily>{() => <Part {...props} />}</Lazily>
    </section>
  );
}

function Part({ runs, few }: Props): JSX.Element {
  const [bodies, setBodies] = useState<Body[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [logX, setLogX] = useState(true);
  const [tail, setTail] = useState(false);
  const all = runs.map((r) => r.id).join();
  useEffect(() => {
    let over = false;
    const path = (id: string) => `api/runs/${id}/distributions?points=1&metric=${shown.join()}`;
    Promise.all(runs.map((r) => getJSON<Body>(path(r.id)))).then(
      (b) => {
        if (!over) setBodies(b);
      },
      (e: unknown) => {
        if (!over) setError(e);
      },
    );
    return () => {
      over = true;
    };
  }, [all]);
  if (error) return <ErrorText error={error} />;
  if (bodies.length !== runs.length) return <p class="empty">Loading …</p>;
  const charts = shown.map((metric) => ({
    metric,
    curves: bodies.flatMap((b, i): Curve[] => {
      const d = b.distributions[metric]!;
      return d.count
        ? [
            {
              label: runs[i]!.label,
              color: cycle[i % cycle.length]!,
              dash: i >= cycle.length,
              count: d.count,
              quantiles: b.quantiles,
              values: d.values,
              few: (q) => few(runs[i]!.id, metric, `p${100 * q}`),
            },
          ]
        : [];
    }),
  }));
  return (
    <>
      <div class="row between">
        <h2>Distributions</h2>
        <div class="row">
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
      <div class="charts three">
        {charts
          .filter((c) => c.curves.length > 0)
          .map((c) => (
            <Cdf
              key={c.metric}
              title={latencies[c.metric]! + (tail ? ", share that took longer" : "")}
              curves={c.curves}
              logX={logX}
              tail={tail}
              height={240}
            />
          ))}
      </div>
    </>
  );
}

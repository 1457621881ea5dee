// The percentiles of a run: of all requests, or of those that ended in the last seconds.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getJSON, type Schemas, type Stats } from "../api/client";
import * as format from "../format";
import { doubtOf, few, lopsided, marked } from "../state/doubt";
import type { RunStore } from "../state/run";
import { Card, Doubt } from "../ui/parts";
import "./sweep.css";

type Distributions = Schemas["wire.Distributions"];

const main = [
  "time_to_first_token",
  "time_to_second_token",
  "inter_token_latency",
  "inter_chunk_latency",
  "request_latency",
  "output_token_throughput_per_user",
  "input_sequence_length",
  "output_sequence_length",
];

/** Seconds of the window of an active run. */
const recent = 10;
const windowed = ["time_to_first_token", "inter_token_latency", "inter_chunk_latency", "request_latency"];

const columns = ["avg", "min", "p50", "p90", "p95", "p99", "max"] as const;

export function Percentiles({ store }: { store: RunStore }): JSX.Element {
  const [all, setAll] = useState(false);
  const [latest, setLatest] = useState(false);
  const live = store.live();
  const metrics = store.shown();
  const last = useRecent(store, live && latest);
  const shown = live && latest ? last : metrics;
  const tags =
    live && latest
      ? windowed.filter((tag) => shown[tag])
      : all
        ? Object.keys(metrics).sort()
        : main.filter((tag) => metrics[tag]);
  const withheld = live && latest ? {} : (store.results.value?.stream?.withheld ?? {});
  return (
    <Card>
      <div class="row between">
        <h2>Metrics</h2>
        {live && (
          <label>
            Of
            <select value={latest ? "recent" : "all"} onChange={(e) => setLatest(e.currentTarget.value === "recent")}>
              <option value="all">the whole run</option>
              <option value="recent">the last {recent} seconds</option>
            </select>
          </label>
        )}
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Metrics">
        <table class="values">
          <thead>
            <tr>
              <th class="text">Metric</th>
              {columns.map((c) => (
                <th>{c}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tags.map((tag) => (
              <tr key={tag}>
                <td class="text wrap" title={tag}>
                  {shown[tag]!.header}, {shown[tag]!.unit}{" "}
                  <Doubt of={doubtOf(store.run.value?.client, tag, shown[tag]!.unit)} />
                </td>
                {columns.map((c) => (
                  <Cell key={c} stats={shown[tag]!} of={c} withheld={withheld[tag]?.reason} />
                ))}
              </tr>
            ))}
            {tags.length === 0 && (
              <tr>
                <td class="empty" colSpan={8}>
                  {latest && live
                    ? `No request ended in the last ${recent} seconds.`
                    : live
                      ? "No request has ended yet."
                      : "No request has a value."}
                </td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
      <Notes tags={tags} metrics={shown} withheld={withheld} />
      {!(live && latest) && (
        <button type="button" class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show the main metrics" : `Show all ${Object.keys(metrics).length} metrics`}
        </button>
      )}
    </Card>
  );
}

const lopsidedText = "A few values far above all others make this average, which lies above the p95";

/** Cell is a statistic with its confidence interval. Percentiles that mean nothing are not
 * shown, and those of too few requests have a mark. */
function Cell({
  stats,
  of,
  withheld,
}: {
  stats: Stats;
  of: keyof Stats & string;
  withheld: string | undefined;
}): JSX.Element {
  if (withheld && of.startsWith("p"))
    return (
      <td data-label={of} title={withheld}>
        withheld
      </td>
    );
  const interval = stats.intervals?.[of];
  const unsure = stats.unsupported_percentiles?.includes(of);
  const title =
    interval && `95 % confidence interval ${format.number(interval[0])} to ${format.number(interval[1])} ${stats.unit}`;
  const byFew = of === "avg" && lopsided(stats);
  return (
    <td data-label={of} title={unsure ? few : byFew ? lopsidedText : title}>
      {marked(stats, of)}
      {byFew && "†"}
    </td>
  );
}

/** Notes explains the marks of the table. */
function Notes({
  tags,
  metrics,
  withheld,
}: {
  tags: string[];
  metrics: Record<string, Stats>;
  withheld: Record<string, { reason: string }>;
}): JSX.Element {
  const reasons = new Set(tags.flatMap((tag) => withheld[tag]?.reason ?? []));
  const unsure = tags.some((tag) => metrics[tag]!.unsupported_percentiles?.some((p) => columns.some((c) => c === p)));
  const intervals = tags.some((tag) => metrics[tag]!.intervals);
  return (
    <>
      {[...reasons].map((reason) => (
        <p class="muted">Withheld: {reason}.</p>
      ))}
      {unsure && <p class="muted">* {few}.</p>}
      {tags.some((tag) => lopsided(metrics[tag])) && <p class="muted">† {lopsidedText}.</p>}
      {intervals && <p class="muted">Hover over a number, or tap it, to see its 95 % confidence interval.</p>}
    </>
  );
}

/** useRecent reads the distributions of the last seconds again with each point of the series. */
function useRecent(store: RunStore, on: boolean): Record<string, Stats> {
  const [stats, setStats] = useState<Record<string, Stats>>({});
  const next = store.series.value?.next_sec ?? 0;
  useEffect(() => {
    if (!on || next === 0) return;
    let wanted = true;
    const query = `?metric=${windowed.join(",")}&from=${Math.max(0, next - recent)}&to=${next}&points=${recent}`;
    getJSON<Distributions>(`api/runs/${store.id}/distributions${query}`).then(
      (d) => {
        if (wanted) setStats(statsOf(d, store.metrics.value));
      },
      () => undefined,
    );
    return () => {
      wanted = false;
    };
  }, [on, next]);
  return on ? stats : {};
}

function statsOf(d: Distributions, known: Record<string, Stats>): Record<string, Stats> {
  const out: Record<string, Stats> = {};
  for (const [tag, of] of Object.entries(d.distributions)) {
    if (of.count === 0) continue;
    const at = (quantile: number) => of.values[d.quantiles.indexOf(quantile)];
    out[tag] = {
      ...known[tag]!,
      header: known[tag]?.header ?? tag,
      unit: of.unit,
      avg: of.avg,
      min: of.min,
      max: of.max,
      p50: at(0.5),
      p90: at(0.9),
      p95: at(0.95),
      p99: at(0.99),
    } as Stats;
  }
  return out;
}

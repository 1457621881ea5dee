// What an open loop asked of the server and what was served, and which objectives of single requests were met.
import type { JSX } from "preact";
import { ended, type Metrics, type Run, type Stats } from "../api/client";
import * as format from "../format";
import { doubtOf, few, marked } from "../state/doubt";
import type { RunStore } from "../state/run";
import { metricName } from "../state/sweep";
import { useReading } from "../ui/lazy";
import { asOf, Card, Doubt, Tile } from "../ui/parts";
import "./sweep.css";

const shown = ["avg", "p50", "p90", "p99"] as const;

const corrected = [
  ["time_to_first_token", "Time to first token"],
  ["request_latency", "Request latency"],
] as const;

export function OpenLoop({ run, store }: { run: Run; store: RunStore }): JSX.Element | null {
  const { value } = useReading<Metrics>(`api/runs/${run.id}/metrics`, !ended(run.state));
  const s = value?.saturation ?? run.summary?.saturation;
  if (!s) return null;
  const asked = s.asked_rate_per_sec;
  const share = (v: number | null | undefined) =>
    v === null || v === undefined || !asked ? undefined : format.percent(v / asked) + " of what was asked";
  const metrics = store.of(s.phase);
  const late = corrected.filter(([tag]) => metrics["corrected_" + tag] && metrics[tag]);
  return (
    <Card
      title="Open loop"
      beside={asOf(run, value?.elapsed_sec)}
      class={s.saturated ? "open-loop saturated" : "open-loop"}
    >
      <p class={s.saturated ? "bad" : undefined}>{s.message && `${format.sentence(s.message)}.`}</p>
      <div class="tiles">
        <Tile label="Asked" value={format.number(asked)} unit="req/s" note={`phase ${s.phase}`} />
        <Tile label="Offered" value={format.number(s.offered_rate_per_sec)} unit="req/s" note="by their due times" />
        <Tile label="Sent" value={format.number(s.sent_rate_per_sec)} unit="req/s" note={share(s.sent_rate_per_sec)} />
        <Tile
          label="Served"
          value={format.number(s.achieved_rate_per_sec)}
          unit="req/s"
          note={s.saturated ? share(s.achieved_rate_per_sec) : "succeeded, over the whole phase"}
          bad={s.saturated}
        />
        <Tile label="Largest backlog" value={format.count(s.backlog_max)} note="in flight or waiting to be sent" />
        <Tile
          label="Without an answer"
          value={format.count(s.cut_requests + s.dropped_requests)}
          note={
            s.dropped_requests
              ? `${format.count(s.dropped_requests)} dropped`
              : format.percent(s.cut_share) + " of what was due"
          }
        />
      </div>
      {late.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Latency from the due time">
          <table class="values">
            <thead>
              <tr>
                <th class="text">Latency in phase {s.phase}</th>
                {shown.map((c) => (
                  <th key={c}>{c}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {late.flatMap(([tag, text]) => [
                <Latency key={tag} text={text + ", from the start"} of={tag} run={run} metrics={metrics} />,
                <Latency
                  key={"corrected " + tag}
                  text={text + ", from the due time"}
                  of={"corrected_" + tag}
                  run={run}
                  metrics={metrics}
                />,
              ])}
            </tbody>
          </table>
        </div>
      )}
      {late.length > 0 && (
        <p class="muted">
          From the due time: what users wait who do not know of a queue in front of the server. It is the number to
          compare with an objective.
        </p>
      )}
    </Card>
  );
}

interface Row {
  text: string;
  of: string;
  run: Run;
  metrics: Record<string, Stats>;
}

function Latency({ text, of, run, metrics }: Row): JSX.Element {
  const stats = metrics[of]!;
  return (
    <tr>
      <td class="text wrap">
        {text}, {stats.unit} <Doubt of={doubtOf(run.client, of)} />
      </td>
      {shown.map((c) => (
        <td key={c} data-label={c} title={stats.unsupported_percentiles?.includes(c) ? few : undefined}>
          {marked(stats, c)}
        </td>
      ))}
    </tr>
  );
}

interface Attained {
  metric: string;
  threshold: number;
  /** of the requests; null = not known */
  share: number | null;
}

/** attained lists the objectives of single requests with the share of the requests that met each. With one
 * objective, that is the share of good requests. */
export function attained(slos: Record<string, number>, metrics: Record<string, Stats>): Attained[] {
  const all = Object.entries(slos);
  return all
    .map(([metric, threshold]) => {
      const own = metrics["slo_attainment." + metric]?.avg;
      const good = all.length === 1 ? metrics.good_request_fraction?.avg : undefined;
      return { metric, threshold, share: own ?? good ?? null };
    })
    .sort((a, b) => (a.share ?? 2) - (b.share ?? 2));
}

/** missedMost is the objective that fewer requests met than any other; undefined if two are equal, such as when only
 * failed requests missed them. */
export function missedMost(sorted: readonly Attained[]): Attained | undefined {
  const [first, second] = sorted;
  return first && second && first.share !== null && first.share < (second.share ?? 0) ? first : undefined;
}

/** attainedText says of how many requests a share met so many objectives; failed ones met none. */
export function attainedText(objectives: number, metrics: Record<string, Stats>): string {
  const which = ["the objective", "both objectives"][objectives - 1] ?? `all ${objectives} objectives`;
  const text = `of the requests met ${which} of single requests`;
  const good = metrics.good_request_count?.avg;
  const succeeded = metrics.request_count?.avg;
  if (good === undefined || good === null || succeeded === undefined || succeeded === null) return text + ".";
  const failed = metrics.error_request_count?.avg ?? 0;
  const missed = failed === 0 ? "" : `; ${format.count(failed)} failed, which counts as missed`;
  return `${text}: ${format.count(good)} of ${format.count(succeeded + failed)}${missed}.`;
}

/** goodText says which share of the requests was good. The requests per second beside it are those that succeeded. */
export function goodText(metrics: Record<string, Stats>): string {
  const share = metrics.good_request_fraction?.avg;
  if (share === undefined || share === null) return "requests that met all objectives";
  const failed = metrics.error_request_count?.avg ?? 0;
  return `${format.percent(share)} of the requests${failed > 0 ? ", failed ones included," : ""} met all objectives`;
}

/** Attainment shows which objective of single requests was missed how often. */
export function Attainment({ store }: { store: RunStore }): JSX.Element | null {
  const metrics = store.shown();
  const list = attained(store.slos.value, metrics);
  if (list.length === 0) return null;
  const client = store.run.value?.client;
  const worst = missedMost(list);
  return (
    <>
      <p>
        <b>{format.percent(metrics.good_request_fraction?.avg)}</b>{" "}
        <Doubt of={doubtOf(client, "good_request_fraction")} /> {attainedText(list.length, metrics)}
      </p>
      <table>
        <tbody>
          {list.map((a) => (
            <tr key={a.metric}>
              <td class="text wrap">
                {metricName(a.metric)} {/throughput/.test(a.metric) ? "≥" : "≤"} {format.number(a.threshold)}{" "}
                {metrics[a.metric]?.unit}
                {a === worst && <span class="tag">missed most</span>}
              </td>
              <td class={a.share !== null && a.share < 1 ? "bad" : "good"}>
                <Doubt of={doubtOf(client, "slo_attainment." + a.metric)} /> {format.percent(a.share)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

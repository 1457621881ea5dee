// What the servers' metrics say, as the page shows it: the parts of the time to the first token, and curves on the
// axis of time of the charts.
import type { Schemas } from "../api/client";
import type { Column, Timeseries } from "../api/timeseries";
import type { Color } from "../charts/colors";
import * as format from "../format";

type Budget = Schemas["diagnose.Budget"];
type Phase = Schemas["diagnose.Phase"];
type Value = Schemas["diagnose.Value"];
type Curves = Schemas["diagnose.Curves"];
type SpanPhase = Schemas["otel.SpanPhase"];

export interface Part {
  name: string;
  ms: number;
  color: Color;
  /** what it is made of, and who measured it */
  about: string;
}

const measured: Record<string, [name: string, color: Color, about: string]> = {
  path: ["network", "pink", "The shortest round trip to the server, by the kernel"],
  frontend: [
    "frontend",
    "sky",
    "What is left between the client's clock and the server's: HTTP, JSON, tokenizer, a gateway",
  ],
  queue: ["queue", "orange", "In the queue of the server, by its metrics"],
  prefill: ["prefill", "blue", "From the queue to the first token, by the metrics of the server"],
  engine: ["server", "green", "From the arrival at the server to the first token, by its metrics"],
};

/** parts are the segments of a time budget as they are shown: what the client took is one. They add up to the
 * mean time to the first token. */
export function parts(of: Budget): Part[] {
  const own = of.segments.filter((s) => !measured[s.name]);
  const sum = own.reduce((ms, s) => ms + s.ms, 0);
  const client: Part = {
    name: "client",
    ms: sum,
    color: "grey",
    about: "Waiting in the load generator, connecting and sending",
  };
  const trip = of.segments.some((s) => s.name === "path");
  const rest = of.segments.flatMap((s): Part[] => {
    const known = measured[s.name];
    const name = s.name === "frontend" && !trip ? "network and frontend" : known?.[0];
    return known && name ? [{ name, ms: s.ms, color: known[1], about: known[2] }] : [];
  });
  return [client, ...rest];
}

/** shownPhases are the profiling phases, or the one in scope, as far as a known server answered. */
export function shownPhases(phases: readonly Phase[], scope: string | null): Phase[] {
  return phases.filter((p) => (scope === null ? p.kind === "profiling" : p.name === scope) && p.canonical.length > 0);
}

/** shownSpans are the profiling phases, or the one in scope, as far as a request of them had a span. */
export function shownSpans(phases: readonly SpanPhase[], scope: string | null): SpanPhase[] {
  return phases.filter((p) => (scope === null ? p.kind === "profiling" : p.name === scope) && p.joined > 0);
}

export function canonical(p: Phase, name: string): Value | undefined {
  return p.canonical.find((v) => v.name === name);
}

/** hitRate is the share of the prompt tokens that the prefix cache had. */
export function hitRate(p: Phase): number | undefined {
  const hits = canonical(p, "prefix_hits")?.total;
  const queries = canonical(p, "prefix_queries")?.total;
  return hits === undefined || !queries ? undefined : Math.min(1, hits / queries);
}

interface Sum {
  sum: number;
  count: number;
}

/** summing returns what adds up the readings of a curve by the points of a series; undefined = it has none. */
export function summing(
  c: { start_time: string; time_sec: readonly number[] },
  s: Timeseries,
): ((values: readonly (number | null)[]) => Sum[]) | undefined {
  const first = s.time_sec[0];
  if (first === undefined || !s.start_time) return undefined;
  const offset = (Date.parse(c.start_time) - Date.parse(s.start_time)) / 1000;
  const places = c.time_sec.map((t) => Math.floor((t + offset - first) / s.step_sec));
  return (values) => {
    const out = s.time_sec.map(() => ({ sum: 0, count: 0 }));
    values.forEach((v, i) => {
      const at = out[places[i]!];
      if (!at || v === null) return;
      at.sum += v;
      at.count++;
    });
    return out;
  };
}

/** meansOf are the means of sums; a point without a reading has none. */
export const meansOf = (of: readonly Sum[]): Column => of.map(({ sum, count }) => (count > 0 ? sum / count : null));

/** onAxis puts curves on the points of a series: levels and rates per second by canonical name, and hit_rate, the
 * share of the prompt tokens that the prefix cache had. A point without a reading has no value. */
export function onAxis(c: Curves, s: Timeseries): Record<string, Column> {
  const sums = summing(c, s);
  if (!sums) return {};
  const means = (values: readonly (number | null)[]) => meansOf(sums(values));
  const out: Record<string, Column> = {};
  for (const [name, values] of Object.entries(c.levels)) out[name] = means(values);
  for (const [name, values] of Object.entries(c.increases)) {
    out[name] = means(
      values.map((v, i) => {
        const took = c.time_sec[i]! - (c.time_sec[i - 1] ?? 0);
        return v === null || took <= 0 ? null : v / took;
      }),
    );
  }
  const { prefix_hits: hits, prefix_queries: queries } = c.increases;
  if (hits && queries) {
    const found = sums(hits);
    out.hit_rate = sums(queries).map((q, i) => (q.sum > 0 ? Math.min(1, found[i]!.sum / q.sum) : null));
  }
  return out;
}

/** disagreement says in what server and client differ. */
export function disagreement(c: Schemas["diagnose.Check"]): string {
  const server = format.number(c.server);
  const client = format.number(c.client);
  switch (c.code) {
    case "server-inflight":
      return `Server and client differ: by the server's metrics, ${server} requests were at work on average, by the client's clock ${client}.`;
    case "server-littles-law":
      return `The server's metrics disagree: ${server} requests were at work on average, but its rate times its time per request is ${client}.`;
    case "server-ttft-below-client":
      return `Server and client differ: the server took ${server} s to the first token on average, the client saw it after ${client} s.`;
    default:
      return `Server and client differ: the server counted ${server} ${c.unit}, the client ${client} (${c.code.replace(/^server-/, "").replaceAll("-", " ")}).`;
  }
}

// The run as a whole, or one of its phases: totals, progress and what belongs to a phase.
import type { Phase, Progress, Run, Schemas, Stats } from "../api/client";
import type { Timeseries } from "../api/timeseries";
import * as format from "../format";

type PhaseRecord = Schemas["wire.PhaseRecord"];

/** inOrder are the phases that have started, in their order. */
export function inOrder(progress: Progress | null): Phase[] {
  const all = Object.values(progress?.phases ?? {});
  return all.filter((p) => p.start_ns).sort((a, b) => a.phase_index - b.phase_index);
}

/** measured names what the numbers of a run are of: they leave out its warm-up. */
export function measured(phases: readonly Phase[]): string {
  const profiling = phases.filter((p) => p.phase === "profiling");
  if (profiling.length === 1) return profiling[0]!.phase_name;
  return phases.length > profiling.length ? "all but warm-up" : "all phases";
}

export interface Totals {
  succeeded: number;
  failed: number;
  inFlight: number;
  /** share of the requests that ended by an answer or an error; null before the first */
  errorShare: number | null;
}

/** totals adds up the profiling phases of a run, or takes one phase of any kind. */
export function totals(progress: Progress | null, scope: string | null, summary: Run["summary"]): Totals {
  const all = inOrder(progress);
  const of = scope === null ? all.filter((p) => p.phase === "profiling") : all.filter((p) => p.phase_name === scope);
  const sum = (count: (p: Phase) => number) => of.reduce((n, p) => n + count(p), 0);
  let failed = sum((p) => p.request_errors),
    succeeded = sum((p) => p.requests_completed) - failed;
  if (of.length === 0 && scope === null && summary) [failed, succeeded] = [summary.errors, summary.requests];
  const ended = failed + succeeded;
  return { succeeded, failed, inFlight: sum((p) => p.in_flight_requests), errorShare: ended ? failed / ended : null };
}

export interface BarState {
  /** 0 to 100; null = nothing bounds the phase, and it goes on or was cut off */
  percent: number | null;
  /** percent points of it that failed */
  failed: number;
  text: string;
  /** complete, cancelled or failed, once that is decided */
  tone: string;
}

/** barOf describes the progress of a phase. over is whether the run has ended. */
export function barOf(p: Phase, over: boolean): BarState {
  const expected = p.total_expected_requests ?? null;
  const failed = p.request_errors,
    succeeded = p.requests_completed - failed;
  const returned = p.requests_completed + p.requests_cancelled;
  const ended = p.state === "complete" || p.state === "cancelled" || p.state === "failed" || over;
  // A phase that lacks nothing is complete, even if the run was interrupted after it.
  const whole = p.state === "complete" || (expected !== null && expected > 0 && returned >= expected);
  const percent = whole ? 100 : (p.progress_percent ?? null);
  const share = returned > 0 ? failed / returned : 0;
  const allFailed = ended && failed > 0 && succeeded === 0;
  const tone = allFailed
    ? "failed"
    : whole
      ? "complete"
      : ended
        ? p.state === "running" || p.state === "draining"
          ? "cancelled"
          : p.state
        : "";
  const count = format.count(succeeded) + (expected ? " of " + format.count(expected) : "") + " succeeded";
  const parts = [count];
  if (failed > 0) parts.push(format.count(failed) + " failed");
  if (p.requests_cancelled > 0) parts.push(format.count(p.requests_cancelled) + " cancelled");
  if (!ended) parts.push(format.count(p.in_flight_requests) + " in flight");
  const eta = p.requests_eta_sec;
  if (!ended && eta !== null && eta !== undefined) parts.push(format.seconds(eta) + " left");
  else if (allFailed) parts.push("all failed");
  else if (whole) parts.push("complete");
  else if (ended) parts.push(tone === "failed" ? "not complete" : tone);
  return { percent, failed: (percent ?? 0) * share, text: parts.join(" · "), tone };
}

/** within keeps the points of a series that lie in the time of a phase. */
export function within(s: Timeseries | null, scope: string | null): Timeseries | null {
  const band = s?.phases.find((p) => p.name === scope);
  if (!s || !band) return s;
  const to = band.end_sec ?? Infinity;
  const first = s.time_sec.findIndex((t) => t + s.step_sec > band.start_sec);
  const end = s.time_sec.findIndex((t) => t >= to);
  const cut = <T>(column: T[]): T[] => (first < 0 ? [] : column.slice(first, end < 0 ? undefined : end));
  const series = Object.fromEntries(
    Object.entries(s.series).map(([name, of]) => [
      name,
      { ...of, values: Object.fromEntries(Object.entries(of.values).map(([stat, column]) => [stat, cut(column)])) },
    ]),
  );
  return { ...s, time_sec: cut(s.time_sec), series, phases: [band] };
}

/** statsOf turns the records of a phase into statistics by tag. */
export function statsOf(record: PhaseRecord, known: Record<string, Stats>): Record<string, Stats> {
  return Object.fromEntries(
    record.records.map((r) => {
      const { tag, ...rest } = r;
      const plain = Object.fromEntries(Object.entries(rest).filter(([, v]) => v !== null));
      return [tag, { higher_is_better: known[tag]?.higher_is_better ?? false, ...plain } as Stats];
    }),
  );
}

/** phaseQuery is the part of a query that selects a phase; empty for the whole run. */
export function phaseQuery(scope: string | null): string {
  return scope === null ? "" : "&" + new URLSearchParams({ phase: scope });
}

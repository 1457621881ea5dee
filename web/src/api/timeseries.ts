// Time series of a run, read once and then continued.
import { getJSON } from "./client";

export interface Band {
  index: number;
  name: string;
  kind: string;
  start_sec: number;
  end_sec: number | null;
}

export type Column = (number | null)[];

export interface Timeseries {
  run_id: string;
  state: string;
  start_time: string | null;
  step_sec: number;
  next_sec: number;
  phases: Band[];
  time_sec: number[];
  series: Record<string, { unit: string; values: Record<string, Column> }>;
}

/** The most points that are continued; with more the series is read again, coarser. */
const mostPoints = 1500;

/** read returns the whole series. Without a step the daemon chooses one. */
export function read(id: string, step: number): Promise<Timeseries> {
  return getJSON(`api/runs/${id}/timeseries` + (step ? `?step=${step}s` : ""));
}

/** follow returns the series continued by what the daemon has measured since. */
export async function follow(known: Timeseries, step: number): Promise<Timeseries> {
  if (!step && known.time_sec.length > mostPoints) return read(known.run_id, 0);
  const query = `?step=${known.step_sec}s&from=${known.next_sec}`;
  const more = await getJSON<Timeseries>(`api/runs/${known.run_id}/timeseries${query}`);
  return append(known, more);
}

/** append puts the points of more behind those of known that begin before them. */
export function append(known: Timeseries, more: Timeseries): Timeseries {
  const first = more.time_sec[0];
  let keep = known.time_sec.length;
  while (first !== undefined && keep > 0 && known.time_sec[keep - 1]! >= first) keep--;
  const series: Timeseries["series"] = {};
  for (const name of new Set([...Object.keys(known.series), ...Object.keys(more.series)])) {
    const before = known.series[name],
      after = more.series[name];
    const values: Record<string, Column> = {};
    for (const stat of new Set([...Object.keys(before?.values ?? {}), ...Object.keys(after?.values ?? {})])) {
      values[stat] = [...padded(before?.values[stat], keep), ...padded(after?.values[stat], more.time_sec.length)];
    }
    series[name] = { unit: (after ?? before)!.unit, values };
  }
  return { ...more, time_sec: [...known.time_sec.slice(0, keep), ...more.time_sec], series };
}

/** padded returns the first n values; a class of errors is absent until it has one. */
function padded(column: Column | undefined, n: number): Column {
  return column ? column.slice(0, n) : new Array<null>(n).fill(null);
}

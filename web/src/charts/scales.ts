// What charts compute before they draw: ranges, ticks, intervals and statistics.
import type { Region } from "./base";

export type Column = readonly (number | null | undefined)[];

/** leastPerBin is how many requests an interval of time must have before its percentiles are
 * joined by a line: the p90 of fewer is the second largest of them, or the largest. */
export const leastPerBin = 20;

/** around returns a range with room on both sides; equal values get the room that is given. */
export function around(low: number, high: number, room: number): [number, number] {
  const margin = high > low ? 0.03 * (high - low) : 0;
  return [low - Math.max(margin, high > low ? 0 : room), high + Math.max(margin, high > low ? 0 : room)];
}

/** timeRange is the range of the axis of points that stand for so many seconds each. */
export function timeRange(low: number | null, high: number | null, step: number): [number, number] {
  const from = low ?? 0;
  return [from, Math.max(high ?? from, from) + (step || 1)];
}

/** fromZero is the range of a value axis that begins at 0 unless values are negative. */
export function fromZero(low: number | null, high: number | null, also: readonly number[] = []): [number, number] {
  const top = Math.max(high ?? 0, ...also);
  const bottom = Math.min(0, low ?? 0, ...also);
  if (top <= bottom) return [bottom, bottom + 1];
  const room = 0.08 * (top - bottom);
  return [bottom < 0 ? bottom - room : bottom, top + room];
}

/** logTicks returns round numbers for a logarithmic axis; a range of less than a decade has
 * more than its powers and their multiples. */
export function logTicks(low: number, high: number): number[] {
  if (!(low > 0 && high > low)) return [];
  const out: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high && out.length < 400; power *= 10) {
    for (let m = 1; m < 10; m++) {
      if (m * power >= low * 0.999 && m * power <= high * 1.001) out.push(Number((m * power).toPrecision(3)));
    }
  }
  return out.length > 3 ? out : linearTicks(low, high, 5);
}

/** linearTicks returns about so many round numbers between two. */
export function linearTicks(low: number, high: number, about: number): number[] {
  if (!(high > low)) return [low];
  const least = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= least * 0.999)!;
  const out: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high * 1.0001 && out.length < 100; i++) {
    out.push(Number((i * step).toPrecision(10)));
  }
  return out;
}

/** isolated returns the indices of values that no line can show: those without a neighbor. */
export function isolated(values: Column, from = 0, to = values.length - 1): number[] {
  const has = (i: number) => values[i] !== null && values[i] !== undefined;
  const out: number[] = [];
  for (let i = from; i <= to; i++) if (has(i) && !has(i - 1) && !has(i + 1)) out.push(i);
  return out;
}

/** statistics returns the mean and the largest of the values at the places that count. */
export function statistics(values: Column, counts: (i: number) => boolean): { mean: number; max: number } | null {
  let n = 0;
  let sum = 0;
  let max = -Infinity;
  values.forEach((v, i) => {
    if (v === null || v === undefined || !counts(i)) return;
    n++;
    sum += v;
    max = Math.max(max, v);
  });
  return n === 0 ? null : { mean: sum / n, max };
}

/** part returns the first and the last point of a line that lacks points which count and which others have; null if it
 * lacks none. */
export function part(
  of: Column,
  others: readonly Column[],
  counts: (i: number) => boolean,
): [first: number, last: number] | null {
  const has = (values: Column, i: number) => values[i] !== null && values[i] !== undefined;
  let lacks = false;
  let first = -1;
  let last = -1;
  for (let i = 0; i < Math.max(of.length, ...others.map((o) => o.length)); i++) {
    if (!counts(i)) continue;
    if (has(of, i)) [first, last] = [first < 0 ? i : first, i];
    else lacks ||= others.some((o) => has(o, i));
  }
  return lacks && first >= 0 ? [first, last] : null;
}

/** nearest returns the index of the largest of ascending values that is at most v; -1 = none. */
export function nearest(ascending: readonly number[], v: number): number {
  let low = -1;
  let high = ascending.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! <= v) low = middle;
    else high = middle;
  }
  return low;
}

/** grouped joins neighboring intervals until there are at most so many. */
export function grouped(
  bounds: readonly number[],
  counts: readonly number[],
  most: number,
): { bounds: number[]; counts: number[] } {
  const size = Math.max(1, Math.ceil(counts.length / most));
  const starts = counts.map((_, i) => i).filter((i) => i % size === 0);
  return {
    bounds: [...starts.map((i) => bounds[i]!), bounds.at(-1)!],
    counts: starts.map((i) => counts.slice(i, i + size).reduce((sum, n) => sum + n, 0)),
  };
}

/** place returns the index of the interval of ascending bounds that holds a value, -1 = none. */
export function place(bounds: readonly (number | null)[], v: number): number {
  let low = 0;
  let high = bounds.length - 1;
  if (high < 1 || v < bounds[0]! || v > bounds[high]!) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (bounds[middle]! < v) low = middle;
    else high = middle;
  }
  return low;
}

/** positive replaces a lower bound of 0, which a logarithmic axis cannot show. */
export function positive(bounds: readonly (number | null)[]): number[] {
  const out = bounds.map((b) => b ?? Number.NaN);
  if (out[0] === 0) out[0] = out.length > 2 ? (out[1]! * out[1]!) / out[2]! : (out[1] || 1e-3) / 2;
  if (out.length === 2 && out[1] === 0) out[1] = 2 * out[0]!;
  return out;
}

/** beside spreads whole numbers that many points share, by less than the distance to the next. */
export function beside(x: number, i: number): number {
  return Number.isInteger(x) ? x + 0.6 * (((i * 0.618034) % 1) - 0.5) : x;
}

/** counting says which points belong to the statistics of the legend. */
export function counting(
  { x, regions = [] }: { x: readonly number[]; regions?: readonly Region[] },
  zoom: [number, number] | null,
): (i: number) => boolean {
  const measured = regions.filter((r) => r.label && !r.quiet);
  return (i) => {
    const at = x[i]!;
    if (zoom && (at < zoom[0] || at > zoom[1])) return false;
    if (regions.some((r) => r.partial && at >= r.from && at < r.to)) return false;
    return measured.length === 0 || measured.some((r) => at >= r.from && at < r.to);
  };
}

// The columns of the list of runs: which there are, and which the reader has chosen.
import { signal } from "@preact/signals";
import type { Schemas } from "../api/client";
import * as format from "../format";

type Summary = Schemas["run.Summary"];

/** Column is a number of the summary of a run. */
export interface Column {
  /** member of the summary, and the order of the API by it */
  key: keyof Summary & string;
  header: string;
  unit: string;
  /** larger is better; without it smaller is */
  high?: boolean;
  /** the metric and the statistic that it is, where intervals are known */
  metric?: [string, string];
}

export const columns: Column[] = [
  {
    key: "request_throughput_per_sec",
    header: "Requests",
    unit: "req/s",
    high: true,
    metric: ["request_throughput", "avg"],
  },
  {
    key: "output_token_throughput_per_sec",
    header: "Output",
    unit: "tokens/s",
    high: true,
    metric: ["output_token_throughput", "avg"],
  },
  { key: "goodput_per_sec", header: "Goodput", unit: "req/s", high: true, metric: ["goodput", "avg"] },
  { key: "error_rate_percent", header: "Errors", unit: "%" },
  { key: "time_to_first_token_p50_ms", header: "TTFT p50", unit: "ms", metric: ["time_to_first_token", "p50"] },
  { key: "time_to_first_token_p99_ms", header: "TTFT p99", unit: "ms", metric: ["time_to_first_token", "p99"] },
  { key: "inter_token_latency_p99_ms", header: "ITL p99", unit: "ms", metric: ["inter_token_latency", "p99"] },
  { key: "request_latency_p50_ms", header: "Latency p50", unit: "ms", metric: ["request_latency", "p50"] },
  { key: "request_latency_p99_ms", header: "Latency p99", unit: "ms", metric: ["request_latency", "p99"] },
];

const first: Column["key"][] = [
  "request_throughput_per_sec",
  "output_token_throughput_per_sec",
  "time_to_first_token_p50_ms",
  "time_to_first_token_p99_ms",
  "request_latency_p99_ms",
];

/** remembered is a value that the browser keeps; storage may be forbidden. */
function remembered(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The choice holds until the page is closed.
  }
}

const columnsKey = "aiperfd.columns";
const sortKey = "aiperfd.sort";

/** read returns the known columns of a list of keys; without any, those of the beginning. */
export function read(text: string | null): Column["key"][] {
  if (text === null) return first;
  const wanted = text.split(",");
  return columns.map((c) => c.key).filter((key) => wanted.includes(key));
}

export const shown = signal<Column["key"][]>(read(remembered(columnsKey)));
export const sorted = signal(remembered(sortKey) ?? "");

/** show adds a column or removes it. */
export function show(key: Column["key"], on: boolean): void {
  const next = columns.map((c) => c.key).filter((k) => (k === key ? on : shown.value.includes(k)));
  shown.value = next;
  remember(columnsKey, next.join());
}

export function rememberSort(sort: string): void {
  sorted.value = sort;
  remember(sortKey, sort);
}

/** turned is the order after a click on the header of a column: the best first, then the
 * other way round, then the newest first again. */
export function turned(sort: string, column: Column): string {
  const best = (column.high ? "-" : "") + column.key;
  const worst = (column.high ? "" : "-") + column.key;
  if (sort === best) return worst;
  return sort === worst ? "" : best;
}

/** cell writes the number of a run, with a star if it is a percentile of too few requests. */
export function cell(s: Summary | null | undefined, c: Column): string {
  return (
    format.number(s?.[c.key] as number | null | undefined) + (s?.unsupported_percentiles?.includes(c.key) ? "*" : "")
  );
}

/** The widths of columns in pixels at the font of tables: those that every row has, and one
 * number. */
const fixed = 726;
const each = 92;

/** fits reports whether so many columns of numbers stand beside the others in a table of this
 * width. Otherwise rows are cards, so that no number is outside the window. */
export function fits(width: number, numbers: number): boolean {
  return width >= fixed + each * numbers;
}

// Numbers, durations and dates as text.
import { embedded } from "./api/embedded";

export const absent = "–";

/** number writes three significant digits, or a whole number with separators. What is below
 * 1 has two. */
export function number(v: number | null | undefined): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return absent;
  const size = Math.abs(v);
  if (size >= 99.95) return grouped(v);
  if (size >= 9.995) return v.toFixed(1);
  if (size >= 0.995) return v.toFixed(2);
  if (size === 0) return "0";
  return size < 1e-4 ? v.toExponential(1) : v.toPrecision(2);
}

/** grouped writes a whole number with separators. A list has hundreds of them, and a formatter of the browser is
 * made anew for each. */
function grouped(v: number): string {
  return String(Math.round(v)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** plain writes a number that was given, not measured: without zeros at its end. */
export function plain(v: number): string {
  return Math.abs(v) >= 1000 ? v.toLocaleString("en-US") : trim(Number(v.toPrecision(6)).toString());
}

function trim(s: string): string {
  return s.includes(".") && !s.includes("e") ? s.replace(/\.?0+$/, "") : s;
}

/** ticks writes the numbers of an axis, all with the same decimals: 0.5, 1.0, 1.5; 1,000;
 * 120k. */
export function ticks(values: readonly (number | null)[]): string[] {
  const top = Math.max(0, ...values.map((v) => Math.abs(v ?? 0)));
  const [unit, suffix] = suffixes.find(([limit]) => top >= 100 * limit) ?? [1, ""];
  const digits = Math.max(0, ...values.map((v) => (v === null ? 0 : decimals(v / unit))));
  return values.map((v) => {
    if (v === null) return "";
    const text = (v / unit).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return v === 0 ? "0" : text.replace("-", "−") + suffix;
  });
}

/** short writes one number of an axis. */
export function short(v: number): string {
  return ticks([v])[0]!;
}

const suffixes: [number, string][] = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** decimals is how many digits after the point a round number has. */
function decimals(v: number): number {
  const text = Number(v.toPrecision(6)).toString();
  if (text.includes("e-")) return Math.min(9, Number(text.split("e-")[1]));
  return text.split(".")[1]?.length ?? 0;
}

/** duration writes milliseconds: 850 µs, 12.3 ms, 3,709 ms, 2 min 05 s. */
export function duration(ms: number): string {
  const size = Math.abs(ms);
  if (size >= 60_000) return seconds(ms / 1000);
  if (size >= 0.9995 || size === 0) return number(ms) + " ms";
  return number(ms * 1000) + " µs";
}

/** round writes the milliseconds of a tick of an axis, which are round: 500 µs, 30 ms, 1,000 ms. */
export function round(ms: number): string {
  const size = Math.abs(ms);
  if (size >= 100_000) return plain(Number((ms / 1000).toPrecision(6))) + " s";
  if (size >= 1 || size === 0) return plain(ms) + " ms";
  return plain(Number((ms * 1000).toPrecision(6))) + " µs";
}

export function count(v: number | null | undefined): string {
  return v === null || v === undefined ? absent : grouped(v);
}

export function percent(share: number | null | undefined): string {
  return share === null || share === undefined ? absent : number(100 * share) + " %";
}

/** seconds writes a duration: 850 ms, 12.3 s, 4 min 05 s, 2 h 03 min. */
export function seconds(v: number | null | undefined): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return absent;
  if (v < 0.9995) return number(v * 1000) + " ms";
  if (v < 59.95) return number(v) + " s";
  const whole = Math.round(v);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${pad(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${pad(Math.floor(whole / 60) % 60)} min`;
}

/** clock writes a point of the time axis: 45 s, 3:20, 1:05:00. */
export function clock(v: number): string {
  return v > -60 && v < 60 ? moment(Number(v.toFixed(1)), 1) : moment(v, 0);
}

/** clocks writes the ticks of a time axis, each with as many decimals as tell neighbors apart: 3:20.05. */
export function clocks(values: readonly (number | null)[]): string[] {
  const known = values.filter((v): v is number => v !== null);
  const apart = known.slice(1).map((v, i) => v - known[i]!);
  const digits = Math.max(0, ...(known.length > 1 ? [Math.min(...apart)] : known).map(decimals));
  return values.map((v) => (v === null ? "" : moment(v, Math.min(6, digits))));
}

/** moment writes seconds with at most so many decimals; from a minute on with exactly as many. */
function moment(v: number, digits: number): string {
  const t = Number(Math.abs(v).toFixed(digits));
  const sign = v < 0 && t > 0 ? "−" : "";
  if (t < 60) return `${sign}${plain(t)} s`;
  const rest = (t % 60).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  const minutes = Math.floor(t / 60);
  if (minutes < 60) return `${sign}${minutes}:${rest}`;
  return `${sign}${Math.floor(minutes / 60)}:${pad(minutes % 60)}:${rest}`;
}

function pad(v: number): string {
  return String(v).padStart(2, "0");
}

export function bytes(v: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (v >= 1024 && i < units.length - 1) {
    v /= 1024;
    i++;
  }
  return `${i === 0 ? v : number(v)} ${units[i]}`;
}

/** Formatters of dates, which are costly to make: of times of today, and of other days. */
const dates: Partial<Record<"today" | "other", Intl.DateTimeFormat>> = {};

/** date writes a time as the reader's calendar has it; today has only the time, except in
 * reports, which are kept. */
export function date(time: string | null | undefined): string {
  if (!time) return absent;
  const t = new Date(time);
  const sameDay = t.toDateString() === new Date().toDateString() && !embedded;
  if (sameDay) {
    dates.today ??= new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
    return dates.today.format(t);
  }
  dates.other ??= new Intl.DateTimeFormat(undefined, {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  });
  return dates.other.format(t);
}

/** spread writes how far a mean is known: "±4.91", or "0 to 179" if the interval, which knows nothing of what can be
 * measured, would go below zero. */
export function spread(e: { mean: number; low: number; high: number }): string {
  if (e.low < 0 && e.mean >= 0) return `0 to ${number(e.high)}`;
  return "±" + number((e.high - e.low) / 2);
}

/** signed writes a change in percent with its sign. */
export function signed(v: number | null | undefined): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return absent;
  if (Math.abs(v) < 0.05) return "±0 %";
  const size = Math.abs(v) < 10 ? Math.abs(v).toFixed(1) : number(Math.abs(v));
  return (v > 0 ? "+" : "−") + size + " %";
}

/** model is the name of a model without its organisation or folder, where there is little room. */
export function model(name: string): string {
  if (!/^[\w.@:+~/-]+$/.test(name)) return name; // it is no path
  return name.replace(/\/+$/, "").split("/").at(-1) || name;
}

/** cut returns at most so many characters of a text, and says if that is not all. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most - 1).trimEnd() + "…";
}

/** sentence returns a text that begins with a capital letter. */
export function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

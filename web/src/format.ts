// Numbers, durations and dates as text.
import { embedded } from "./api/embedded";

export const absent = "–";

/** number writes three significant digits, or a whole number with separators. */
export function number(v: number | null | undefined): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return absent;
  const size = Math.abs(v);
  if (size >= 1000) return Math.round(v).toLocaleString("en-US");
  if (size >= 100) return v.toFixed(0);
  if (size >= 10) return trim(v.toFixed(1));
  if (size >= 1) return trim(v.toFixed(2));
  if (size === 0) return "0";
  return trim(v.toPrecision(2));
}

function trim(s: string): string {
  return s.includes(".") && !s.includes("e") ? s.replace(/\.?0+$/, "") : s;
}

/** short writes a number for the tick of an axis: 1.2k, 30M. */
export function short(v: number): string {
  const size = Math.abs(v);
  for (const [limit, suffix] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (size >= limit) return trim((v / limit).toFixed(1)) + suffix;
  }
  return number(v);
}

export function count(v: number | null | undefined): string {
  return v === null || v === undefined ? absent : Math.round(v).toLocaleString("en-US");
}

export function percent(share: number | null | undefined): string {
  return share === null || share === undefined ? absent : number(100 * share) + " %";
}

/** seconds writes a duration: 850 ms, 12.3 s, 4 min 05 s, 2 h 03 min. */
export function seconds(v: number | null | undefined): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return absent;
  if (v < 1) return number(v * 1000) + " ms";
  if (v < 60) return number(v) + " s";
  const whole = Math.round(v);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${pad(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${pad(Math.floor(whole / 60) % 60)} min`;
}

/** clock writes a point of the time axis: 45 s, 3:20, 1:05:00. */
export function clock(v: number): string {
  const sign = v < 0 ? "−" : "";
  const t = Math.abs(v);
  if (t < 60) return sign + number(t) + " s";
  const whole = Math.round(t);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${sign}${minutes}:${pad(whole % 60)}`;
  return `${sign}${Math.floor(minutes / 60)}:${pad(minutes % 60)}:${pad(whole % 60)}`;
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

/** date writes a time as the reader's calendar has it; today has only the time, except in
 * reports, which are kept. */
export function date(time: string | null | undefined): string {
  if (!time) return absent;
  const t = new Date(time);
  const sameDay = t.toDateString() === new Date().toDateString() && !embedded;
  const options: Intl.DateTimeFormatOptions = sameDay
    ? { hour: "2-digit", minute: "2-digit", second: "2-digit" }
    : { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" };
  return t.toLocaleString(undefined, options);
}

/** signed writes a change in percent with its sign. */
export function signed(v: number | null | undefined): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return absent;
  if (Math.abs(v) < 0.05) return "±0 %";
  const size = Math.abs(v) < 10 ? Math.abs(v).toFixed(1) : number(Math.abs(v));
  return (v > 0 ? "+" : "−") + size + " %";
}

// What charts that draw for themselves have in common: a uPlot with its size, theme and axes.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import * as format from "../format";
import { dark, printing } from "../ui/theme";
import { type Color, color, token } from "./colors";

/** widthOf is the width of a chart in CSS pixels. On paper, two stand side by side on A4 and
 * letter: the element still has its width on the screen when they are drawn for it. */
export function widthOf(box: HTMLElement): number {
  if (!printing.value) return box.clientWidth;
  return box.closest(".whole") ? 672 : 328;
}

/** useChart keeps a chart in the element of the ref that it returns. The chart is made anew
 * when its shape or the theme changes; options are those of the first call since then, so
 * what changes with the data is read from a ref. */
export function useChart(
  height: number,
  shape: string,
  options: () => Partial<uPlot.Options>,
  data: uPlot.AlignedData,
): RefObject<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  // Before the next task, because a page is printed as soon as its handlers have returned.
  useLayoutEffect(() => {
    const within = box.current!;
    const u = new uPlot(
      { width: widthOf(within), height, legend: { show: false }, padding: [14, 16, 0, 0], series: [], ...options() },
      data,
      within,
    );
    chart.current = u;
    const resize = new ResizeObserver(() => u.setSize({ width: within.clientWidth, height }));
    if (!printing.value) resize.observe(within);
    return () => {
      resize.disconnect();
      u.destroy();
      chart.current = null;
    };
  }, [shape, height, dark.value, printing.value]);
  useEffect(() => chart.current?.setData(data), [data]);
  return box;
}

export function font(): string {
  return "11px " + token("--sans");
}

/** axes are the x axis below and the y axis to the left, with the texts of their ticks, and
 * which of them are logarithmic. */
export function axes(
  xText: (v: number) => string,
  yText: (v: number) => string,
  logX: boolean,
  logY: boolean,
): uPlot.Axis[] {
  const common = { stroke: token("--muted"), font: font(), ticks: { show: false }, gap: 4 };
  const texts = (text: (v: number) => string) => (_: uPlot, ticks: number[]) =>
    ticks.map((v: number | null) => (v === null ? "" : text(v)));
  return [
    { ...common, ...(logX ? logarithmic("x", 48) : {}), size: 26, grid: { show: false }, values: texts(xText) },
    {
      ...common,
      ...(logY ? logarithmic("y", 20) : {}),
      size: 50,
      grid: { stroke: token("--grid"), width: 1 },
      values: texts(yText),
    },
  ];
}

/** logarithmic are the ticks of an axis: round numbers, of which those have a text that have
 * so many pixels of room, powers of ten first. */
function logarithmic(scale: "x" | "y", room: number): uPlot.Axis {
  return {
    splits: (_u, _axis, low, high) => {
      const out = [];
      for (let power = 10 ** Math.floor(Math.log10(low)); power <= high && out.length < 400; power *= 10) {
        for (let m = 1; m < 10; m++)
          if (m * power >= low * 0.999 && m * power <= high * 1.001) out.push(Number((m * power).toPrecision(3)));
      }
      return out;
    },
    filter: (u, splits) => {
      const kept = new Set<number>(),
        places: number[] = [];
      for (const digits of ["1", "5", "2", "3", "7", "4", "6", "8", "9"]) {
        for (const v of splits) {
          if (v.toExponential()[0] !== digits) continue;
          const at = u.valToPos(v, scale);
          if (places.some((p) => Math.abs(p - at) < room)) continue;
          kept.add(v);
          places.push(at);
        }
      }
      return splits.map((v) => (kept.has(v) ? v : null));
    },
  };
}

/** grouped joins neighboring intervals until there are at most so many. */
export function grouped(
  bounds: readonly number[],
  counts: readonly number[],
  most: number,
): { bounds: number[]; counts: number[] } {
  const size = Math.ceil(counts.length / most);
  const starts = counts.map((_, i) => i).filter((i) => i % size === 0);
  return {
    bounds: [...starts.map((i) => bounds[i]!), bounds.at(-1)!],
    counts: starts.map((i) => counts.slice(i, i + size).reduce((sum, n) => sum + n, 0)),
  };
}

/** Mark is a vertical line. */
export interface Mark {
  label: string;
  value: number;
  color: Color;
}

/** drawMarks draws vertical lines with their labels at the top; a label that would lie on the
 * one before is left out. */
export function drawMarks(u: uPlot, marks: Mark[]): void {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  const px = devicePixelRatio;
  ctx.save();
  ctx.font = font().replace(/^(\d+)px/, (_, size) => size * px + "px");
  ctx.textBaseline = "bottom";
  ctx.textAlign = "center";
  ctx.setLineDash([4 * px, 3 * px]);
  let free = left;
  for (const m of marks) {
    const x = u.valToPos(m.value, "x", true);
    if (!(x >= left && x <= left + width)) continue;
    ctx.strokeStyle = ctx.fillStyle = color(m.color);
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    const half = ctx.measureText(m.label).width / 2;
    const at = Math.min(x, left + width - half);
    if (at - half < free) continue;
    ctx.fillText(m.label, at, top - px);
    free = at + half + 4 * px;
  }
  ctx.restore();
}

/** under returns the value of a scale under the cursor, null without one. */
export function under(u: uPlot, scale: "x" | "y"): number | null {
  const at = scale === "x" ? u.cursor.left : u.cursor.top;
  return at === undefined || at === null || at < 0 ? null : u.posToVal(at, scale);
}

/** place returns the index of the interval of ascending bounds that holds a value, -1 = none. */
export function place(bounds: readonly (number | null)[], v: number): number {
  let low = 0,
    high = bounds.length - 1;
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
  const out = bounds.map((b) => b ?? NaN);
  if (out[0] === 0) out[0] = out.length > 2 ? (out[1]! * out[1]!) / out[2]! : (out[1] || 1e-3) / 2;
  if (out.length === 2 && out[1] === 0) out[1] = 2 * out[0]!;
  return out;
}

/** duration writes milliseconds in the unit that suits them. */
export function duration(ms: number): string {
  const size = Math.abs(ms);
  if (size >= 60_000) return format.seconds(ms / 1000);
  if (size >= 1000) return format.number(ms / 1000) + " s";
  if (size >= 1 || size === 0) return format.number(ms) + " ms";
  return format.number(ms * 1000) + " µs";
}

// The foundation of all charts: a uPlot with its size, theme, axes and marks, and the point
// and the window that charts share.
import { type Signal, signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import * as format from "../format";
import { dark, printing } from "../ui/theme";
import { type Color, color, token } from "./colors";
import { linearTicks, logTicks } from "./scales";

/** Cursor is what charts share: the point under the pointer, and the part of the x axis that
 * is shown. */
export class Cursor {
  static made = 0;
  readonly key = "cursor" + Cursor.made++;
  /** value of the x axis under the pointer */
  readonly at: Signal<number | null> = signal(null);
  /** part of the x axis that the reader chose; null shows all of it */
  readonly zoom: Signal<[number, number] | null> = signal(null);
}

/** widthOf is the width of a chart in CSS pixels. On paper, two stand side by side on A4 and
 * letter: the element still has its width on the screen when they are drawn for it. */
function widthOf(box: HTMLElement): number {
  if (!printing.value) return box.clientWidth;
  return box.closest(".whole") ? 672 : 328;
}

export interface Spec {
  height: number;
  /** the chart is made anew when its shape changes */
  shape: string;
  cursor: Cursor;
  data: uPlot.AlignedData;
  /** range of the x axis without a zoom, of the range of the data */
  range: (low: number | null, high: number | null) => [number, number];
  /** what differs between kinds of charts; what changes with the data is read from a ref,
   * because options are those of the first call since the shape changed */
  options: () => Partial<uPlot.Options>;
  /** whether each line is shown; all without it */
  shown?: (line: number) => boolean;
}

/** useChart keeps a chart in the element of the ref that it returns. Out of view, new data
 * wait until it is seen. */
export function useChart(spec: Spec): RefObject<HTMLDivElement | null> {
  const { height, shape, cursor, data } = spec;
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const latest = useRef(spec);
  latest.current = spec;
  const seen = useRef(true);
  // Before the next task, because a page is printed as soon as its handlers have returned.
  useLayoutEffect(() => {
    const within = box.current!;
    const u = new uPlot(allOptions(latest, widthOf(within)), latest.current.data, within);
    chart.current = u;
    const resize = new ResizeObserver(() => u.setSize({ width: within.clientWidth, height }));
    if (!printing.value) resize.observe(within);
    const view = new IntersectionObserver(
      (entries) => {
        seen.current = entries.at(-1)!.isIntersecting;
        if (seen.current && u.data !== latest.current.data) u.setData(latest.current.data);
      },
      { rootMargin: "50px" },
    );
    view.observe(within);
    return () => {
      resize.disconnect();
      view.disconnect();
      u.destroy();
      chart.current = null;
    };
  }, [shape, height, cursor, dark.value, printing.value]);
  useEffect(() => {
    if (seen.current || printing.value) chart.current?.setData(data);
  }, [data]);
  const zoom = cursor.zoom.value;
  useEffect(() => chart.current?.setData(chart.current.data), [zoom]);
  const shown = data.slice(1).map((_, i) => spec.shown?.(i) ?? true);
  useEffect(() => {
    for (const [i, show] of shown.entries()) {
      if (chart.current?.series[i + 1] && chart.current.series[i + 1]!.show !== show) {
        chart.current.setSeries(i + 1, { show });
      }
    }
  }, [shown.join(), shape, dark.value]);
  return box;
}

/** allOptions puts the options of a kind of chart behind those that all charts have. */
function allOptions(latest: { current: Spec }, width: number): uPlot.Options {
  const { cursor, height, options } = latest.current;
  const own = options();
  const chosen = (u: uPlot) => {
    if (!(u.select.width > 2)) return;
    const { left, width: wide } = u.select;
    cursor.zoom.value = [u.posToVal(left, "x"), u.posToVal(left + wide, "x")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  };
  return {
    width,
    height,
    legend: { show: false },
    padding: [16, 16, 0, 0],
    ...own,
    series: own.series ?? [],
    cursor: {
      y: false,
      points: { size: 6 },
      ...own.cursor,
      sync: { key: cursor.key },
      drag: { x: true, y: false, setScale: false },
      bind: {
        dblclick: () => () => {
          cursor.zoom.value = null;
          return null;
        },
      },
    },
    scales: {
      ...own.scales,
      x: {
        time: false,
        ...own.scales?.x,
        range: (u, low, high) => {
          // uPlot itself widens the range of a single point, by up to 100.
          const [one, more] = u.data[0] ?? [];
          const single = one !== undefined && more === undefined;
          return cursor.zoom.peek() ?? latest.current.range(single ? one : low, single ? one : high);
        },
      },
    },
    hooks: {
      ...own.hooks,
      setSelect: [chosen],
      setCursor: [
        ...(own.hooks?.setCursor ?? []),
        (u) => {
          cursor.at.value = under(u, "x");
        },
      ],
    },
  };
}

export function font(): string {
  return "11px " + token("--sans");
}

/** Dash is how a line is broken, if it is. */
export type Dash = boolean | "dots";

/** dashes is the pattern of a line in pixels. */
export function dashes(of: Dash | undefined): number[] | undefined {
  if (of === "dots") return [1.5, 3];
  return of ? [5, 4] : undefined;
}

type Texts = (ticks: (number | null)[]) => string[];

/** each makes the texts of ticks of the text of one. */
export function each(text: (v: number) => string): Texts {
  return (ticks) => ticks.map((v) => (v === null ? "" : text(v)));
}

/** moments are the distances of ticks on an axis of time, in seconds: those of clocks. */
const moments = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
  10800, 21600, 43200, 86400, 604800,
];

/** axes are the x axis below and the y axis to the left, with the texts of their ticks, and
 * which of them are logarithmic. */
export function axes(x: Texts, y: Texts, logX: boolean, logY: boolean): uPlot.Axis[] {
  const common = { stroke: token("--muted"), font: font(), ticks: { show: false }, gap: 4 };
  const grid = { stroke: token("--grid"), width: 1 };
  return [
    {
      ...common,
      ...(logX ? logarithmic("x", 52) : {}),
      size: 26,
      grid: { show: false },
      space: apart(x),
      ...(x === format.clocks ? { incrs: [...moments] } : {}),
      values: (_, t) => x(t),
    },
    { ...common, ...(logY ? logarithmic("y", 20) : {}), size: room, grid, values: (_, t) => y(t) },
  ];
}

/** wholeNumbers lets an axis have ticks at whole numbers only. */
export const wholeNumbers: Partial<uPlot.Axis> = {
  splits: (u, _axis, low, high) => {
    const about = Math.max(1, Math.floor(u.bbox.width / devicePixelRatio / 60));
    return linearTicks(low, high, about).filter(Number.isInteger);
  },
};

/** apart is the distance of ticks with such texts. */
function apart(x: Texts): uPlot.Axis.Space {
  return (_u, _axis, low, high) => {
    // A tick has about as many digits as the range divided by ten.
    const unit = 10 ** Math.floor(Math.log10((high - low) / 10 || 1));
    const ends = [low, high].map((v) => Number((Math.round(v / unit) * unit).toPrecision(12)));
    return 16 + 6.2 * Math.max(4, ...x(ends).map((t) => t.length));
  };
}

/** room is the width of a y axis with such texts. */
const room: uPlot.Axis.Size = (_, texts) => {
  const longest = Math.max(3, ...(texts ?? []).map((t) => t?.length ?? 0));
  return Math.ceil(14 + 6.2 * longest);
};

/** logarithmic are the ticks of an axis: round numbers, of which those have a text that have
 * so many pixels of room, powers of ten first. */
function logarithmic(scale: "x" | "y", least: number): Partial<uPlot.Axis> {
  return {
    splits: (_u, _axis, low, high) => logTicks(low, high),
    filter: (u, splits) => {
      const kept = new Set<number>();
      const places: number[] = [];
      for (const digits of ["1", "5", "2", "3", "7", "4", "6", "8", "9"]) {
        for (const v of splits) {
          if (v.toExponential()[0] !== digits) continue;
          const at = u.valToPos(v, scale);
          if (places.some((p) => Math.abs(p - at) < least)) continue;
          kept.add(v);
          places.push(at);
        }
      }
      return splits.map((v) => (kept.has(v) ? v : null));
    },
  };
}

/** Mark is a horizontal line at a value, or a vertical one at a place of the x axis. */
export interface Mark {
  label: string;
  value: number;
  color: Color;
  vertical?: boolean;
  /** the label of a vertical line stands in the plot, because names of regions stand above it */
  inside?: boolean;
  /** it is a percentile of too few requests */
  few?: boolean;
}

/** drawMarks draws lines with their labels: of vertical ones above the plot or beside the line in it, of horizontal
 * ones above the line; a label that would lie on the one before is left out, or stands below it in the plot. A mark
 * without a label is a line. */
export function drawMarks(u: uPlot, marks: readonly Mark[]): void {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  const px = devicePixelRatio;
  ctx.save();
  ctx.font = scaled(font());
  ctx.textBaseline = "bottom";
  ctx.textAlign = "left"; // uPlot leaves that of its axes
  ctx.setLineDash([4 * px, 3 * px]);
  ctx.lineWidth = px;
  let free = left;
  const rows: number[] = []; // where the labels in the plot end, by row
  for (const m of marks) {
    ctx.strokeStyle = ctx.fillStyle = color(m.color);
    const at = Math.round(u.valToPos(m.value, m.vertical ? "x" : "y", true)) + 0.5;
    const wide = ctx.measureText(m.label).width;
    ctx.beginPath();
    if (m.vertical) {
      if (!(at >= left && at <= left + width)) continue;
      ctx.moveTo(at, top);
      ctx.lineTo(at, top + height);
      ctx.stroke();
      if (m.inside) {
        const from = besideLine(at, wide, left + width, 4 * px);
        const row = rows.findIndex((end) => end <= from);
        rows[row < 0 ? rows.length : row] = from + wide + 4 * px;
        if (m.label) halo(ctx, m.label, from, top + 13 * px * (row < 0 ? rows.length : row + 1));
        continue;
      }
      const from = Math.max(left, Math.min(at - wide / 2, left + width - wide));
      if (from < free) continue;
      ctx.fillText(m.label, from, top - 2 * px);
      free = from + wide + 4 * px;
    } else {
      if (!(at >= top && at <= top + height)) continue;
      ctx.moveTo(left, at);
      ctx.lineTo(left + width, at);
      ctx.stroke();
      halo(ctx, m.label, left + width - wide - 4 * px, at - 2 * px);
    }
  }
  ctx.restore();
}

/** besideLine is where a label begins that stands to the right of its line, or to the left if there is no room. */
export function besideLine(at: number, wide: number, right: number, gap: number): number {
  return at + gap + wide <= right ? at + gap : at - gap - wide;
}

/** halo writes a text that stays readable over lines. */
export function halo(ctx: CanvasRenderingContext2D, text: string, x: number, y: number): void {
  ctx.save();
  ctx.setLineDash([]);
  ctx.strokeStyle = token("--card");
  ctx.lineWidth = 3 * devicePixelRatio;
  ctx.lineJoin = "round";
  ctx.strokeText(text, x, y);
  ctx.fillText(text, x, y);
  ctx.restore();
}

/** Region is a part of the x axis. */
export interface Region {
  label: string;
  from: number;
  to: number;
  /** quiet parts do not belong to what is measured, and are shaded */
  quiet: boolean;
  /** partial parts were not measured for as long as the others, and are hatched */
  partial?: boolean;
}

/** drawRegions shades parts of the x axis and writes their names above the plot. */
export function drawRegions(u: uPlot, regions: readonly Region[]): void {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  const px = devicePixelRatio;
  const named = regions.filter((r) => r.label);
  ctx.save();
  ctx.font = scaled(font());
  ctx.textBaseline = "bottom";
  ctx.textAlign = "left"; // uPlot leaves that of its axes
  for (const r of regions) {
    const from = Math.max(left, u.valToPos(r.from, "x", true));
    const to = Math.min(left + width, u.valToPos(r.to, "x", true));
    if (!(to > from)) continue;
    ctx.fillStyle = r.partial ? hatch(ctx) : token("--region");
    if (r.quiet || r.partial) ctx.fillRect(from, top, to - from, height);
    if (named.length > 1 && r.label && to - from > ctx.measureText(r.label).width + 4 * px) {
      ctx.fillStyle = token("--muted");
      ctx.fillText(r.label, from, top - 2 * px);
    }
    if (named.length > 1 && r.label && from > left) {
      ctx.fillStyle = token("--line");
      ctx.fillRect(Math.round(from), top - 12 * px, px, height + 12 * px);
    }
  }
  ctx.restore();
}

/** hatch is a pattern of diagonal lines. */
function hatch(ctx: CanvasRenderingContext2D): CanvasPattern | string {
  const size = 6 * devicePixelRatio;
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const c = tile.getContext("2d");
  if (!c) return "transparent";
  c.strokeStyle = token("--line");
  c.lineWidth = devicePixelRatio;
  for (const shift of [-size, 0, size]) {
    c.moveTo(shift, size);
    c.lineTo(shift + size, 0);
  }
  c.stroke();
  return ctx.createPattern(tile, "repeat") ?? "transparent";
}

/** scaled is a font in pixels of the device. */
function scaled(text: string): string {
  return text.replace(/^(\d+)px/, (_, size) => size * devicePixelRatio + "px");
}

/** under returns the value of a scale under the cursor, null without one. */
export function under(u: uPlot, scale: "x" | "y"): number | null {
  const at = scale === "x" ? u.cursor.left : u.cursor.top;
  return at === undefined || at === null || at < 0 ? null : u.posToVal(at, scale);
}

// A uPlot chart as a component: size, theme, legend, shared cursor, bands and lines.
import { type Signal, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import * as format from "../format";
import { dark, printing } from "../ui/theme";
import { widthOf } from "./base";
import { type Color, color, token } from "./colors";

export type Column = (number | null)[];

export interface Line {
  label: string;
  values: Column;
  color: Color;
  dash?: boolean;
  fill?: boolean;
  /** a mark at each point; alone = without a line */
  points?: boolean | "alone";
  /** the line goes over points without a value */
  joined?: boolean;
  /** interval of each point */
  low?: Column;
  high?: Column;
}

export interface Mark {
  label: string;
  value: number;
  color: Color;
  /** at a value of the x axis */
  vertical?: boolean;
}

export interface Region {
  label: string;
  from: number;
  to: number;
  quiet: boolean;
}

interface Props {
  title: string;
  unit: string;
  x: number[];
  lines: Line[];
  /** text of a point of the x axis in the legend, and of a tick unless axisText is given */
  xText?: (v: number) => string;
  axisText?: (v: number) => string;
  /** horizontal lines, such as an objective */
  marks?: Mark[];
  regions?: Region[];
  log?: boolean;
  logX?: boolean;
  /** charts with the same cursor show the same point */
  cursor?: Cursor;
  height?: number;
  fromZero?: boolean;
}

/** Cursor is the point that charts share. */
export class Cursor {
  static made = 0;
  readonly key = "cursor" + Cursor.made++;
  readonly index: Signal<number | null> = signal(null);
}

export function Plot(props: Props): JSX.Element {
  const { title, unit, lines, height = 170 } = props;
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [own] = useState(() => new Cursor());
  const cursor = props.cursor ?? own;
  const shape = JSON.stringify([
    lines.map((l) => [l.label, l.color, l.dash, l.points]),
    props.log,
    props.logX,
    unit,
    dark.value,
    printing.value,
  ]);

  // Before the next task, because a page is printed as soon as its handlers have returned.
  useLayoutEffect(() => {
    const within = box.current!;
    const u = new uPlot(options(latest, cursor, widthOf(within), height), data(latest.current), within);
    chart.current = u;
    const resize = new ResizeObserver(() => u.setSize({ width: within.clientWidth, height }));
    if (!printing.value) resize.observe(within);
    return () => {
      resize.disconnect();
      u.destroy();
      chart.current = null;
    };
  }, [shape]);
  useEffect(() => chart.current?.setData(data(props)), [props.x, props.lines, props.marks, props.regions]);

  return (
    <figure class="chart">
      <figcaption>
        {title}
        {unit && <span class="muted">, {unit}</span>}
        <Legend props={props} cursor={cursor} />
      </figcaption>
      <div ref={box} class="plot" role="img" aria-label={summary(props)} />
    </figure>
  );
}

function data(props: Props): uPlot.AlignedData {
  return [props.x, ...props.lines.map((l) => l.values)] as uPlot.AlignedData;
}

/** Legend shows the values under the cursor, otherwise the last ones. */
function Legend({ props, cursor }: { props: Props; cursor: Cursor }): JSX.Element {
  const at = cursor.index.value;
  const x = at === null ? undefined : props.x[at];
  const text = props.xText ?? format.clock;
  return (
    <span class="legend">
      {x !== undefined && <span class="muted">{text(x)}</span>}
      {props.lines
        .map((l) => ({ ...l, paint: color(l.color) }))
        .map((l) => (
          <span key={l.label}>
            <i
              ref={(e) => {
                if (e) {
                  e.style.borderColor = l.paint;
                  e.style.borderTopStyle = l.dash ? "dashed" : "solid";
                }
              }}
            />
            {l.label} <b>{format.number(at === null ? last(l.values) : l.values[at])}</b>
          </span>
        ))}
    </span>
  );
}

function last(values: Column): number | null {
  for (let i = values.length - 1; i >= 0; i--) if (values[i] !== null) return values[i]!;
  return null;
}

/** summary describes a chart to those who do not see it. */
function summary(props: Props): string {
  const parts = props.lines.map((l) => {
    const known = l.values.filter((v): v is number => v !== null);
    if (known.length === 0) return `${l.label}: no values`;
    const [low, high] = known.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    return `${l.label}: ${format.number(low)} to ${format.number(high)}, last ${format.number(last(l.values))}`;
  });
  return `${props.title}, ${props.unit}. ${parts.join("; ")}`;
}

type Latest = { current: Props };

function options(latest: Latest, cursor: Cursor, width: number, height: number): uPlot.Options {
  const p = latest.current;
  const text = token("--muted"),
    grid = token("--grid");
  const font = "11px " + token("--sans");
  const axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } };
  const xText = p.axisText ?? p.xText ?? format.clock;
  return {
    width,
    height,
    legend: { show: false },
    padding: [8, 18, 0, 0],
    cursor: { sync: { key: cursor.key }, drag: { x: true, y: false }, points: { size: 6 }, y: false },
    scales: {
      x: {
        time: false,
        distr: p.logX ? 3 : 1,
        ...(p.lines.some((l) => l.points === "alone")
          ? { range: (_: uPlot, low: number, high: number) => inset(low, high) }
          : {}),
      },
      y: p.log ? { distr: 3 } : { range: (_, low, high) => range(latest.current, low, high) },
    },
    axes: [
      {
        ...axis,
        size: 26,
        gap: 4,
        grid: { show: false },
        values: (_, ticks) => ticks.map((v) => (v === null ? "" : xText(v))),
      },
      { ...axis, size: 46, gap: 4, values: (_, ticks) => ticks.map((v) => (v === null ? "" : format.short(v))) },
    ],
    series: [
      {},
      ...p.lines.map((l) => ({
        label: l.label,
        stroke: color(l.color),
        width: 1.5,
        dash: l.dash ? [4, 4] : undefined,
        fill: l.fill ? color(l.color) + "22" : undefined,
        spanGaps: l.joined ?? false,
        points: {
          show: l.points ? true : undefined,
          size: l.points === "alone" ? 8 : 5,
          fill: l.points === "alone" ? color(l.color) : undefined,
        },
        ...(l.points === "alone" ? { paths: () => null } : {}),
      })),
    ],
    hooks: {
      drawClear: [(u) => drawRegions(u, latest.current.regions ?? [], token("--region"), text, font)],
      draw: [(u) => drawIntervals(u, latest.current), (u) => drawMarks(u, latest.current.marks ?? [], font)],
      setCursor: [
        (u) => {
          cursor.index.value = u.cursor.idx ?? null;
        },
      ],
    },
  };
}

/** inset keeps single points off the edges. */
function inset(low: number, high: number): [number, number] {
  const margin = 0.04 * (high - low) || 1;
  return [Math.min(low, Math.max(low - margin, 0)), high + margin];
}

/** range keeps the lines of objectives in view, and starts at 0 unless told otherwise. */
function range(p: Props, low: number | null, high: number | null): [number, number] {
  const values = (p.marks ?? []).filter((m) => !m.vertical).map((m) => m.value);
  for (const l of p.lines) for (const v of l.high ?? []) if (v !== null) values.push(v);
  const top = Math.max(high ?? 0, ...values);
  const bottom = p.fromZero === false ? (low ?? 0) : Math.min(0, low ?? 0);
  return [bottom, top > bottom ? top + 0.08 * (top - bottom) : bottom + 1];
}

function drawRegions(u: uPlot, regions: Region[], fill: string, text: string, font: string): void {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  ctx.save();
  ctx.font = scaled(font);
  ctx.textAlign = "left";
  ctx.textBaseline = "top";
  for (const r of regions) {
    const from = Math.max(left, u.valToPos(r.from, "x", true)),
      to = Math.min(left + width, u.valToPos(r.to, "x", true));
    if (!(to > from)) continue;
    if (r.quiet) {
      ctx.fillStyle = fill;
      ctx.fillRect(from, top, to - from, height);
    }
    if (regions.length > 1 && to - from > ctx.measureText(r.label).width + 12 * devicePixelRatio) {
      ctx.fillStyle = text;
      ctx.fillText(r.label, from + 5 * devicePixelRatio, top + 2 * devicePixelRatio);
    }
  }
  ctx.restore();
}

/** drawIntervals draws a bar from low to high at each point that has an interval. */
function drawIntervals(u: uPlot, p: Props): void {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  const cap = 3 * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([]);
  for (const l of p.lines) {
    if (!l.low || !l.high) continue;
    ctx.strokeStyle = color(l.color);
    ctx.beginPath();
    p.x.forEach((v, i) => {
      const low = l.low![i],
        high = l.high![i];
      if (low === null || low === undefined || high === null || high === undefined) return;
      const x = u.valToPos(v, "x", true),
        from = u.valToPos(low, "y", true),
        to = u.valToPos(high, "y", true);
      ctx.moveTo(x, from);
      ctx.lineTo(x, to);
      for (const y of [from, to]) {
        ctx.moveTo(x - cap, y);
        ctx.lineTo(x + cap, y);
      }
    });
    ctx.stroke();
  }
  ctx.restore();
}

function drawMarks(u: uPlot, marks: Mark[], font: string): void {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  ctx.save();
  ctx.font = scaled(font);
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const m of marks) {
    if (m.vertical) {
      const x = u.valToPos(m.value, "x", true);
      if (!(x >= left && x <= left + width)) continue;
      ctx.strokeStyle = ctx.fillStyle = color(m.color);
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, top + height);
      ctx.stroke();
      ctx.fillText(m.label, x - 4 * devicePixelRatio, top + 14 * devicePixelRatio);
      continue;
    }
    const y = u.valToPos(m.value, "y", true);
    if (!(y >= top && y <= top + height)) continue;
    ctx.strokeStyle = ctx.fillStyle = color(m.color);
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    ctx.fillText(m.label, left + width - 4 * devicePixelRatio, y - 2 * devicePixelRatio);
  }
  ctx.restore();
}

function scaled(font: string): string {
  return font.replace(/^(\d+)px/, (_, size) => size * devicePixelRatio + "px");
}

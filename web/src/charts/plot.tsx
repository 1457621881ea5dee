// Lines and points over a common x axis.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import * as format from "../format";
import {
  axes,
  Cursor,
  type Dash,
  dashes,
  drawMarks,
  drawRegions,
  each,
  type Mark,
  type Region,
  useChart,
} from "./base";
import { type Color, color } from "./colors";
import { Frame, Key } from "./frame";
import { around, type Column, counting, fromZero, isolated, nearest, part, statistics, timeRange } from "./scales";

export { Cursor, type Mark, type Region } from "./base";
export type { Column } from "./scales";

export interface Line {
  label: string;
  values: Column;
  color: Color;
  dash?: Dash;
  fill?: boolean;
  /** a mark at each point; alone = without a line */
  points?: boolean | "alone";
  /** the legend has its largest point alone, because the mean of its points means nothing: that of percentiles */
  peak?: boolean;
  /** the legend has its last point alone: it is a sum of what was before */
  last?: boolean;
  /** the line goes over points without a value */
  joined?: boolean;
  /** interval of each point */
  low?: Column;
  high?: Column;
}

/** Dots are single values at places of their own, drawn below the lines. */
export interface Dots {
  label: string;
  x: readonly number[];
  y: Column;
  color: Color;
}

interface Props {
  title: string;
  unit: string;
  x: number[];
  lines: Line[];
  dots?: Dots;
  /** seconds that a point of the x axis stands for */
  step?: number;
  /** text of a point of the x axis in the legend, and of a tick unless axisText is given */
  xText?: (v: number) => string;
  axisText?: (v: number) => string;
  /** the lines are of different runs, so that each has a mean of its own points; otherwise a mean is given only if it is
   * of the points that the other lines have too */
  runs?: boolean;
  /** lines such as an objective or an event */
  marks?: Mark[];
  regions?: Region[];
  log?: boolean;
  logX?: boolean;
  /** charts with the same cursor show the same point and the same part of the x axis */
  cursor?: Cursor;
  height?: number;
  /** called with the point that is clicked; pages have links to the same elsewhere */
  pick?: (i: number) => void;
}

export function Plot(props: Props): JSX.Element {
  const { lines, height = 170 } = props;
  const latest = useRef(props);
  latest.current = props;
  const [own] = useState(() => new Cursor());
  const [only, setOnly] = useState<string | null>(null);
  const alone = lines.some((l) => l.label === only) ? only : null;
  const cursor = props.cursor ?? own;
  const data = useMemo(
    () => [props.x, ...lines.map((l) => l.values)] as uPlot.AlignedData,
    [props.x, lines, props.marks, props.regions, props.dots],
  );
  const box = useChart({
    height,
    cursor,
    data,
    shape: JSON.stringify([lines.map((l) => [l.label, l.color, l.dash, l.points]), props.log, props.logX]),
    options: () => options(latest),
    range: (low, high) => {
      const p = latest.current;
      if (!p.lines.some((l) => l.points === "alone")) return timeRange(low, high, p.step ?? 0);
      const [from, to] = around(low ?? 0, high ?? 0, 1);
      return [(low ?? 0) < 0 ? from : p.logX ? (low ?? 1) / 1.1 : Math.max(0, from), to];
    },
    shown: (i) => alone === null || lines[i]?.label === alone,
  });
  return (
    <Frame
      title={props.title}
      unit={props.unit}
      label={summary(props)}
      box={box}
      own={props.cursor ? undefined : own}
      onClick={props.pick && (() => props.pick!(closest(props.x, cursor.at.peek())))}
    >
      <Legend props={props} cursor={cursor} alone={alone} choose={(label) => setOnly(label === alone ? null : label)} />
    </Frame>
  );
}

interface LegendProps {
  props: Props;
  cursor: Cursor;
  alone: string | null;
  choose: (label: string) => void;
}

/** Legend shows the values under the pointer; otherwise mean and largest value of what is
 * shown, without the parts that are not measured or only in part. */
function Legend({ props, cursor, alone, choose }: LegendProps): JSX.Element {
  const at = cursor.at.value;
  const i = at === null ? -1 : nearest(props.x, at);
  const x = props.x[i];
  const counts = counting(props, cursor.zoom.value);
  const text = props.xText ?? format.clock;
  const partial = x !== undefined && props.regions?.some((r) => r.partial && x >= r.from && x < r.to);
  const value = (l: Line) => {
    if (x !== undefined) return <b>{format.number(l.values[i])}</b>;
    if (l.points === "alone") return null;
    const s = statistics(l.values, counts);
    if (!s) return <b>{format.absent}</b>;
    if (l.last) return <b>{format.number(l.values.findLast((v) => v !== null))}</b>;
    if (l.peak)
      return (
        <>
          up to <b>{format.number(s.max)}</b>
        </>
      );
    const range = partOf(l, props, counts);
    if (range)
      return (
        <>
          max <b>{format.number(s.max)}</b> {range}
        </>
      );
    return (
      <>
        mean <b>{format.number(s.mean)}</b> max <b>{format.number(s.max)}</b>
      </>
    );
  };
  return (
    <>
      {x !== undefined && (
        <span class="muted">
          {text(x)}
          {partial && ", in part"}
        </span>
      )}
      {props.lines.map((l) => (
        <Key
          key={l.label}
          label={l.label}
          color={l.color}
          dash={l.dash}
          dot={l.points === "alone"}
          text={value(l)}
          title={x === undefined && l.points !== "alone" ? explained(l, partOf(l, props, counts)) : undefined}
          shown={alone === null || alone === l.label}
          alone={alone === l.label}
          choose={props.lines.length > 1 ? () => choose(l.label) : undefined}
        />
      ))}
      {props.dots && <Key label={props.dots.label} color={props.dots.color} dot text="" shown alone={false} />}
    </>
  );
}

/** averaged reports whether the legend has the mean of a line, to be compared with those of others. A line that is
 * joined was read less often, which makes no part of it. */
function averaged(l: Line): boolean {
  return !l.peak && !l.last && !l.joined && l.points !== "alone";
}

/** partOf says in which part of the axis a line has points, if other lines have more: the mean of that part must not be
 * compared with theirs. Empty = it lacks none. */
function partOf(
  l: Line,
  { lines, x, step = 0, runs, xText = format.clock }: Pick<Props, "lines" | "x" | "step" | "runs" | "xText">,
  counts: (i: number) => boolean,
): string {
  if (runs || !averaged(l)) return "";
  const others = lines.filter((o) => o !== l && averaged(o)).map((o) => o.values);
  const found = part(l.values, others, counts);
  return found ? `from ${xText(x[found[0]]!)} to ${xText(x[found[1]]! + step)}` : "";
}

/** explained says what the legend has of a line. */
function explained(l: Line, range: string): string {
  if (l.last) return "Last point";
  if (range) return "Largest point; without a mean, because other lines have more points";
  return l.peak ? "Largest point of what is shown" : "Mean and largest point of what is shown";
}

/** closest is the point that is nearest to a place of the x axis. */
export function closest(x: readonly number[], at: number | null): number {
  const i = at === null ? 0 : Math.max(0, nearest(x, at));
  return i + 1 < x.length && x[i + 1]! - at! < at! - x[i]! ? i + 1 : i;
}

/** summary describes a chart to those who do not see it. */
export function summary(
  props: Pick<Props, "title" | "unit" | "lines" | "x" | "regions" | "step" | "runs" | "xText">,
): string {
  const counts = counting(props, null);
  const parts = props.lines.map((l) => {
    const known = l.values.filter((v): v is number => v !== null && v !== undefined);
    if (known.length === 0) return `${l.label}: no values`;
    const [low, high] = known.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    const mean = statistics(l.values, counts)?.mean;
    const range = `${l.label}: ${format.number(low)} to ${format.number(high)}`;
    if (l.last) return `${range}, at last ${format.number(known.at(-1))}`;
    const within = partOf(l, props, counts);
    if (within) return `${range} ${within}`;
    return l.peak ? range : `${range}, mean ${format.number(mean)}`;
  });
  return `${props.title}, ${props.unit}. ${parts.join("; ")}`;
}

type Latest = { current: Props };

function options(latest: Latest): Partial<uPlot.Options> {
  const p = latest.current;
  const lines = p.lines.map((l): uPlot.Series => {
    const paint = color(l.color);
    const single = l.points === "alone";
    return {
      label: l.label,
      stroke: paint,
      width: 1.5,
      dash: dashes(l.dash),
      fill: l.fill ? paint + "22" : undefined,
      spanGaps: l.joined ?? false,
      points: {
        show: !!l.points,
        size: single ? 8 : 5,
        fill: paint,
        filter: (_u, i, show) => (show ? null : isolated(latest.current.lines[i - 1]?.values ?? [])),
      },
      ...(single ? { paths: () => null } : {}),
    };
  });
  return {
    scales: {
      x: { distr: p.logX ? 3 : 1 },
      y: p.log ? { distr: 3 } : { range: (u, low, high) => fromZero(low, high, also(latest.current, u)) },
    },
    axes: axes(timely(p.axisText ?? p.xText), format.ticks, p.logX ?? false, p.log ?? false),
    series: [{}, ...lines],
    hooks: {
      drawClear: [(u) => drawRegions(u, latest.current.regions ?? []), (u) => drawDots(u, latest.current.dots)],
      draw: [(u) => drawIntervals(u, latest.current), (u) => drawMarks(u, latest.current.marks ?? [])],
    },
  };
}

/** timely are the texts of an axis, that of time unless there is another. */
function timely(text: Props["axisText"]) {
  return text ? each(text) : format.clocks;
}

/** also are values beside those of the lines that must be in view: objectives, the ends of
 * intervals, and single values. */
function also(p: Props, u: uPlot): number[] {
  const values = (p.marks ?? []).filter((m) => !m.vertical).map((m) => m.value);
  p.lines.forEach((l, i) => {
    if (u.series[i + 1]?.show === false) return;
    for (const v of l.high ?? []) if (v !== null && v !== undefined) values.push(v);
  });
  const { min = -Infinity, max = Infinity } = u.scales.x ?? {};
  let top = 0;
  p.dots?.x.forEach((x, i) => {
    if (x >= min && x <= max) top = Math.max(top, p.dots!.y[i] ?? 0);
  });
  return [...values, top];
}

function drawDots(u: uPlot, dots: Dots | undefined): void {
  if (!dots || u.scales.y?.max === undefined || u.scales.y.max === null) return;
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  const size = 2 * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.fillStyle = color(dots.color) + "90";
  dots.x.forEach((v, i) => {
    const y = dots.y[i];
    if (y === null || y === undefined) return;
    ctx.beginPath();
    ctx.arc(u.valToPos(v, "x", true), u.valToPos(y, "y", true), size, 0, 2 * Math.PI);
    ctx.fill();
  });
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
  p.lines.forEach((l, line) => {
    if (!l.low || !l.high || u.series[line + 1]?.show === false) return;
    ctx.strokeStyle = color(l.color);
    ctx.beginPath();
    p.x.forEach((v, i) => {
      const low = l.low![i];
      const high = l.high![i];
      if (low === null || low === undefined || high === null || high === undefined) return;
      const x = u.valToPos(v, "x", true);
      const from = u.valToPos(low, "y", true);
      const to = u.valToPos(high, "y", true);
      ctx.moveTo(x, from);
      ctx.lineTo(x, to);
      for (const y of [from, to]) {
        ctx.moveTo(x - cap, y);
        ctx.lineTo(x + cap, y);
      }
    });
    ctx.stroke();
  });
  ctx.restore();
}

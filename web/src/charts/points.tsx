// A few points against each other: with labels, intervals, limits, and a link behind each.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { ticks } from "../format";
import { go } from "../router";
import { axes, Cursor, each, font, halo, useChart } from "./base";
import { type Color, color, token } from "./colors";
import { Frame } from "./frame";

export type Kind = "plain" | "pass" | "fail" | "open" | "excluded";

export interface Point {
  x: number;
  y: number;
  low?: number;
  high?: number;
  /** interval of x */
  from?: number;
  to?: number;
  /** beside the point; empty = none */
  label: string;
  /** what it is, in the legend while the pointer is near */
  title: string;
  kind: Kind;
  /** is drawn faintly */
  faint?: boolean;
  href?: string;
}

export interface Group {
  label: string;
  color: Color;
  points: Point[];
  joined?: boolean;
  dash?: boolean;
  /** has no marks of its own: a line through points of other groups */
  bare?: boolean;
}

/** Limit is a line across the chart. */
export interface Limit {
  label: string;
  value: number;
  vertical?: boolean;
}

interface Props {
  title: string;
  xLabel: string;
  groups: Group[];
  limits?: Limit[];
  xText: (v: number) => string;
  yText: (v: number) => string;
  logX?: boolean;
  logY?: boolean;
  /** the x axis has its ticks at these values, the values of a sweep */
  ticks?: readonly number[];
  height?: number;
}

export const kinds: Record<Kind, { color: Color | null; text: string }> = {
  plain: { color: null, text: "" },
  pass: { color: "green", text: "within the limits" },
  fail: { color: "orange", text: "beyond a limit" },
  open: { color: "grey", text: "not decided" },
  excluded: { color: "grey", text: "excluded: distorted by the load generator" },
};

export function Points(props: Props): JSX.Element {
  const { groups, height = 280 } = props;
  const latest = useRef(props);
  latest.current = props;
  const [near, setNear] = useState<Point | null>(null);
  const shown = useRef<Point | null>(null);
  const data = useMemo(() => bounds(latest.current), [groups, props.limits, props.logX, props.logY]);
  const [cursor] = useState(() => new Cursor());
  const { logX = false, logY = false } = props;
  const box = useChart({
    height,
    cursor,
    data,
    shape: JSON.stringify([logX, logY, props.xLabel, Boolean(props.ticks)]),
    range: () => rangeOf(latest.current, "x"),
    options: () => ({
      scales: {
        x: { distr: logX ? 3 : 1 },
        y: { distr: logY ? 3 : 1, range: () => rangeOf(latest.current, "y") },
      },
      cursor: { points: { show: false }, x: false },
      axes: ticked(
        latest,
        axes(
          different((v) => latest.current.xText(v)),
          different((v) => latest.current.yText(v)),
          logX,
          logY,
        ),
      ),
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        draw: [(u) => draw(u, latest.current)],
        setCursor: [
          (u) => {
            const found = nearest(u, latest.current);
            if (found === shown.current) return;
            shown.current = found;
            u.over.style.cursor = found?.href ? "pointer" : "";
            setNear(found);
          },
        ],
        ready: [(u) => u.over.addEventListener("click", () => go(shown.current?.href))],
      },
    }),
  });
  const used = [...new Set(groups.flatMap((g) => g.points.map((p) => p.kind)))].filter((k) => k !== "plain");
  return (
    <Frame title={props.title} unit={"against " + props.xLabel} label={summary(props)} box={box} own={cursor} tall>
      {near ? (
        <span>
          {near.title}: {props.xText(three(near.x))} · <b>{props.yText(three(near.y))}</b>
        </span>
      ) : (
        <>
          {groups
            .filter((g) => g.label)
            .map((g) => (
              <span key={g.label}>
                <i
                  ref={(e) => {
                    if (e) {
                      e.style.borderColor = color(g.color);
                      e.style.borderTopStyle = g.dash ? "dashed" : "solid";
                    }
                  }}
                />
                {g.label}
              </span>
            ))}
          {used.map((k) => (
            <span key={k} class={"kind k-" + k}>
              {kinds[k].text}
            </span>
          ))}
        </>
      )}
    </Frame>
  );
}

/** different writes the ticks of an axis, with as many digits as tell them apart. */
export function different(text: (v: number) => string) {
  return (values: (number | null)[]): string[] => {
    const all = each(text)(values);
    const shown = all.filter(Boolean);
    if (new Set(shown).size === shown.length) return all;
    const unit = /[^\d.,]*$/.exec(shown[0]!)![0];
    return ticks(values).map((t) => t && t + unit);
  };
}

/** ticked puts the ticks of the x axis at the values that the chart names. */
function ticked(latest: { current: Props }, [x, y]: uPlot.Axis[]): uPlot.Axis[] {
  if (!latest.current.ticks) return [x!, y!];
  return [
    {
      ...x!,
      splits: (_u, _axis, low, high) => (latest.current.ticks ?? []).filter((v) => v >= low && v <= high),
      filter: (u, splits) =>
        apart(
          splits,
          splits.map((v) => u.valToPos(v, "x")),
          36,
        ),
    },
    y!,
  ];
}

/** apart keeps the ticks that are so many pixels from the one before, from the largest down; the others have no text. */
export function apart(splits: readonly number[], places: readonly number[], least: number): (number | null)[] {
  let last = Infinity;
  return splits
    .map((_, i) => {
      if (Math.abs(last - places.at(-1 - i)!) < least) return null;
      last = places.at(-1 - i)!;
      return splits.at(-1 - i)!;
    })
    .reverse();
}

/** three keeps three digits of what was measured. */
function three(v: number): number {
  return Number(v.toPrecision(3));
}

/** summary describes the chart to those who do not see it. */
function summary(p: Props): string {
  const parts = p.groups
    .filter((g) => !g.bare)
    .map((g) => {
      const all = g.points.map((q) => `${q.title}: ${p.xText(three(q.x))}, ${p.yText(three(q.y))}`);
      return (g.label ? g.label + ": " : "") + all.slice(0, 20).join("; ");
    });
  const limits = (p.limits ?? []).map((l) => `${l.label} at ${(l.vertical ? p.xText : p.yText)(l.value)}`);
  return [`${p.title} against ${p.xLabel}`, ...parts, ...limits].join(". ");
}

/** bounds are data that have the corners of the chart, so that there is something to scale; the hook draws. */
function bounds(p: Props): uPlot.AlignedData {
  const [x0, x1] = rangeOf(p, "x"),
    [y0, y1] = rangeOf(p, "y");
  return [
    [x0, x1],
    [y0, y1],
  ];
}

/** rangeOf is the range of an axis, with room for the marks and their labels. */
export function rangeOf(p: Pick<Props, "groups" | "limits" | "logX" | "logY">, axis: "x" | "y"): [number, number] {
  const points = p.groups.flatMap((g) => g.points);
  const values = points.flatMap((q) =>
    axis === "x" ? [q.x, q.from ?? q.x, q.to ?? q.x] : [q.y, q.low ?? q.y, q.high ?? q.y],
  );
  for (const l of p.limits ?? []) if ((l.vertical ?? false) === (axis === "x")) values.push(l.value);
  const log = axis === "x" ? p.logX : p.logY;
  const known = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  if (known.length === 0) return log ? [1, 10] : [0, 1];
  const low = Math.min(...known),
    high = Math.max(...known);
  if (log) {
    const room = axis === "x" ? 1.25 : 1.3;
    return [low / room, high * room];
  }
  if (axis === "x" && low > 0.5 * high) {
    // An axis of less than a twentieth of its values would make much of differences that are none.
    const apart = high - low;
    const room = apart === 0 ? 0.15 * high : Math.max(0.15 * apart, (0.05 * high - apart) / 2);
    return [low - room, high + room];
  }
  const span = high - Math.min(0, low) || 1;
  return [Math.min(0, low), high + 0.1 * span];
}

/** nearest is the point within 24 pixels of the pointer that is nearest to it. */
function nearest(u: uPlot, p: Props): Point | null {
  const { left, top } = u.cursor;
  if (left === undefined || left === null || left < 0 || top === undefined || top === null) return null;
  let best: Point | null = null,
    least = 24;
  for (const q of p.groups.flatMap((g) => (g.bare ? [] : g.points))) {
    const d = Math.hypot(u.valToPos(q.x, "x") - left, u.valToPos(q.y, "y") - top);
    if (d < least) [best, least] = [q, d];
  }
  return best;
}

type Box = [number, number, number, number];

function hasInterval(q: Point): q is Point & { low: number; high: number } {
  return q.low !== undefined && q.high !== undefined && q.high > q.low;
}

function wide(q: Point): q is Point & { from: number; to: number } {
  return q.from !== undefined && q.to !== undefined && q.to > q.from;
}

/** free reports whether a box touches none of those that are taken. */
export function free(box: Box, taken: readonly Box[]): boolean {
  return !taken.some((t) => box[0] < t[2] && box[2] > t[0] && box[1] < t[3] && box[3] > t[1]);
}

/** crosses reports whether a line from one point to another touches a box. */
export function crosses(box: Box, [x0, y0, x1, y1]: Box): boolean {
  // The part of the line that is between the sides of the box, as shares of its length.
  let [from, to] = [0, 1];
  for (const [start, along, low, high] of [
    [x0, x1 - x0, box[0], box[2]],
    [y0, y1 - y0, box[1], box[3]],
  ] as const) {
    if (along === 0) {
      if (start < low || start > high) return false;
      continue;
    }
    const [a, b] = [(low - start) / along, (high - start) / along];
    from = Math.max(from, Math.min(a, b));
    to = Math.min(to, Math.max(a, b));
  }
  return from <= to;
}

/** segments are the lines between the points of a group. */
function segments(u: uPlot, g: Group): Box[] {
  const at = g.points.map((q) => [u.valToPos(q.x, "x", true), u.valToPos(q.y, "y", true)] as const);
  return at.slice(1).map(([x, y], i) => [...at[i]!, x, y]);
}

function draw(u: uPlot, p: Props): void {
  const { ctx } = u;
  const px = devicePixelRatio;
  ctx.save();
  ctx.font = font().replace(/^(\d+)px/, (_, size) => size * px + "px");
  ctx.lineWidth = 1.5 * px;
  const taken: Box[] = [];
  for (const l of p.limits ?? []) drawLimit(u, l);
  for (const g of p.groups) if (g.joined) drawLine(u, g);
  const marked = p.groups.filter((g) => !g.bare);
  const at = marked.flatMap((g) =>
    g.points.map((q) => ({ q, g, x: u.valToPos(q.x, "x", true), y: u.valToPos(q.y, "y", true) })),
  );
  for (const { q, x, y } of at) {
    taken.push([x - 5 * px, y - 5 * px, x + 5 * px, y + 5 * px]);
    if (hasInterval(q)) {
      taken.push([x - 3 * px, u.valToPos(q.high, "y", true), x + 3 * px, u.valToPos(q.low, "y", true)]);
    }
    if (wide(q)) taken.push([u.valToPos(q.from, "x", true), y - 3 * px, u.valToPos(q.to, "x", true), y + 3 * px]);
  }
  for (const l of p.limits ?? []) nameLimit(u, l, taken);
  for (const l of p.limits ?? []) taken.push(lineOf(u, l));
  for (const { q, g, x, y } of at) {
    const paint = color(kinds[q.kind].color ?? g.color);
    ctx.globalAlpha = q.faint ? 0.35 : 1;
    ctx.strokeStyle = ctx.fillStyle = paint;
    if (hasInterval(q)) {
      const from = u.valToPos(q.low, "y", true),
        to = u.valToPos(q.high, "y", true);
      ctx.beginPath();
      ctx.moveTo(x, from);
      ctx.lineTo(x, to);
      for (const end of [from, to]) {
        ctx.moveTo(x - 3 * px, end);
        ctx.lineTo(x + 3 * px, end);
      }
      ctx.stroke();
    }
    if (wide(q)) {
      const ends = [u.valToPos(q.from, "x", true), u.valToPos(q.to, "x", true)];
      ctx.beginPath();
      ctx.moveTo(ends[0]!, y);
      ctx.lineTo(ends[1]!, y);
      for (const end of ends) {
        ctx.moveTo(end, y - 3 * px);
        ctx.lineTo(end, y + 3 * px);
      }
      ctx.stroke();
    }
    drawMark(ctx, q.kind, x, y, px);
  }
  ctx.globalAlpha = 1;
  ctx.fillStyle = token("--muted");
  const lines = p.groups.filter((g) => g.joined).flatMap((g) => segments(u, g));
  for (const { q, x, y } of at) if (q.label) drawLabel(u, q.label, x, y, taken, lines);
  ctx.restore();
}

/** drawMark draws a disk; a cross for what is beyond a limit, a diamond for what may be on either side of it, a ring for
 * what does not count, so that the marks can be told apart without colors. */
function drawMark(ctx: CanvasRenderingContext2D, kind: Kind, x: number, y: number, px: number): void {
  const r = 4 * px;
  ctx.beginPath();
  if (kind === "fail") {
    ctx.lineWidth = 2.2 * px;
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x - r, y + r);
    ctx.lineTo(x + r, y - r);
    ctx.stroke();
    ctx.lineWidth = 1.5 * px;
    return;
  }
  if (kind === "open") {
    ctx.moveTo(x, y - 1.3 * r);
    ctx.lineTo(x + 1.3 * r, y);
    ctx.lineTo(x, y + 1.3 * r);
    ctx.lineTo(x - 1.3 * r, y);
  } else ctx.arc(x, y, r, 0, 2 * Math.PI);
  if (kind === "excluded") ctx.stroke();
  else ctx.fill();
}

function drawLine(u: uPlot, g: Group): void {
  const { ctx } = u;
  const px = devicePixelRatio;
  ctx.strokeStyle = color(g.color);
  ctx.setLineDash(g.dash ? [4 * px, 4 * px] : []);
  ctx.beginPath();
  g.points.forEach((q, i) => {
    const x = u.valToPos(q.x, "x", true),
      y = u.valToPos(q.y, "y", true);
    if (i === 0) ctx.moveTo(x, y);
    else ctx.lineTo(x, y);
  });
  ctx.stroke();
  ctx.setLineDash([]);
}

/** lineOf is the line of a limit. */
function lineOf(u: uPlot, l: Limit): Box {
  const { left, top, width, height } = u.bbox;
  const at = u.valToPos(l.value, l.vertical ? "x" : "y", true);
  return l.vertical ? [at, top, at, top + height] : [left, at, left + width, at];
}

function drawLimit(u: uPlot, l: Limit): void {
  const { ctx } = u;
  const px = devicePixelRatio;
  const [fromX, fromY, toX, toY] = lineOf(u, l);
  ctx.strokeStyle = color("pink");
  ctx.setLineDash([6 * px, 4 * px]);
  ctx.beginPath();
  ctx.moveTo(fromX, fromY);
  ctx.lineTo(toX, toY);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** nameLimit writes what a line across the chart is: beside it, at the first of its ends where nothing is. */
function nameLimit(u: uPlot, l: Limit, taken: Box[]): void {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  const px = devicePixelRatio;
  const wide = ctx.measureText(l.label).width;
  const right = left + width - wide;
  const at = u.valToPos(l.value, l.vertical ? "x" : "y", true);
  const above = at - 4 * px;
  const y = above - 10 * px < top ? at + 13 * px : above;
  const beside = at + 4 * px < right ? at + 4 * px : at - 4 * px - wide;
  const places: [number, number][] = l.vertical
    ? [
        [beside, top + 10 * px],
        [beside, top + height - 6 * px],
      ]
    : [
        [right, y],
        [left + 4 * px, y],
        [right, at + 13 * px],
      ];
  const boxes = places.map(([x, base]): Box => [x, base - 10 * px, x + wide, base + 2 * px]);
  const i = Math.max(
    0,
    boxes.findIndex((box) => free(box, taken)),
  );
  ctx.fillStyle = color("pink");
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.fillText(l.label, ...places[i]!);
  taken.push(boxes[i]!);
}

/** drawLabel writes a label where it covers nothing: above, right, left or below its point, or between them; if there is
 * no such place, where it covers but a line; otherwise nowhere. */
function drawLabel(u: uPlot, text: string, x: number, y: number, taken: Box[], lines: readonly Box[]): void {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  const px = devicePixelRatio;
  const wide = ctx.measureText(text).width,
    high = 11 * px,
    gap = 7 * px;
  const places: [number, number][] = [
    [x - wide / 2, y - gap],
    [x + gap, y + 4 * px],
    [x - gap - wide, y + 4 * px],
    [x - wide / 2, y + gap + 8 * px],
    [x + gap, y - gap],
    [x - gap - wide, y - gap],
    [x + gap, y + gap + 8 * px],
    [x - gap - wide, y + gap + 8 * px],
  ];
  const boxes = places
    .map(([at, base]): Box => [at, base - high + 2 * px, at + wide, base + 2 * px])
    .filter((b) => b[0] >= left && b[2] <= left + width && b[1] >= top && b[3] <= top + height && free(b, taken));
  const box = boxes.find((b) => !lines.some((l) => crosses(b, l))) ?? boxes[0];
  if (!box) return;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  halo(ctx, text, box[0], box[3] - 2 * px);
  taken.push(box);
}

// How values are distributed over time: one column per interval of time, one row per
// interval of values, darker or brighter the more values fall there.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import * as format from "../format";
import { duration } from "../format";
import { dark } from "../ui/theme";
import { axes, Cursor, drawMarks, drawRegions, each, type Mark, type Region, under, useChart } from "./base";
import { Frame } from "./frame";
import { interval } from "./histogram";
import { grouped, place, positive } from "./scales";

interface Props {
  title: string;
  times: readonly number[];
  step: number;
  bounds: readonly (number | null)[];
  /** counts of the rows for each column */
  counts: readonly (readonly number[])[];
  /** the axis of values is logarithmic */
  log: boolean;
  /** of the charts that share the axis of time */
  cursor?: Cursor;
  /** the whole axis of time */
  range?: [number, number];
  regions?: Region[];
  marks?: Mark[];
}

/** Grid is a heat map whose bounds a logarithmic axis can show. */
type Grid = Omit<Props, "bounds"> & { bounds: number[] };

/** The palettes go from the background to the strongest contrast with it, monotonously in
 * lightness, so that they can be read with any color vision and on paper. */
const palettes = {
  light: ["#e4eef5", "#b7d5e8", "#74aed3", "#2f7fb8", "#0d5390", "#08284f"],
  dark: ["#1c3040", "#24506b", "#2c7c93", "#47ad9f", "#a2d27f", "#fbf3a0"],
};

/** steps of color between the palette's */
const shades = 64;

export function Heatmap(given: Props): JSX.Element {
  const props = useMemo(() => readable(given), [given.times, given.bounds, given.counts, given.log]);
  const latest = useRef(props);
  latest.current = props;
  const [own] = useState(() => new Cursor());
  const cursor = given.cursor ?? own;
  const [y, setY] = useState<number | null>(null);
  const { bounds, log } = props;
  const end = (props.times.at(-1) ?? 0) + props.step;
  const most = useMemo(
    () => props.counts.reduce((m, column) => column.reduce((a, b) => Math.max(a, b), m), 1),
    [props.counts],
  );
  // The values only keep the axes at the bounds; the hook draws.
  const data = useMemo(() => {
    const x = [...props.times, end];
    return [x, x.map((_, i) => (i % 2 === 0 ? bounds[0]! : bounds.at(-1)!))] as uPlot.AlignedData;
  }, [props.times, bounds]);
  const strongest = useRef(most);
  strongest.current = most;
  const box = useChart({
    height: 240,
    cursor,
    data,
    shape: String(log),
    range: (low, high) => given.range ?? [low ?? 0, high ?? 1],
    options: () => ({
      scales: {
        y: { distr: log ? 3 : 1, range: () => [latest.current.bounds[0]!, latest.current.bounds.at(-1)!] },
      },
      cursor: { points: { show: false } },
      axes: axes(format.clocks, each(format.round), false, log),
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        drawAxes: [
          (u) => draw(u, latest.current, strongest.current),
          (u) => drawRegions(u, latest.current.regions ?? []),
        ],
        draw: [(u) => drawMarks(u, latest.current.marks ?? [])],
        setCursor: [(u) => setY(under(u, "y"))],
      },
    }),
  });
  const from = props.times[0] ?? 0;
  const label =
    `${props.title} over time: heat map from ${format.clock(from)} to ${format.clock(end)}, ` +
    `values from ${interval(props.bounds, 0)} up to ${duration(bounds.at(-1) ?? 0)}`;
  return (
    <Frame title={props.title} label={label} box={box} own={given.cursor ? undefined : own} tall>
      <Under x={cursor.at.value} y={y} props={props} />
      <Scale most={most} />
    </Frame>
  );
}

/** readable has as many rows as the values of a column can fill. */
function readable(props: Props): Grid {
  const bounds = props.log ? positive(props.bounds) : props.bounds.map((b) => b ?? 0);
  const all = props.counts.reduce((sum, column) => sum + column.reduce((a, b) => a + b, 0), 0);
  const rows = Math.max(16, 6 * Math.cbrt(all / (props.counts.length || 1)));
  const columns = props.counts.map((counts) => grouped(bounds, counts, rows));
  return { ...props, bounds: columns[0]?.bounds ?? bounds, counts: columns.map((c) => c.counts) };
}

/** Under says what is under the cursor. */
function Under({ x, y, props }: { x: number | null; y: number | null; props: Grid }): JSX.Element | null {
  if (x === null) return null;
  const column = Math.floor((x - (props.times[0] ?? 0)) / props.step);
  const row = y === null ? -1 : place(props.bounds, y);
  const counts = props.counts[column];
  if (!counts) return null;
  const all = counts.reduce((sum, n) => sum + n, 0);
  const from = props.times[column]!;
  const time = `${format.clock(from)} to ${format.clock(from + props.step)}`;
  if (row < 0) {
    return (
      <span>
        {time} <b>{format.count(all)}</b> requests
      </span>
    );
  }
  return (
    <span>
      {time}, {interval(props.bounds, row)} <b>{format.count(counts[row])}</b> of {format.count(all)}
    </span>
  );
}

/** Scale is the legend of the colors. */
function Scale({ most }: { most: number }): JSX.Element {
  const paint = (canvas: HTMLCanvasElement | null) => {
    const ctx = canvas?.getContext("2d");
    if (!ctx) return;
    const colors = ramp();
    for (let i = 0; i < shades; i++) {
      ctx.fillStyle = colors[i]!;
      ctx.fillRect(i, 0, 1, 1);
    }
  };
  return (
    <span class="scale">
      1 <canvas key={String(dark.value)} ref={paint} width={shades} height={1} aria-hidden="true" />{" "}
      {format.count(most)} {most === 1 ? "request" : "requests"}
    </span>
  );
}

/** ramp returns the colors of counts from 1 to the largest. */
function ramp(): string[] {
  const stops = palettes[dark.value ? "dark" : "light"].map((hex) =>
    [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)),
  );
  return Array.from({ length: shades }, (_, i) => {
    const at = (i / (shades - 1)) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    const mixed = stops[k]!.map((v, c) => Math.round(v + (stops[k + 1]![c]! - v) * (at - k)));
    return `rgb(${mixed.join()})`;
  });
}

/** draw fills the cells. Colors grow with the logarithm of the count: a few slow requests
 * among thousands of fast ones must be seen. */
function draw(u: uPlot, { times, step, counts, bounds }: Grid, most: number): void {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  const colors = ramp();
  const y = bounds.map((b) => Math.round(u.valToPos(b, "y", true)));
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  times.forEach((t, i) => {
    const from = Math.round(u.valToPos(t, "x", true)),
      to = Math.round(u.valToPos(t + step, "x", true));
    counts[i]?.forEach((n, row) => {
      if (n === 0) return;
      const level = most > 1 ? Math.log(n) / Math.log(most) : 1;
      ctx.fillStyle = colors[Math.round(level * (shades - 1))]!;
      ctx.fillRect(from, y[row + 1]!, Math.max(1, to - from), Math.max(1, y[row]! - y[row + 1]!));
    });
  });
  ctx.restore();
}

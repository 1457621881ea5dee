// How values are distributed over time: one column per interval of time, one row per
// interval of values, darker or brighter the more values fall there.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import * as format from "../format";
import { dark } from "../ui/theme";
import { axes, duration, grouped, place, positive, under, useChart } from "./base";
import { interval } from "./histogram";

interface Props {
  title: string;
  times: readonly number[];
  step: number;
  bounds: readonly (number | null)[];
  /** counts of the rows for each column */
  counts: readonly (readonly number[])[];
}

/** Grid is a heat map whose bounds a logarithmic axis can show. */
type Grid = Props & { bounds: number[] };

/** The palettes go from the background to the strongest contrast with it, monotonously in
 * lightness, so that they can be read with any color vision and on paper. */
const palettes = {
  light: ["#e4eef5", "#b7d5e8", "#74aed3", "#2f7fb8", "#0d5390", "#08284f"],
  dark: ["#1c3040", "#24506b", "#2c7c93", "#47ad9f", "#a2d27f", "#fbf3a0"],
};

/** steps of color between the palette's */
const shades = 64;

export function Heatmap(given: Props): JSX.Element {
  const props = useMemo(() => readable(given), [given.times, given.bounds, given.counts]);
  const latest = useRef<Grid>(props);
  latest.current = props;
  const [at, setAt] = useState<[number, number] | null>(null);
  const bounds = props.bounds;
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
  const scale = useRef({ bounds, most });
  scale.current = { bounds, most };
  const box = useChart(
    240,
    "",
    () => ({
      scales: {
        x: { time: false, range: (_, low, high) => [low, high] },
        y: { distr: 3, range: () => [scale.current.bounds[0]!, scale.current.bounds.at(-1)!] },
      },
      cursor: { drag: { x: true, y: false }, points: { show: false } },
      axes: axes(format.clock, duration, false, true),
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        drawAxes: [(u) => draw(u, latest.current, scale.current)],
        setCursor: [
          (u) => {
            const x = under(u, "x"),
              y = under(u, "y");
            setAt(x === null || y === null ? null : [x, y]);
          },
        ],
      },
    }),
    data,
  );
  return (
    <figure class="chart">
      <figcaption>
        {props.title}
        <span class="legend">
          <Under at={at} props={props} />
          <Scale most={most} />
        </span>
      </figcaption>
      <div
        ref={box}
        class="plot tall"
        role="img"
        aria-label={`${props.title} over time: heat map from ${format.clock(props.times[0] ?? 0)} to ${format.clock(end)}, values from ${interval(props.bounds, 0)} up to ${duration(bounds.at(-1) ?? 0)}`}
      />
    </figure>
  );
}

/** readable has as many rows as the values of a column can fill. */
function readable(props: Props): Grid {
  const bounds = positive(props.bounds);
  const all = props.counts.reduce((sum, column) => sum + column.reduce((a, b) => a + b, 0), 0);
  const rows = Math.max(16, 6 * Math.cbrt(all / (props.counts.length || 1)));
  const columns = props.counts.map((counts) => grouped(bounds, counts, rows));
  return { ...props, bounds: columns[0]?.bounds ?? bounds, counts: columns.map((c) => c.counts) };
}

/** Under says what is under the cursor. */
function Under({ at, props }: { at: [number, number] | null; props: Grid }): JSX.Element | null {
  if (!at) return null;
  const column = Math.floor((at[0] - (props.times[0] ?? 0)) / props.step),
    row = place(props.bounds, at[1]);
  const counts = props.counts[column];
  if (!counts || row < 0) return null;
  const all = counts.reduce((sum, n) => sum + n, 0);
  const from = props.times[column]!;
  return (
    <span>
      {format.clock(from)} to {format.clock(from + props.step)}, {interval(props.bounds, row)}{" "}
      <b>{format.count(counts[row])}</b> of {format.count(all)}
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
      {format.count(most)}
      <span class="hidden-text"> values</span>
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
function draw(u: uPlot, { times, step, counts }: Grid, { bounds, most }: { bounds: number[]; most: number }): void {
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

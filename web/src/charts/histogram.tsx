// How values are distributed: how many fall into each interval.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import * as format from "../format";
import { axes, drawMarks, duration, grouped, type Mark, place, positive, under, useChart } from "./base";
import { color } from "./colors";

interface Props {
  title: string;
  bounds: readonly (number | null)[];
  counts: readonly number[];
  marks: Mark[];
  /** text of a value; with it the axis is linear */
  linear?: (v: number) => string;
}

export function Histogram(props: Props): JSX.Element {
  const latest = useRef(props);
  latest.current = props;
  const [at, setAt] = useState<number | null>(null);
  const all = props.counts.reduce((sum, n) => sum + n, 0);
  // Rice's rule says how many intervals so many values can fill without noise.
  const { bounds, counts } = useMemo(
    () =>
      grouped(
        props.linear ? props.bounds.map((b) => b ?? 0) : positive(props.bounds),
        props.counts,
        Math.max(24, 4 * Math.cbrt(all)),
      ),
    [props.bounds, props.counts],
  );
  const text = props.linear ?? duration;
  const data = useMemo(() => [bounds, [...counts, 0]] as uPlot.AlignedData, [bounds, counts]);
  const box = useChart(
    200,
    "",
    () => ({
      scales: {
        x: { time: false, distr: props.linear ? 1 : 3, range: (_, low, high) => [low, high > low ? high : low * 1.1] },
        y: { range: (_, _low, high) => [0, 1.05 * (high || 1)] },
      },
      cursor: { drag: { x: true, y: false }, points: { show: false }, y: false },
      axes: axes(text, format.short, !props.linear, false),
      series: [
        {},
        {
          stroke: color("blue"),
          fill: color("blue") + "55",
          width: 1,
          paths: uPlot.paths.stepped!({ align: 1 }),
          points: { show: false },
        },
      ],
      hooks: { draw: [(u) => drawMarks(u, latest.current.marks)], setCursor: [(u) => setAt(under(u, "x"))] },
    }),
    data,
  );
  const i = at === null ? -1 : place(bounds, at);
  return (
    <figure class="chart">
      <figcaption>
        {props.title}
        <span class="legend">
          {i >= 0 ? (
            <span>
              {interval(bounds, i, text)} <b>{format.count(counts[i])}</b> {format.percent(counts[i]! / all)}
            </span>
          ) : (
            <span>requests per interval</span>
          )}
        </span>
      </figcaption>
      <div
        ref={box}
        class="plot"
        role="img"
        aria-label={`${props.title}: histogram of ${format.count(all)} values, ${props.marks.map((m) => `${m.label} ${text(m.value)}`).join(", ")}`}
      />
    </figure>
  );
}

/** interval writes the bounds of an interval. */
export function interval(bounds: readonly (number | null)[], i: number, text = duration): string {
  return `${text(bounds[i] ?? 0)} to ${text(bounds[i + 1] ?? 0)}`;
}

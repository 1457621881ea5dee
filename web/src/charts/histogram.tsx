// How values are distributed: how many fall into each interval.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import * as format from "../format";
import { duration } from "../format";
import { axes, Cursor, drawMarks, each, type Mark, useChart, wholeNumbers } from "./base";
import { vertical, wide } from "./cdf";
import { color } from "./colors";
import { Frame } from "./frame";
import { grouped, place, positive } from "./scales";

interface Props {
  title: string;
  bounds: readonly (number | null)[];
  counts: readonly number[];
  marks: Mark[];
  /** the axis is logarithmic */
  log: boolean;
  /** values are numbers of tokens, not milliseconds */
  tokens?: boolean;
}

export function Histogram(props: Props): JSX.Element {
  const { log, tokens } = props;
  const latest = useRef(props);
  latest.current = props;
  const [cursor] = useState(() => new Cursor());
  const all = props.counts.reduce((sum, n) => sum + n, 0);
  // Rice's rule says how many intervals so many values can fill without noise.
  const { bounds, counts } = useMemo(() => {
    const ends = log ? positive(props.bounds) : props.bounds.map((b) => b ?? 0);
    return grouped(ends, props.counts, Math.max(24, 4 * Math.cbrt(all)));
  }, [props.bounds, props.counts, log]);
  const text = tokens ? format.count : duration;
  const data = useMemo(() => [bounds, [...counts, 0]] as uPlot.AlignedData, [bounds, counts]);
  const box = useChart({
    height: 200,
    cursor,
    data,
    shape: String(log),
    range: (low, high) => wide(low, high, log),
    options: () => {
      const [x, y] = axes(each(tokens ? format.plain : format.round), format.ticks, log, false);
      return {
        scales: { x: { distr: log ? 3 : 1 }, y: { range: (_, _low, high) => [0, 1.05 * (high || 1)] } },
        cursor: { points: { show: false } },
        axes: [{ ...x, ...(tokens ? wholeNumbers : {}) }, y!],
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
        hooks: { draw: [(u) => drawMarks(u, vertical(latest.current.marks))] },
      };
    },
  });
  const at = cursor.at.value;
  const i = at === null ? -1 : place(bounds, at);
  const marks = props.marks.map((m) => `${m.label} ${text(m.value)}${m.few ? "*" : ""}`).join(", ");
  return (
    <Frame
      title={props.title}
      label={`${props.title}: histogram of ${format.count(all)} values, ${marks}`}
      box={box}
      own={cursor}
    >
      {i >= 0 ? (
        <span>
          {interval(bounds, i, text)} <b>{format.count(counts[i])}</b> {format.percent(counts[i]! / all)}
        </span>
      ) : (
        <span>{log ? "requests per interval; intervals grow with the value" : "requests per interval"}</span>
      )}
    </Frame>
  );
}

/** interval writes the bounds of an interval. */
export function interval(bounds: readonly (number | null)[], i: number, text = duration): string {
  return `${text(bounds[i] ?? 0)} to ${text(bounds[i + 1] ?? 0)}`;
}

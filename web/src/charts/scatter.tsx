// Single values against each other.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type uPlot from "uplot";
import * as format from "../format";
import { axes, Cursor, each, under, useChart, wholeNumbers } from "./base";
import { type Color, color } from "./colors";
import { Frame } from "./frame";
import { around, beside, fromZero } from "./scales";

type Values = readonly (number | null)[];

interface Props {
  title: string;
  x: Values;
  y: Values;
  /** what the x axis shows, and whether it is numbers of tokens or seconds */
  xLabel: string;
  tokens: boolean;
  /** when the requests ended: the x axis if all values of x are equal */
  time: Values;
  log: boolean;
  color: Color;
}

/** against returns what the x axis can show: values, or the time if all of them are equal, with
 * a sentence that says so. */
export function against({ x, xLabel, tokens, time }: Pick<Props, "x" | "xLabel" | "tokens" | "time">): {
  x: Values;
  tokens: boolean;
  label: string;
  note: string;
} {
  const known = x.filter((v): v is number => v !== null);
  if (!tokens || known.some((v) => v !== known[0])) return { x, tokens, label: xLabel, note: `against ${xLabel}` };
  const note = known.length
    ? `all have ${format.count(known[0])} ${xLabel}: against time`
    : `no ${xLabel}: against time`;
  return { x: time, tokens: false, label: "time", note };
}

export function Scatter(props: Props): JSX.Element {
  const { log, title } = props;
  const [cursor] = useState(() => new Cursor());
  const [y, setY] = useState<number | null>(null);
  const axis = useMemo(() => against(props), [props.x, props.time, props.xLabel]);
  const data = useMemo(() => points(axis.x, props.y, axis.tokens, log), [axis, props.y, log]);
  const box = useChart({
    height: 220,
    cursor,
    data,
    shape: JSON.stringify([log, props.color, axis.label]),
    range: (low, high) => around(low ?? 0, high ?? 0, 1),
    options: () => {
      const [bottom, left] = axes(axis.tokens ? each(format.plain) : format.clocks, each(format.round), false, log);
      return {
        scales: {
          y: log
            ? { distr: 3, range: (_, low, high) => [(low ?? 1) / 1.1, (high ?? 10) * 1.1] }
            : { range: (_, low, high) => fromZero(low, high) },
        },
        cursor: { points: { show: false }, y: true },
        axes: [{ ...bottom, ...(axis.tokens ? wholeNumbers : {}) }, left!],
        series: [
          {},
          {
            paths: () => null,
            points: {
              show: true,
              size: 4,
              width: 0,
              fill: color(props.color) + "a0",
              stroke: color(props.color) + "00",
            },
          },
        ],
        hooks: { setCursor: [(u) => setY(under(u, "y"))] },
      };
    },
  });
  const at = cursor.at.value;
  const text = axis.tokens ? (v: number) => format.count(v) : format.clock;
  return (
    <Frame title={title} label={`${title} ${axis.note}: ${data[0].length} requests`} box={box} own={cursor}>
      {at !== null && y !== null ? (
        <span>
          {axis.label} {text(at)}, <b>{format.duration(y)}</b>
        </span>
      ) : (
        <span>{axis.note}</span>
      )}
    </Frame>
  );
}

/** points are the known pairs in the order of x. Requests with the same number of tokens stand
 * beside each other. */
function points(x: Values, y: Values, tokens: boolean, log: boolean): uPlot.AlignedData {
  const known: [number, number][] = [];
  x.forEach((v, i) => {
    const of = y[i];
    if (v === null || of === null || of === undefined || (log && of <= 0)) return;
    known.push([tokens ? beside(v, i) : v, of]);
  });
  known.sort((a, b) => a[0] - b[0]);
  return [known.map((p) => p[0]), known.map((p) => p[1])];
}

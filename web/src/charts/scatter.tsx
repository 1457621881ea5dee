// Single values against each other.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type uPlot from "uplot";
import { axes, under, useChart } from "./base";
import { type Color, color } from "./colors";

interface Props {
  title: string;
  x: readonly (number | null)[];
  y: readonly (number | null)[];
  xLabel: string;
  xText: (v: number) => string;
  yText: (v: number) => string;
  log: boolean;
  color: Color;
}

export function Scatter(props: Props): JSX.Element {
  const [at, setAt] = useState<[number, number] | null>(null);
  const data = useMemo(() => {
    // Requests with the same number of tokens stand beside each other, not on each other.
    const beside = (x: number | null, i: number) =>
      x === null || !Number.isInteger(x) ? x : x + 0.6 * (((i * 0.618034) % 1) - 0.5);
    const known = props.x
      .map((x, i) => [beside(x, i), props.y[i]] as const)
      .filter(
        (p): p is [number, number] => p[0] !== null && p[1] !== null && p[1] !== undefined && (p[1] > 0 || !props.log),
      );
    known.sort((a, b) => a[0] - b[0]);
    return [known.map((p) => p[0]), known.map((p) => p[1])] as uPlot.AlignedData;
  }, [props.x, props.y, props.log]);
  const box = useChart(
    220,
    JSON.stringify([props.log, props.color, props.xLabel]),
    () => ({
      scales: {
        x: {
          time: false,
          range: (_, low, high) => {
            const room = 0.02 * (high - low) || 1;
            return [low - room, high + room];
          },
        },
        y: props.log
          ? { distr: 3, range: (_, low, high) => [low / 1.1, high * 1.1] }
          : { range: (_, _low, high) => [0, 1.05 * (high || 1)] },
      },
      cursor: { drag: { x: true, y: true, uni: 20 }, points: { show: false } },
      axes: axes(props.xText, props.yText, false, props.log),
      series: [
        {},
        {
          paths: () => null,
          points: { show: true, size: 4, width: 0, fill: color(props.color) + "a0", stroke: color(props.color) + "00" },
        },
      ],
      hooks: {
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
          {at ? (
            <span>
              {props.xLabel} {props.xText(Math.round(at[0]))}, <b>{props.yText(at[1])}</b>
            </span>
          ) : (
            <span>against {props.xLabel}</span>
          )}
        </span>
      </figcaption>
      <div
        ref={box}
        class="plot"
        role="img"
        aria-label={`${props.title} against ${props.xLabel}: ${data[0].length} requests`}
      />
    </figure>
  );
}

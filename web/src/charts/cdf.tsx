// Cumulative distributions: which share of the values is at most so large, or larger.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import * as format from "../format";
import { axes, drawMarks, duration, type Mark, under, useChart } from "./base";
import { type Color, color } from "./colors";

export interface Curve {
  label: string;
  color: Color;
  dash?: boolean;
  /** number of the values */
  count: number;
  quantiles: readonly number[];
  /** values at the quantiles, ascending */
  values: readonly (number | null)[];
}

interface Props {
  title: string;
  curves: Curve[];
  marks?: Mark[];
  logX: boolean;
  /** show the share that is larger, on a logarithmic axis: the tail */
  tail: boolean;
  height?: number;
}

export function Cdf(props: Props): JSX.Element {
  const { curves, logX, tail, height = 200 } = props;
  const latest = useRef(props);
  latest.current = props;
  const [at, setAt] = useState<number | null>(null);
  const data = useMemo(() => table(curves, logX, tail), [curves, logX, tail]);
  const shape = JSON.stringify([curves.map((c) => [c.label, c.color, c.dash]), logX, tail]);
  const box = useChart(
    height,
    shape,
    () => ({
      scales: {
        x: { time: false, distr: logX ? 3 : 1, range: (_, low, high) => [low, high > low ? high : low * 1.1 + 1e-6] },
        y: tail ? { distr: 3, range: () => [least(latest.current.curves), 100] } : { range: [0, 100] },
      },
      cursor: { drag: { x: true, y: false }, points: { size: 6 }, y: false },
      axes: axes(duration, (v) => format.number(v) + " %", logX, tail),
      series: [
        {},
        ...curves.map((c) => ({
          label: c.label,
          stroke: color(c.color),
          width: 1.5,
          dash: c.dash ? [4, 4] : undefined,
          points: { show: false },
        })),
      ],
      hooks: { draw: [(u) => drawMarks(u, latest.current.marks ?? [])], setCursor: [(u) => setAt(under(u, "x"))] },
    }),
    data,
  );
  const text = (c: Curve) => {
    if (at === null) return `p50 ${duration(quantile(c, 0.5))} · p99 ${duration(quantile(c, 0.99))}`;
    const share = shareUpTo(c, at);
    return format.percent(tail ? 1 - share : share);
  };
  return (
    <figure class="chart">
      <figcaption>
        {props.title}
        <span class="legend">
          {at !== null && (
            <span class="muted">
              {tail ? "more than" : "at most"} {duration(at)}
            </span>
          )}
          {curves.map((c) => (
            <span key={c.label}>
              <i
                ref={(e) => {
                  if (e) {
                    e.style.borderColor = color(c.color);
                    e.style.borderTopStyle = c.dash ? "dashed" : "solid";
                  }
                }}
              />
              {c.label} <b>{text(c)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div
        ref={box}
        class="plot"
        role="img"
        aria-label={`${props.title}: cumulative distribution. ${curves.map((c) => `${c.label}: ${[0.5, 0.9, 0.99].map((q) => `p${100 * q} ${duration(quantile(c, q))}`).join(", ")}`).join("; ")}`}
      />
    </figure>
  );
}

/** least is the smallest share that means anything: half a value. */
function least(curves: Curve[]): number {
  return 100 / Math.min(20_000, Math.max(20, ...curves.map((c) => 2 * c.count)));
}

/** table has the shares of all curves at the values of each. */
function table(curves: Curve[], logX: boolean, tail: boolean): uPlot.AlignedData {
  const all = curves.flatMap((c) => c.values.filter((v): v is number => v !== null && (v > 0 || !logX)));
  const x = [...new Set(all)].sort((a, b) => a - b);
  return [
    x,
    ...curves.map((c) =>
      x.map((v) => {
        const share = shareUpTo(c, v);
        if (!tail) return 100 * share;
        return share < 1 ? 100 * (1 - share) : null;
      }),
    ),
  ];
}

/** shareUpTo returns which share of the values is at most v. */
export function shareUpTo({ quantiles, values }: Curve, v: number): number {
  let low = 0,
    high = values.length - 1;
  if (high < 0 || values[0] === null || v < values[0]!) return 0;
  if (v >= values[high]!) return 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle]! <= v) low = middle;
    else high = middle;
  }
  const width = values[high]! - values[low]!;
  return quantiles[low]! + (width > 0 ? ((v - values[low]!) / width) * (quantiles[high]! - quantiles[low]!) : 0);
}

/** quantile returns the value of one of the quantiles. */
export function quantile({ quantiles, values }: Pick<Curve, "quantiles" | "values">, q: number): number {
  return values[quantiles.findIndex((x) => Math.abs(x - q) < 1e-9)] ?? NaN;
}

// Cumulative distributions: which share of the values is at most so large, or larger.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import * as format from "../format";
import { duration } from "../format";
import { axes, Cursor, drawMarks, each, type Mark, useChart } from "./base";
import { type Color, color } from "./colors";
import { Frame, Key } from "./frame";
import { around } from "./scales";

export interface Curve {
  label: string;
  color: Color;
  dash?: boolean;
  /** number of the values */
  count: number;
  quantiles: readonly number[];
  /** values at the quantiles, ascending */
  values: readonly (number | null)[];
  /** whether there are too few requests for a percentile, if the chart has no mark of it */
  few?: (q: number) => boolean;
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
  const [cursor] = useState(() => new Cursor());
  const [only, setOnly] = useState<string | null>(null);
  const alone = curves.some((c) => c.label === only) ? only : null;
  const at = cursor.at.value;
  const data = useMemo(() => table(curves, logX, tail), [curves, logX, tail]);
  const box = useChart({
    height,
    cursor,
    data,
    shape: JSON.stringify([curves.map((c) => [c.label, c.color, c.dash, stepped(c)]), logX, tail]),
    range: (low, high) => wide(low, high, logX),
    options: () => ({
      scales: {
        x: { distr: logX ? 3 : 1 },
        y: tail ? { distr: 3, range: () => [least(latest.current.curves), 100] } : { range: [0, 100] },
      },
      axes: axes(
        each(format.round),
        each((v) => format.plain(v) + " %"),
        logX,
        tail,
      ),
      series: [
        {},
        ...curves.map((c) => ({
          label: c.label,
          stroke: color(c.color),
          width: 1.5,
          dash: c.dash ? [4, 4] : undefined,
          points: { show: false },
          ...(stepped(c) ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
        })),
      ],
      hooks: { draw: [(u) => drawMarks(u, vertical(latest.current.marks))] },
    }),
    shown: (i) => alone === null || curves[i]?.label === alone,
  });
  // A single curve has the percentiles of its marks, which are those of the tables.
  const percentile = (c: Curve, q: number) => {
    const mark = curves.length === 1 ? props.marks?.find((m) => m.label === `p${100 * q}`) : undefined;
    return duration(mark?.value ?? quantile(c, q)) + ((mark?.few ?? c.few?.(q)) ? "*" : "");
  };
  const text = (c: Curve) => {
    if (at === null) {
      return (
        <>
          p50 <b>{percentile(c, 0.5)}</b> p99 <b>{percentile(c, 0.99)}</b>
        </>
      );
    }
    const share = shareUpTo(c, at);
    return <b>{format.percent(tail ? 1 - share : share)}</b>;
  };
  const label = curves
    .map((c) => `${c.label}: ${[0.5, 0.9, 0.99].map((q) => `p${100 * q} ${percentile(c, q)}`).join(", ")}`)
    .join("; ");
  return (
    <Frame title={props.title} label={`${props.title}: cumulative distribution. ${label}`} box={box} own={cursor}>
      {at !== null && (
        <span class="muted">
          {tail ? "more than" : "at most"} {duration(at)}
        </span>
      )}
      {curves.map((c) => (
        <Key
          key={c.label}
          label={c.label}
          color={c.color}
          dash={c.dash}
          text={text(c)}
          shown={alone === null || alone === c.label}
          alone={alone === c.label}
          choose={curves.length > 1 ? () => setOnly(c.label === alone ? null : c.label) : undefined}
        />
      ))}
    </Frame>
  );
}

/** wide is a range that is never empty: equal values get a decade, or as much as they are. */
export function wide(low: number | null, high: number | null, log: boolean): [number, number] {
  if (low === null || high === null) return log ? [1, 10] : [0, 1];
  if (high > low) return [low, high];
  return log ? [low / 2, low * 2] : around(low, low, Math.abs(low) / 2 || 1);
}

/** vertical are marks of the x axis. */
export function vertical(marks: readonly Mark[] = []): Mark[] {
  return marks.map((m) => ({ ...m, vertical: true }));
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

/** stepped says whether the values are so few that a curve between two of them would show values that nobody measured. */
function stepped(c: Pick<Curve, "count">): boolean {
  return c.count < 200;
}

/** shareUpTo returns which share of the values is at most v. */
export function shareUpTo({ count, quantiles, values }: Curve, v: number): number {
  let low = 0,
    high = values.length - 1;
  if (high < 0 || values[0] === null || v < values[0]!) return 0;
  if (v >= values[high]!) return 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle]! <= v) low = middle;
    else high = middle;
  }
  if (stepped({ count })) return quantiles[low]!;
  const width = values[high]! - values[low]!;
  return quantiles[low]! + (width > 0 ? ((v - values[low]!) / width) * (quantiles[high]! - quantiles[low]!) : 0);
}

/** quantile returns the value of one of the quantiles. */
export function quantile({ quantiles, values }: Pick<Curve, "quantiles" | "values">, q: number): number {
  return values[quantiles.findIndex((x) => Math.abs(x - q) < 1e-9)] ?? NaN;
}

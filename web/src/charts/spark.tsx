// A line without axes, for rows of a table. It is read when the row comes into view.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { getJSON, type Run } from "../api/client";
import type { Timeseries } from "../api/timeseries";
import { regions } from "../state/overtime";
import { counting } from "./scales";

const width = 70,
  height = 20,
  points = 60;

const known = new Map<string, number[]>();
let queue: Promise<void> = Promise.resolve();

/** Sightings are what to do when an element comes into view; all lines share one observer. */
const sightings = new Map<Element, () => void>();
let observer: IntersectionObserver | null = null;

/** onSight calls a function once when an element comes into view; the function that it returns ends that. */
function onSight(element: Element, call: () => void): () => void {
  observer ??= new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      sightings.get(target)?.();
      forget(target);
    }
  });
  sightings.set(element, call);
  observer.observe(element);
  return () => forget(element);
}

function forget(element: Element): void {
  observer?.unobserve(element);
  sightings.delete(element);
}

/** idle ends when the page has nothing else to do. */
function idle(): Promise<unknown> {
  if (!("requestIdleCallback" in window)) return new Promise((done) => setTimeout(done, 100));
  return new Promise((done) => requestIdleCallback(done, { timeout: 2000 }));
}

/** rates returns the completed requests per second of a run, in at most 60 points. */
async function rates(run: Run): Promise<number[]> {
  const lasted = (Date.parse(run.ended_at ?? "") - Date.parse(run.started_at ?? "")) / 1000 || points;
  const step = Math.max(1, Math.ceil(lasted / points));
  const s = await getJSON<Timeseries>(`api/runs/${run.id}/timeseries?metric=requests_completed&step=${step}s`);
  return whole(s).map((v) => v ?? 0);
}

/** whole are the rates without the points that were measured in part only: the last would look
 * like a collapse. */
export function whole(s: Timeseries): readonly (number | null | undefined)[] {
  const counts = counting({ x: s.time_sec, regions: regions(s).filter((r) => r.partial) }, null);
  return (s.series.requests_completed?.values.rate ?? []).filter((_, i) => counts(i));
}

interface Props {
  run: Run;
  /** ends when the page has read what is more urgent */
  turn: () => Promise<unknown>;
}

/** Spark draws the request rate of a run that has ended. */
export function Spark({ run, turn }: Props): JSX.Element {
  const box = useRef<HTMLSpanElement>(null);
  const [values, setValues] = useState<number[] | undefined>(() => known.get(run.id));
  useEffect(() => {
    if (values || !run.ended_at || !run.started_at || run.kind === "sweep") return;
    let wanted = true;
    const end = onSight(box.current!, () => {
      // One at a time, and after the list itself: lines are no hurry.
      queue = queue.then(async () => {
        if (!wanted) return;
        await turn();
        await idle();
        if (!wanted) return;
        const got = await rates(run).catch(() => []);
        known.set(run.id, got);
        if (wanted) setValues(got);
      });
    });
    return () => {
      wanted = false;
      end();
    };
  }, [run.id, run.ended_at]);
  return (
    <span ref={box} class="spark">
      {values && values.length > 1 && <Line values={values} />}
    </span>
  );
}

function Line({ values }: { values: number[] }): JSX.Element {
  const top = Math.max(...values, 1e-9);
  const at = values.map(
    (v, i) => `${((i / (values.length - 1)) * width).toFixed(1)},${(height - 1 - (v / top) * (height - 2)).toFixed(1)}`,
  );
  return (
    <svg
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label="Completed requests per second during the run"
    >
      <polyline points={`0,${height} ${at.join(" ")} ${width},${height}`} class="area" />
      <polyline points={at.join(" ")} />
    </svg>
  );
}

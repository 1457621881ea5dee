// One request over its time: its steps, every chunk, and the gaps between chunks.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Schemas } from "../api/client";
import * as format from "../format";
import { duration } from "../format";
import "./timeline.css";

type Slow = Schemas["wire.SlowRequest"];

/** Step is one segment of the bar, in milliseconds since the start of the request. */
interface Step {
  name: string;
  text: string;
  from: number;
  to: number;
}

/** steps divides the time of a request. The kernel may report the first byte before the
 * client knows that its last write is done, so times are put in order. */
function steps(q: Slow): Step[] {
  const t = q.timeline;
  const last = t.chunks_ms.length === t.chunk_count ? (t.chunks_ms.at(-1) ?? null) : q.request_latency;
  const ends: [string, string, number | null][] = [
    ["wait", "waited for its turn", Math.min(0, t.due_ms ?? 0) < 0 ? 0 : null],
    ["connect", q.connection.reused ? "connection" : "opening a connection", t.connected_ms],
    ["send", "sending", t.sent_ms],
    ["server", "until the first byte", t.first_byte_ms],
    ["prefill", "until the first token", t.chunks_ms[0] ?? null],
    ["stream", "streaming", last],
    ["rest", q.error_class ? "until it failed" : "until the end", t.end_ms],
  ];
  const out: Step[] = [];
  let at = Math.min(0, t.due_ms ?? 0);
  for (const [name, text, end] of ends) {
    if (end === null || end <= at) continue;
    out.push({ name, text, from: at, to: end });
    at = end;
  }
  return out;
}

const barHeight = 22,
  gapHeight = 46,
  tickTop = barHeight + 6,
  gapTop = tickTop + 12,
  axisTop = gapTop + gapHeight + 4,
  whole = axisTop + 16;

export function Timeline({ q }: { q: Slow }): JSX.Element {
  const t = q.timeline;
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  const [at, setAt] = useState<number | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(Math.max(200, box.current?.clientWidth ?? 600)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const parts = steps(q);
  const chunks = t.chunks_ms.filter((c): c is number => c !== null);
  const gaps = chunks.slice(1).map((c, i) => c - chunks[i]!);
  const longest = gaps.reduce((m, g) => Math.max(m, g), 0);
  const from = parts[0]?.from ?? 0,
    to = parts.at(-1)?.to ?? 1;
  const x = (ms: number) => ((ms - from) / (to - from || 1)) * (width - 2) + 1;
  const move = (e: MouseEvent) => {
    const rect = (e.currentTarget as Element).getBoundingClientRect();
    setAt(from + ((e.clientX - rect.left - 1) / (rect.width - 2)) * (to - from));
  };
  return (
    <div class="timeline">
      <ul class="steps">
        {parts.map((p) => (
          <li key={p.name}>
            <i class={"seg-" + p.name} />
            {p.text} <b>{duration(p.to - p.from)}</b>
          </li>
        ))}
        {longest > 0 && (
          <li class="muted">
            longest gap between chunks <b>{duration(longest)}</b>
          </li>
        )}
      </ul>
      <div ref={box} class="strip">
        <svg
          width={width}
          height={whole}
          role="img"
          aria-label={parts.map((p) => `${p.text} ${duration(p.to - p.from)}`).join(", ")}
          onMouseMove={move}
          onMouseLeave={() => setAt(null)}
        >
          {parts.map((p) => (
            <rect
              key={p.name}
              class={"seg-" + p.name}
              x={x(p.from)}
              y={0}
              width={Math.max(1, x(p.to) - x(p.from))}
              height={barHeight}
              rx={2}
            />
          ))}
          {parts
            .filter((p) => x(p.to) - x(p.from) > 9 * duration(p.to - p.from).length)
            .map((p) => (
              <text
                key={p.name}
                class={"in-" + p.name}
                x={(x(p.from) + x(p.to)) / 2}
                y={barHeight / 2 + 4}
                text-anchor="middle"
              >
                {duration(p.to - p.from)}
              </text>
            ))}
          <path class="ticks" d={chunks.map((c) => `M${x(c).toFixed(1)} ${tickTop}v8`).join("")} />
          {longest > 0 && (
            <path
              class="gaps"
              d={gaps
                .map(
                  (g, i) =>
                    `M${x(chunks[i]!).toFixed(1)} ${gapTop + gapHeight}V${(gapTop + gapHeight * (1 - g / longest)).toFixed(1)}H${x(chunks[i + 1]!).toFixed(1)}V${gapTop + gapHeight}Z`,
                )
                .join("")}
            />
          )}
          <line class="base" x1={1} x2={width - 1} y1={axisTop - 4} y2={axisTop - 4} />
          {ticks(from, to, width).map((v) => (
            <text
              key={v}
              x={x(v)}
              y={axisTop + 11}
              text-anchor={x(v) < 20 ? "start" : x(v) > width - 30 ? "end" : "middle"}
            >
              {duration(v)}
            </text>
          ))}
          {at !== null && <line class="cursor" x1={x(at)} x2={x(at)} y1={0} y2={axisTop - 4} />}
        </svg>
      </div>
      <p class="muted readout">
        {at === null
          ? "Bar: steps. Ticks: chunks. Below: the gap after each chunk, by its height."
          : what(at, parts, chunks)}
        {t.chunk_count > chunks.length &&
          ` The first ${format.count(chunks.length)} of ${format.count(t.chunk_count)} chunks are shown.`}
      </p>
      <details>
        <summary>As text</summary>
        <ul>
          {parts.map((p) => (
            <li key={p.name}>
              {p.text}: {duration(p.from)} to {duration(p.to)}
            </li>
          ))}
        </ul>
        {chunks.length > 0 && (
          <p class="chunks" tabIndex={0}>
            Chunks, in ms after the start: {chunks.map((c) => c.toFixed(1)).join(", ")}
            {t.chunk_count > chunks.length && " …"}
          </p>
        )}
      </details>
    </div>
  );
}

/** what says what happened at a time. */
function what(at: number, parts: Step[], chunks: number[]): string {
  const step = parts.find((p) => at >= p.from && at <= p.to);
  const i = chunks.findIndex((c) => c > at);
  const texts = [duration(at) + " after the start", step?.text];
  const number = i < 0 ? chunks.length : i;
  if (number > 0) texts.push(`${number} of ${chunks.length} chunks`);
  if (i > 0) texts.push(`gap of ${duration(chunks[i]! - chunks[i - 1]!)}`);
  return texts.filter(Boolean).join(" · ");
}

/** ticks returns round times, at most one per 90 pixels. */
function ticks(from: number, to: number, width: number): number[] {
  const least = ((to - from) * 90) / width;
  const power = 10 ** Math.floor(Math.log10(least || 1));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= least)!;
  const out: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to && out.length < 50; t += step)
    out.push(Math.abs(t) < step / 2 ? 0 : Number(t.toPrecision(6)));
  return out;
}

// The answer of a comparison of two servers that got the same requests at the same time: the verdict, the change of
// each metric with its interval, what was known after each block, and what would decide it.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Run, Schemas } from "../api/client";
import { type Line, type Mark, Plot } from "../charts/plot";
import * as format from "../format";
import { link } from "../router";
import { change, interval, verdictWords } from "../state/judgement";
import { metricName } from "../state/sweep";
import { useReading } from "../ui/lazy";
import { Card } from "../ui/parts";
import "./compare.css";
import "./sweep.css";

type Answer = Schemas["results.Answer"];
type Paired = Schemas["results.Paired"];
type Metric = Schemas["results.PairedMetric"];
type Side = Schemas["results.PairedSide"];

export function PairedAnswer({ run, live }: { run: Run; live: boolean }): JSX.Element | null {
  const { value: answer } = useReading<Answer>(`api/runs/${run.id}/answer`, live);
  if (!answer?.paired) return null;
  const p = answer.paired;
  return (
    <>
      <Card title={answer.final ? "Answer" : "Answer so far"} class="answer judgement paired">
        <p class="headline">
          <span class={"pill verdict-" + answer.verdict}>{verdictWords[answer.verdict]}</span>
          <strong>{answer.sentences[0]}</strong>
        </p>
        {answer.sentences.slice(1).map((text) => (
          <p key={text}>{text}</p>
        ))}
        {answer.doubts.length > 0 && (
          <div class="doubts">
            <h3>Doubts</h3>
            <ul>
              {answer.doubts.map((d) => (
                <li key={d.code + d.message}>{format.sentence(d.message)}.</li>
              ))}
            </ul>
          </div>
        )}
        {answer.decide.needs && (
          <p>
            <b>What would decide it:</b> {answer.decide.needs}.
          </p>
        )}
        <Metrics of={p} valid={answer.verdict !== "invalid"} />
        <Sides of={p.sides} live={live} />
        <p class="muted">
          {format.count(p.pairs)} {p.pairs === 1 ? "pair" : "pairs"} in {format.count(p.blocks.length)}{" "}
          {p.blocks.length === 1 ? "block" : "blocks"} of {format.plain(p.block_sec)} s at least. All intervals together
          hold with {format.plain(100 * p.level)} %, whenever they are looked at, from block {p.first_look} on. The
          answer is about {answer.speaks_for}. {answer.stop.text ? `${format.sentence(answer.stop.text)}.` : ""}
        </p>
      </Card>
      <Course of={p} />
    </>
  );
}

/** pointed says whether changes of a metric are differences in percentage points. */
function pointed(m: Metric) {
  return { points: m.unit === "points", low: m.low, high: m.high };
}

/** Metrics calls nothing better or worse if the answer is that there is none. */
function Metrics({ of: p, valid }: { of: Paired; valid: boolean }): JSX.Element {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Change of each metric from A to B">
      <table class="values">
        <thead>
          <tr>
            <th class="text">From A to B</th>
            <th>Change</th>
            <th>Interval</th>
            <th>Margin</th>
            <th title="Change that as many blocks find in 80 % of cases">Detectable</th>
            <th title="Share of the pairs in which B was faster">B faster in</th>
            <th title="Change of each side from the first to the last block">Drift of A, B</th>
            <th class="text">B is</th>
          </tr>
        </thead>
        <tbody>
          {p.metrics.map((m) => (
            <tr key={m.tag}>
              <td class="text">{format.sentence(metricName(m.tag))}</td>
              <td data-label="Change">{change(pointed(m), m.change)}</td>
              <td data-label="Interval">
                {m.low === null && m.change !== null ? `after ${p.first_look} blocks` : interval(pointed(m))}
              </td>
              <td data-label="Margin">{change(pointed(m), m.margin).replace("+", "±")}</td>
              <td data-label="Detectable">{change(pointed(m), m.detectable).replace("+", "±")}</td>
              <td data-label="B faster in">
                {m.share_won_by_b === null ? format.absent : format.percent(m.share_won_by_b)}
              </td>
              <td data-label="Drift of A, B">
                {m.drift_a_pct === null || m.drift_b_pct === null
                  ? format.absent
                  : `${format.signed(m.drift_a_pct)}, ${format.signed(m.drift_b_pct)}`}
              </td>
              <td class={"text judged" + (valid ? " " + m.verdict : "")} data-label="B is">
                {valid ? verdictWords[m.verdict] : "no answer"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Sides names the two servers. Their runs are known once they have ended. */
function Sides({ of: sides, live }: { of: Side[]; live: boolean }): JSX.Element {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="The two servers">
      <table class="values">
        <thead>
          <tr>
            <th class="text">Server</th>
            <th class="text">Address, model</th>
            <th>Failed requests</th>
            <th title="Mean time between when a request was due and its first byte">Sent late by</th>
          </tr>
        </thead>
        <tbody>
          {sides.map((s) => (
            <tr key={s.name}>
              <td class="text">{s.run_id ? <a href={link("runs/" + s.run_id)}>{s.name}</a> : s.name}</td>
              <td class="text wrap" data-label="Address, model">
                {[...s.targets, ...s.models].join(", ") || (live ? "named when its run has ended" : format.absent)}
              </td>
              <td data-label="Failed requests" class={s.failed ? "bad" : undefined}>
                {format.count(s.failed)}
              </td>
              <td data-label="Sent late by">{format.duration(s.send_lag_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Course draws what was known after each block. */
function Course({ of: p }: { of: Paired }): JSX.Element | null {
  const pictures = useMemo(() => p.metrics.map((m) => picture(p, m)), [p]);
  if (p.blocks.length < 2) return null;
  return (
    <section aria-label="What was known after each block">
      <h2>After each block</h2>
      <div class="charts">
        {pictures.map((c) => (
          <Plot key={c.title} {...c} xText={format.clock} height={220} />
        ))}
      </div>
      <p class="muted">
        Dots are single blocks of time, at their ends; the line is the change from A to B by all blocks so far, the
        dotted and the dashed line are the low and the high end of its interval. B is better or worse once the interval
        excludes 0, and equivalent once it lies within the margin.
      </p>
    </section>
  );
}

/** picture are the lines of a metric over the blocks. */
export function picture(p: Paired, m: Metric) {
  const soFar = p.blocks.map((b) => b.so_far?.[m.tag]);
  const lines: Line[] = [
    { label: "blocks", color: "grey", values: p.blocks.map((b) => b.change[m.tag] ?? null), points: "alone" },
    { label: "so far", color: "blue", values: soFar.map((s) => s?.change ?? null), last: true },
  ];
  const low = soFar.map((s) => s?.low ?? null);
  if (low.some((v) => v !== null)) {
    lines.push(
      { label: "low", color: "blue", values: low, dash: "dots", last: true },
      { label: "high", color: "blue", values: soFar.map((s) => s?.high ?? null), dash: true, last: true },
    );
  }
  const marks: Mark[] = [
    { label: "", value: 0, color: "grey" },
    { label: "margin", value: m.margin, color: "pink" },
    { label: "", value: -m.margin, color: "pink" },
  ];
  return {
    title: format.sentence(metricName(m.tag)),
    unit: `${m.unit}, B against A`,
    x: p.blocks.map((b) => b.to_sec),
    lines,
    marks,
  };
}

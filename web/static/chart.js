// A small line chart in SVG: one or two series over the seconds of a run.
"use strict";

const svgNS = "http://www.w3.org/2000/svg";

class Chart {
  // keys are the names of the series; the last `limit` points are kept.
  constructor(svg, keys, limit = 600) {
    this.svg = svg;
    this.keys = keys;
    this.limit = limit;
    this.clear();
  }

  clear() {
    this.points = [];
    this.draw();
  }

  // add takes seconds and one value for each series, null where there is none.
  add(t, values) {
    const last = this.points[this.points.length - 1];
    if (last && t <= last.t) return;
    this.points.push({ t, values });
    if (this.points.length > this.limit) this.points.shift();
    this.draw();
  }

  draw() {
    const box = this.svg.getBoundingClientRect();
    const w = box.width || 320, h = box.height || 150;
    const left = 42, right = 6, top = 16, bottom = 20;
    this.svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
    this.svg.replaceChildren();
    const all = this.points.flatMap((p) => p.values).filter((v) => v !== null && isFinite(v));
    const high = niceCeil(Math.max(0, ...all));
    const t0 = this.points.length ? this.points[0].t : 0;
    const t1 = this.points.length ? this.points[this.points.length - 1].t : 1;
    const x = (t) => left + ((t - t0) / Math.max(1, t1 - t0)) * (w - left - right);
    const y = (v) => h - bottom - (v / high) * (h - top - bottom);
    for (const share of [0, 0.5, 1]) {
      const at = y(high * share);
      this.put("line", { x1: left, x2: w - right, y1: at, y2: at, class: "grid" });
      this.text(left - 6, at + 4, format.number(high * share), "end");
    }
    this.text(left, h - 5, format.seconds(t0), "start");
    this.text(w - right, h - 5, format.seconds(t1), "end");
    this.keys.forEach((key, i) => {
      const line = this.points.filter((p) => p.values[i] !== null && isFinite(p.values[i]));
      const path = line.map((p, n) => (n ? "L" : "M") + x(p.t).toFixed(1) + " " + y(p.values[i]).toFixed(1)).join("");
      if (i === 0 && this.keys.length === 1 && line.length > 1) {
        this.put("path", { d: `${path}L${x(line[line.length - 1].t)} ${y(0)}L${x(line[0].t)} ${y(0)}Z`, class: "area" });
      }
      if (path) this.put("path", { d: path, class: "ab"[i] });
      if (this.keys.length > 1) this.text(w - right - (this.keys.length - 1 - i) * 38, 11, key, "end", "key-" + "ab"[i]);
    });
    if (!all.length) this.text((left + w) / 2, h / 2, "waiting for data", "middle");
  }

  put(tag, attributes) {
    const el = document.createElementNS(svgNS, tag);
    for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value);
    this.svg.append(el);
    return el;
  }

  text(x, y, words, anchor, className = "") {
    this.put("text", { x, y, "text-anchor": anchor, class: className }).textContent = words;
  }
}

// niceCeil is the next 1, 2, 2.5 or 5 times a power of ten.
function niceCeil(v) {
  if (!(v > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 2.5, 5, 10].map((m) => m * power).find((n) => n >= v * 0.999);
}

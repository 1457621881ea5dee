// Every number on the pages is formatted here.
"use strict";

const format = {
  // number shows at most four significant digits, grouped.
  number(v) {
    if (v === null || v === undefined || !isFinite(v)) return "–";
    const size = Math.abs(v);
    const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3;
    return v.toLocaleString("en", { maximumFractionDigits: Number.isInteger(v) ? 0 : digits });
  },
  count(v) { return v === null || v === undefined ? "–" : v.toLocaleString("en"); },
  bytes(v) {
    const units = ["B", "KiB", "MiB", "GiB"];
    let i = 0;
    while (v >= 1024 && i < units.length - 1) { v /= 1024; i++; }
    return (i === 0 ? v : v.toFixed(1)) + " " + units[i];
  },
  // seconds shows a length of time in its two largest units.
  seconds(v) {
    if (v === null || v === undefined || !isFinite(v)) return "–";
    if (v < 10) return v.toFixed(1) + " s";
    const s = Math.round(v);
    if (s < 60) return s + " s";
    if (s < 3600) return Math.floor(s / 60) + " min " + (s % 60) + " s";
    return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
  },
  time(text) { return text ? new Date(text).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" }) : "–"; },
};

// make builds an element: make("td", {class: "text"}, "a", otherElement).
function make(tag, attributes, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) el.setAttribute(name, value);
  el.append(...children);
  return el;
}

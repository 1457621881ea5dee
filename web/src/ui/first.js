// The theme, before the first paint: the scripts of the page are read after it. theme.ts has the same rule.
let kept = null;
try {
  kept = localStorage.getItem("aiperfd.theme");
} catch {
  // Without storage the system decides.
}
const dark = kept === "dark" || (kept !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
document.documentElement.dataset.theme = dark ? "dark" : "light";

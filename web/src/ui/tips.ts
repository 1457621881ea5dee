// What a pointer shows while it hovers, for screens that are touched: a tap shows it.

/** selects are elements that a tap does something else with. */
const selects = "a, button, summary, input, select, label";

/** showTips lets a tap on what has a title show the title, until the next tap, if no pointer can hover. */
export function showTips(): void {
  const tip = document.createElement("p");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.append(tip);
  document.addEventListener("click", (e) => {
    const of = e.target instanceof Element && !e.target.closest(selects) ? e.target.closest("[title]") : null;
    tip.textContent = of?.getAttribute("title") ?? "";
    tip.hidden = tip.textContent === "" || !matchMedia("(hover: none)").matches;
  });
}

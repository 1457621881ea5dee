// Dark and light. The choice is kept in the browser, if that is possible; without one the
// system decides. Paper is light.
import { computed, signal } from "@preact/signals";

export type Choice = "auto" | "dark" | "light";

const key = "aiperfd.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => (systemDark.value = system.matches));

export const choice = signal<Choice>(stored());

/** printing is true while the browser lays out the page for paper. */
export const printing = signal(false);
addEventListener("beforeprint", () => (printing.value = true));
addEventListener("afterprint", () => (printing.value = false));

export const dark = computed(
  () => !printing.value && (choice.value === "auto" ? systemDark.value : choice.value === "dark"),
);

function stored(): Choice {
  try {
    const value = localStorage.getItem(key);
    return value === "dark" || value === "light" ? value : "auto";
  } catch {
    return "auto"; // a report that a daemon serves is not allowed to store anything
  }
}

export function setTheme(value: Choice): void {
  choice.value = value;
  try {
    localStorage.setItem(key, value);
  } catch {
    // The choice holds until the page is closed.
  }
}

dark.subscribe((on) => {
  document.documentElement.dataset.theme = on ? "dark" : "light";
});

// Dark and light. The choice is kept in the browser; without one the system decides.
import { computed, signal } from "@preact/signals";

export type Choice = "auto" | "dark" | "light";

const key = "aiperfd.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => (systemDark.value = system.matches));

export const choice = signal<Choice>(stored());
export const dark = computed(() => (choice.value === "auto" ? systemDark.value : choice.value === "dark"));

function stored(): Choice {
  const value = localStorage.getItem(key);
  return value === "dark" || value === "light" ? value : "auto";
}

export function setTheme(value: Choice): void {
  choice.value = value;
  localStorage.setItem(key, value);
}

dark.subscribe((on) => {
  document.documentElement.dataset.theme = on ? "dark" : "light";
});

// Colors of charts: those of Okabe and Ito, which people with any color vision can tell
// apart, lightened or darkened for the theme.
import { dark } from "../ui/theme";

const light = {
  blue: "#0072b2",
  orange: "#d55e00",
  green: "#007d5c",
  pink: "#b3508a",
  sky: "#2b8cc4",
  yellow: "#9a7d00",
  grey: "#6b7673",
};
const darker = {
  blue: "#5db3ea",
  orange: "#f0894a",
  green: "#3fc79a",
  pink: "#e08fc0",
  sky: "#8fd0f5",
  yellow: "#e6cf4d",
  grey: "#93a29d",
};

export type Color = keyof typeof light;

export function color(name: Color): string {
  return (dark.value ? darker : light)[name];
}

/** cycle are the colors for runs or classes, in their order. */
export const cycle: Color[] = ["blue", "orange", "green", "pink", "sky", "yellow", "grey"];

/** token returns a color of the style sheet. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

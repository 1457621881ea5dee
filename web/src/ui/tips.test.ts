import { expect, test, vi } from "vitest";
import { showTips } from "./tips";

test("a tap shows the title of a number until the next tap, and a link stays a link", () => {
  let hovers = false;
  vi.stubGlobal("matchMedia", () => ({ matches: !hovers }));
  document.body.innerHTML = `<div title="95 % interval"><b>12</b></div><p>text</p>
    <span title="a menu"><button type="button">open</button></span>`;
  showTips();
  const tip = document.querySelector<HTMLElement>(".tip")!;
  const tap = (on: string) => {
    document.querySelector<HTMLElement>(on)!.click();
    return tip.hidden ? "" : tip.textContent;
  };
  expect(tap("b")).toBe("95 % interval");
  expect(tap("p")).toBe("");
  expect(tap("div")).toBe("95 % interval");
  expect(tap("button")).toBe("");
  hovers = true;
  expect(tap("b")).toBe("");
});

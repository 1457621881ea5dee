import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { heldDown, named } from "./gpu";

type Metric = Schemas["gpu.Metric"];

const device = (more: Partial<Schemas["gpu.Device"]>, ...metrics: Partial<Metric>[]): Schemas["gpu.Device"] => ({
  vendor: "nvidia",
  index: 0,
  uuid: "GPU-a",
  name: "H100",
  host: "n1",
  source: "http://n1:9400/metrics",
  metrics: metrics.map((m) => ({ unit: "", family: "", name: "", ...m })),
  ...more,
});

test("a clock is held down by what took longest: power or heat, not idleness", () => {
  const reasons = { idle: 0.9, "application-clocks": 0.8, "software-power-cap": 0.2, "hardware-thermal": 0.3 };
  expect(heldDown(device({}), 10)).toBeUndefined();
  expect(heldDown(device({}, { name: "throttle_reasons", reasons: { idle: 0.9 } }), 10)).toBe(0);
  expect(heldDown(device({}, { name: "throttle_reasons", reasons }), 10)).toBe(0.3);
  expect(heldDown(device({}, { name: "throttle_power", total: 4 }, { name: "throttle_reasons", reasons }), 10)).toBe(
    0.4,
  );
  expect(heldDown(device({}, { name: "throttle_thermal", total: 40 }), 10)).toBe(1);
  expect(heldDown(device({}, { name: "throttle_thermal", total: 40 }), 0)).toBe(0);
});

test("a card is named by its index, and by its host only if there are several", () => {
  expect(named(device({}), 1)).toBe("0");
  expect(named(device({ index: -1 }), 1)).toBe("GPU-a");
  expect(named(device({ index: 3, instance: "7" }), 2)).toBe("3, instance 7 of n1");
});

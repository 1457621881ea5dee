import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Silence } from "./silence";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("two missing heartbeats are noticed", () => {
  const broken = vi.fn();
  const silence = new Silence(broken);
  silence.heard();
  vi.advanceTimersByTime(9_999);
  expect(broken).not.toHaveBeenCalled();
  silence.heard();
  vi.advanceTimersByTime(9_999);
  expect(broken).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(broken).toHaveBeenCalledOnce();
});

test("a connection that was closed is not watched", () => {
  const broken = vi.fn();
  const silence = new Silence(broken);
  silence.heard();
  silence.stop();
  vi.advanceTimersByTime(60_000);
  expect(broken).not.toHaveBeenCalled();
});

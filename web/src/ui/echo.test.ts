import { expect, test } from "vitest";
import { Echo } from "./echo";

test("an older text that comes back while the next keys are typed is not foreign", () => {
  const echo = new Echo();
  for (const text of ["a", "ab", "abc"]) echo.send(text);
  expect(echo.foreign("a")).toBe(false);
  echo.send("abcd");
  expect(echo.foreign("abc")).toBe(false);
  expect(echo.foreign("abcd")).toBe(false);
});

test("a template is foreign, and so is a text from before it", () => {
  const echo = new Echo();
  echo.send("typed");
  expect(echo.foreign("template")).toBe(true);
  expect(echo.foreign("typed")).toBe(true);
});

test("the same text typed again comes back once for each time or once for all", () => {
  const echo = new Echo();
  for (const text of ["a", "ab", "a"]) echo.send(text);
  expect(echo.foreign("a")).toBe(false);
  expect(echo.foreign("ab")).toBe(true);
});

import { expect, test } from "vitest";
import type { Run } from "../api/client";
import { inOrder } from "./queue";

const run = (name: string, state: string, more: object = {}) =>
  ({ id: name, name, state, priority: 0, created_at: "2026-05-04T10:00:00Z", ...more }) as unknown as Run;

test("what runs stands above what waits, and places have no gaps", () => {
  const turns = inOrder([
    run("sweep", "queued", { created_at: "2026-05-04T10:00:03Z", kind: "sweep" }),
    run("second", "queued", { created_at: "2026-05-04T10:00:02Z", queue_position: 5 }),
    run("urgent", "queued", { created_at: "2026-05-04T10:00:09Z", queue_position: 7, priority: 3 }),
    run("active", "running", { started_at: "2026-05-04T10:00:01Z" }),
  ]);
  expect(turns.map((t) => `${t.run.name} ${t.place}`)).toEqual(["active 0", "urgent 1", "second 2", "sweep 3"]);
});

import { expect, it, vi } from "vitest";
import { defineAgent } from "../../../src/index.ts";
import { plannerReplies, runPlan } from "../../helpers/run-plan.ts";

it("lets many agents listen for the end of one run, without a warning of a leak", async () => {
  const warn = vi.spyOn(process, "emitWarning");
  const ids = Array.from({ length: 24 }, (_, i) => `s${i}`);
  const { result } = await runPlan({
    workers: [defineAgent({ name: "w", description: "Works." })],
    max_parallel: 24,
    plan: { subtasks: ids.map((id) => ({ id, description: `Do ${id}.`, dependencies: [] })) },
    script: plannerReplies({ "Do s": "ok" }, 40),
  });
  expect(result.status).toBe("COMPLETED");
  expect(warn.mock.calls).toEqual([]);
});

import { describe, expect, it } from "vitest";
import logTriage from "../../examples/log-triage/agent.ts";
import { createRuntime, executeAgent, loadAgent } from "../../src/index.ts";

describe("the examples", () => {
  it("calculate", async () => {
    const runtime = await createRuntime({ checkpointer: false, env: {} });
    const agent = await loadAgent("examples/calculator/agent.yaml");
    const result = await executeAgent(agent, { message: "What is 17.5% of 2,340?" }, { runtime });
    expect(result.output).toEqual({ message: "[offline:rules] 409.5" });
  });

  it("triage logs: parsed once, in a first attempt that is refused and a second that is not", async () => {
    const runtime = await createRuntime({ checkpointer: false, env: {} });
    const message = "Parse the logs: which service fails most, and since when?";
    const result = await executeAgent(logTriage, { message }, { runtime });
    expect(result.status).toBe("COMPLETED");
    expect(result.attempts).toEqual([
      {
        attempt_number: 0,
        errors: ['give the time and message of the first error of the service "payments"'],
      },
      { attempt_number: 1, errors: [] },
    ]);
    expect(result.state.execution).toMatchObject({ parses: 1, reuses: 1 });
    expect(result.state.attempt).toEqual({ looked_at: ["payments"] });
    expect(result.output?.message).toContain("payments 28");
    expect(result.output?.message).toContain("2026-03-04T14:02:28.867Z");
  });
});

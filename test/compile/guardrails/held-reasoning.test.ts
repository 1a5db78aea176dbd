import { describe, expect, it } from "vitest";
import { defineAgent } from "../../../src/index.ts";
import { runOnWire } from "../../helpers/wire/agent.ts";
import { wireServer } from "../../helpers/wire/server.ts";
import { refOf } from "../../models/wire/providers.ts";

const address = "ada@example.org";
const agent = defineAgent({
  name: "desk",
  llm_config: { default_model: refOf("anthropic") },
  execution_config: { max_attempts: 1 },
  guardrail_config: { output_rails: [{ type: "pii", config: { action: "block" } }] },
});

describe("what output rails have not checked", () => {
  it("is not in the events of steps: what a model thought", async () => {
    await using server = await wireServer({
      text: "Done.",
      reasoning: { text: `It is ${address}` },
    });
    const { result, seen } = await runOnWire(agent, server);
    expect(result.steps[0]?.reasoning?.text).toContain(address);
    expect(JSON.stringify(seen)).not.toContain(address);
  });

  it("is not in the failure of a turn: the words of a refusal", async () => {
    await using server = await wireServer({ text: `Ask ${address}.`, finish: "refusal" });
    const { result, seen } = await runOnWire(agent, server);
    expect(result.failure).toMatchObject({ cause: "model_refusal" });
    expect(result.failure?.message).not.toContain(address);
    expect(JSON.stringify(seen)).not.toContain(address);
  });
});

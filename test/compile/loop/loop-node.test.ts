import { expect, it } from "vitest";
import { loopNode } from "../../../src/compile/loop/loop-node.ts";
import type { NodeBody } from "../../../src/compile/loop/node.ts";
import type { LoopConfig } from "../../../src/compile/loop/loop-config.ts";
import { defineAgent } from "../../../src/index.ts";
import type { GraphState } from "../../../src/state/channels.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

it("sends no event that the body emits after the turn's time has ended the node", async () => {
  const clock = new ManualClock();
  const parts = {
    definition: defineAgent({ name: "slow", execution_config: { timeout_seconds: 5 } }),
    clock,
    bounds: [],
    rails: { input: [], answer: [], memory: [], tool_result: [], output: [] },
    memory: null,
    attempts: {},
  } as unknown as LoopConfig;
  const state = { status: "EXECUTING", branches: [], redactions: {} } as unknown as GraphState;
  const sent: unknown[] = [];
  let answer = () => {};
  const reply = new Promise<void>((resolve) => (answer = resolve));
  let begin = () => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const body: NodeBody = async (_state, run) => {
    run.emit({ type: "thought", step_index: 0, text: "in time" });
    begin();
    await reply;
    run.emit({ type: "thought", step_index: 0, text: "too late" });
    return { update: {}, goto: [] };
  };

  const ended = loopNode("reason", parts, body)(state, { writer: (event) => sent.push(event) });
  await begun;
  clock.advance(5_000);
  expect((await ended).update).toMatchObject({ status: "FAILED" });
  answer();
  await new Promise(setImmediate);

  expect(sent).toMatchObject([{ node: "reason", text: "in time" }]);
});

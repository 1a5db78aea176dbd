import { HumanMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { composeContext, composeInSlices } from "../../../src/context/compose/compose-context.ts";
import type { ComposeOptions } from "../../../src/context/reasoning-context.ts";
import { loopTranscript } from "../../../src/context/transcript.ts";
import { modelProfile } from "../../../src/models/model-profile.ts";
import { countTurns } from "../../helpers/count-turns.ts";
import { stepRecord, toolResult } from "../../helpers/step-record.ts";

const count = 500;

/** A history of which most must be shortened. New records at every call: what was counted before is known. */
function longHistory(): ComposeOptions {
  const steps = Array.from({ length: count }, (_, at) => {
    const result = toolResult({
      id: `call-${at}`,
      result: Array.from({ length: 30 }, (_row, row) => ({ id: `order-${at}-${row}`, at, row })),
    });
    const { id, name, args } = result;
    return stepRecord({
      step_index: at,
      tool_predictions: [{ id, name, args, reason: "" }],
      tool_results: [result],
    });
  });
  return {
    profile: modelProfile("test:model", { window: 128_000 }),
    goal: "planning",
    settings: { budget: 8000 },
    form: "native",
    opening: [],
    transcript: loopTranscript({ conversation: [new HumanMessage("go")], steps, note: "" }),
    summary: null,
    observed: new Map(),
  };
}

it("lets the event loop turn while a long history is composed", async () => {
  const options = longHistory();
  const counted = countTurns();
  await composeInSlices(options);
  counted.stop();
  expect(counted.turns).toBeGreaterThanOrEqual(3);
});

it("composes the same context in slices as at once", async () => {
  const inSlices = await composeInSlices(longHistory());
  const atOnce = composeContext(longHistory());
  expect(inSlices.messages.map(({ type, text }) => [type, text])).toEqual(
    atOnce.messages.map(({ type, text }) => [type, text]),
  );
  expect(inSlices.metadata).toEqual(atOnce.metadata);
});

it("ends with the reason of a signal that aborts while it is composed", async () => {
  const abort = new AbortController();
  setImmediate(() => abort.abort(new Error("stopped")));
  await expect(composeInSlices(longHistory(), abort.signal)).rejects.toThrow("stopped");
});

import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import {
  callModelWithSignal,
  createResultSummaryStore,
  resultSummaries,
  resultSummariserOf,
} from "../../../src/compile/loop/context.ts";
import type { NodeContext } from "../../../src/compile/loop/node.ts";
import { defineAgent } from "../../../src/index.ts";
import type { AgentModel } from "../../../src/models/agent-model.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { ScriptedModel } from "../../helpers/scripted-model.ts";
import { toolResult } from "../../helpers/step-record.ts";

const specWith = (context_config: object) => defineAgent({ name: "a", context_config }).spec;

const noModel = (model: string) => Promise.reject(new Error(`asked for ${model}`));

/** As much of a run as asking takes. */
function runWith(): { run: NodeContext; asked: unknown[] } {
  const asked: unknown[] = [];
  const signal = new AbortController().signal;
  const ask: NodeContext["callModel"] = (model, request, unseen) => {
    asked.push(unseen);
    return model.call(request, { signal, tags: ["run"] });
  };
  const parts = { clock: new ManualClock() };
  const summaries = createResultSummaryStore();
  return {
    run: { callModel: ask, signal, loop: parts, summaries } as unknown as NodeContext,
    asked,
  };
}

describe("a definition's summariser", () => {
  it("is none unless it is asked for", async () => {
    expect(await resultSummariserOf(specWith({}), noModel)).toBeNull();
  });

  it("asks the model that reads, or one of its own", async () => {
    const model = await new ScriptedModel([]).resolve();
    expect(
      await resultSummariserOf(specWith({ summarize_results: { threshold_tokens: 300 } }), noModel),
    ).toMatchObject({ thresholdTokens: 300, timeoutMs: 15_000, model: null });
    const wanted: string[] = [];
    const modelFor = async (ref: string) => {
      wanted.push(ref);
      return { model: () => model };
    };
    const own = await resultSummariserOf(
      specWith({ summarize_results: { model: "test:small", timeout_seconds: 2 } }),
      modelFor,
    );
    expect([wanted, own?.model, own?.timeoutMs]).toEqual([["test:small"], model, 2000]);
  });
});

describe("summaries within a run", () => {
  it("are asked through the run, unseen, and end with their own time", async () => {
    const scripted = new ScriptedModel(["three bees"]);
    const reader = await scripted.resolve();
    const summariser = await resultSummariserOf(specWith({ summarize_results: {} }), noModel);
    const { run, asked } = runWith();
    const { summaries, made } = await resultSummaries(
      run,
      { summariser: summariser!, reader },
      {
        results: [toolResult({ id: "a", result: "bee ".repeat(3000) })],
        goal: "synthesis",
        question: "How many bees?",
      },
    );
    expect([...summaries]).toEqual([["a", "three bees"]]);
    expect(made).toMatchObject([{ outcome: "made", model: "test:scripted", tokensIn: 10 }]);
    expect(asked).toEqual([{ purpose: "summary", isUnseen: true }]);
    expect(scripted.read(0)[1]).toContain("Goal: write the answer\nQuestion: How many bees?");
  });

  it("are ended by the signal that they are given, not by the run's", async () => {
    const own = new AbortController();
    const reader = await new ScriptedModel([]).resolve();
    let given: { signal?: AbortSignal; tags?: string[] } | undefined;
    const model: AgentModel = {
      ...reader,
      call: async (_request, config) => {
        given = config;
        return {
          message: new AIMessage(""),
          usage: {} as never,
          model: "m",
          fallback: null,
          finish: "stop" as const,
          reasoning: null,
          calls: [],
        };
      },
    };
    await callModelWithSignal(own.signal, runWith().run, {
      model,
      request: { messages: [] },
      purpose: "summary",
    });
    expect(given).toEqual({ signal: own.signal, tags: ["run"] });
  });
});

import { describe, expect, it } from "vitest";
import { MemorySaver } from "@langchain/langgraph";
import { createRuntime, runExperiment } from "../../src/app.ts";
import { parseExperiment } from "../../src/experiment/config/load-experiment.ts";
import { logEntrySchema } from "../../src/experiment/log/log-entry.ts";
import { readLogLines, withoutTimes } from "../helpers/experiment-run.ts";
import { ollamaServer, type OllamaAnswer } from "../helpers/ollama-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const options = {
  seed: 42,
  temperature: 0.7,
  top_p: 0.9,
  num_predict: -1,
  repeat_last_n: 64,
  repeat_penalty: 1.1,
  num_ctx: 4096,
};

async function setUp(script: readonly OllamaAnswer[]) {
  const server = await ollamaServer(script);
  const runtime = await createRuntime({
    env: { OLLAMA_TOKEN: "s3cret-token-0123456789" },
    checkpointer: new MemorySaver(),
  });
  const logFolder = tempFolder();
  return {
    server,
    log: () => readLogLines(logFolder, "drift"),
    run: (config: object = {}) =>
      runExperiment(
        parseExperiment({
          run_id: "drift",
          model_name: "ollama:llama3.2:latest",
          cycle_count: 1,
          ollama_client_config: {
            host: server.url,
            timeout_ms: 60_000,
            headers: { Authorization: "Bearer {{secret:OLLAMA_TOKEN}}", "X-Team": "7" },
          },
          model_options: options,
          system_prompt: "You are a test.",
          cycle_prompt: "Go.",
          reflection_prompt: "Reflect.",
          ...config,
        }),
        { runtime, logFolder },
      ),
  };
}

describe("a run on an Ollama server", () => {
  it("sends every option and header with every request, and logs what was sent", async () => {
    await using made = await disposable(
      setUp([
        { calls: [{ name: "memory_write", args: { key: "sky", value: "blue" } }] },
        "Done.",
        "I wrote.",
      ]),
    );
    const { server, run, log } = made;
    const { runs } = await run();
    expect(runs).toMatchObject([
      { status: "done", usage: { tokens_in: 78, tokens_out: 9, llm_calls: 3, tool_calls: 1 } },
    ]);
    expect(server.chats.map((chat) => chat.options)).toEqual([options, options, options]);
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({
        authorization: "Bearer s3cret-token-0123456789",
        "x-team": "7",
      });
    }
    expect(server.chats.map(({ tools = [] }) => tools.length)).toEqual([5, 5, 0]);
    expect(server.chats[1]?.messages.map(({ role, content }) => [role, content])).toEqual([
      ["system", "You are a test.\n\nKeys in your memory: none."],
      ["user", "Go."],
      ["assistant", ""],
      ["tool", '{"key":"sky","replaced":false}'],
    ]);
    const invocations = log().filter(({ event_type: type }) => type === "LLM_INVOCATION");
    expect(invocations.map(({ payload }) => payload)).toEqual([
      expect.objectContaining({ model_options: options }),
      expect.objectContaining({ model_options: options }),
      expect.objectContaining({ model_options: options }),
    ]);
    expect(JSON.stringify(log())).not.toContain("s3cret");
  });

  it("logs how each reply ended, what it took, and what the model thought", async () => {
    await using made = await disposable(
      setUp([
        {
          thinking: "Hm.",
          text: "Cut",
          done_reason: "length",
          usage: { prompt_eval_count: 40, eval_count: 7 },
        },
        { thinking: "x".repeat(30_000), text: "R", done_reason: "s".repeat(100) },
      ]),
    );
    const { run, log } = made;
    await run({ model_name: "ollama:qwen3:latest" });
    const [first, second] = log().flatMap((entry) =>
      entry.event_type === "LLM_INVOCATION" ? [entry.payload] : [],
    );
    expect(first).toMatchObject({
      response_message: { content: "Cut" },
      usage: {
        tokens_in: 40,
        tokens_out: 7,
        cached_tokens: 0,
        reasoning_tokens: 0,
        cost_usd: 0,
      },
      finish_reason: "length",
      done_reason: "length",
      latency_ms: expect.any(Number),
      reasoning: "Hm.",
    });
    expect(second).toMatchObject({ finish_reason: "stop", done_reason: "s".repeat(64) });
    expect(second?.first_token_ms ?? 0).toBeLessThanOrEqual(second?.latency_ms ?? -1);
    expect(second?.reasoning?.length).toBeLessThanOrEqual(20_100);
    expect(log().every((entry) => logEntrySchema.safeParse(entry).success)).toBe(true);
  });

  it("calls tools in text where the model takes none", async () => {
    await using made = await disposable(
      setUp([
        'Thought: I write.\nAction: memory_write\nAction Input: {"key": "sky", "value": "blue"}',
        "Thought: done\nFinal Answer: Written.",
        "I wrote.",
      ]),
    );
    const { server, run, log } = made;
    expect((await run({ model_name: "ollama:llama3:latest" })).runs).toMatchObject([
      { status: "done" },
    ]);
    // The first is refused in Ollama's words; it is not tried again with tools.
    expect(server.chats.map(({ tools }) => tools !== undefined)).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(log().map(({ event_type: type }) => type)).toEqual([
      "CYCLE_START",
      "LLM_INVOCATION",
      "TOOL_CALL",
      "LLM_INVOCATION",
      "LLM_INVOCATION",
      "CYCLE_END",
    ]);
  });

  it("has the same log for the same replies, whatever ids its calls come with", async () => {
    const script = [
      {
        calls: [
          { name: "memory_list", args: {} },
          { name: "memory_read", args: { key: "k" } },
        ],
      },
      "Done.",
      "Nothing there.",
    ];
    const logs = [];
    for (let time = 0; time < 2; time += 1) {
      await using made = await disposable(setUp(script));
      await made.run();
      logs.push(withoutTimes(made.log()));
    }
    expect(logs[1]).toEqual(logs[0]);
  });

  it("fails with the name of the model that is not there, and goes on when it is", async () => {
    await using made = await disposable(setUp(["Done.", "R"]));
    const { run } = made;
    const { runs } = await run({ model_name: "ollama:nobody" });
    expect(runs).toMatchObject([
      { status: "failed", cycles_done: 0, failure: expect.stringContaining("ollama:nobody") },
    ]);
  });
});

/** Closes the server of what it gives at the end of the block. */
async function disposable(making: ReturnType<typeof setUp>) {
  const made = await making;
  return { ...made, [Symbol.asyncDispose]: () => made.server.close() };
}

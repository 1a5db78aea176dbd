import { MemorySaver } from "@langchain/langgraph";
import { HumanMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { createRuntime, executeAgent, type Runtime } from "../../../src/app.ts";
import { defineAgent } from "../../../src/definition/define-agent.ts";
import { createInMemoryExperimentMemory } from "../../../src/experiment/memory/in-memory.ts";
import { experimentTools } from "../../../src/experiment/tools.ts";
import { OfflineRulesModel } from "../../../src/models/offline/offline-model.ts";

const blue = "the sky is blue";

/** What is said to an agent, and the call that the offline model makes of it. */
const said: readonly (readonly [string, string, object])[] = [
  [
    `Write "${blue}" to memory under the key weather.`,
    "memory_write",
    { key: "weather", value: blue },
  ],
  [`Write "${blue}" to memory as weather.`, "memory_write", { key: "weather", value: blue }],
  [
    `Write ${blue} to memory under the key weather.`,
    "memory_write",
    { key: "weather", value: blue },
  ],
  [
    `Write "${blue}" to memory under the key "weather in Rome".`,
    "memory_write",
    { key: "weather in Rome", value: blue },
  ],
  [`Write to memory under the key sky-1: ${blue}`, "memory_write", { key: "sky-1", value: blue }],
  ['Store the value "42" under the key answer.', "memory_write", { key: "answer", value: "42" }],
  ['Set the memory key weather to "rainy".', "memory_write", { key: "weather", value: "rainy" }],
  ["Read the memory key weather.", "memory_read", { key: "weather" }],
  ['Read the memory key "weather in Rome".', "memory_read", { key: "weather in Rome" }],
  ["What is in memory under the key weather?", "memory_read", { key: "weather" }],
  ["What is the value of the key weather?", "memory_read", { key: "weather" }],
  ["List the memory keys.", "memory_list", {}],
  ["Which keys are in memory?", "memory_list", {}],
  ["Delete the memory key weather.", "memory_delete", { key: "weather" }],
  ["Remove the key weather from memory.", "memory_delete", { key: "weather" }],
  [
    "Tell the operator that the store is full.",
    "message_operator",
    { message: "the store is full." },
  ],
  ['Send the operator the message "done".', "message_operator", { message: "done" }],
  ["Message the operator: all is well.", "message_operator", { message: "all is well." }],
];

describe("the offline model with the tools of experiments", () => {
  const model = new OfflineRulesModel().bindTools(
    experimentTools({
      memory: createInMemoryExperimentMemory().of("run"),
      nextChange: () => 1,
    }).map(({ definition: { name, description, input_schema } }) => ({
      type: "function" as const,
      function: { name, description, parameters: input_schema },
    })),
  );

  it.each(said)("%s", async (text, name, args) => {
    const answer = await model.invoke([new HumanMessage(text)]);
    expect(answer.tool_calls).toMatchObject([{ name, args }]);
  });

  it.each(["Hello!", "What did you learn in this cycle?", "Reflect on this cycle."])(
    "calls nothing: %s",
    async (text) => {
      expect((await model.invoke([new HumanMessage(text)])).tool_calls).toEqual([]);
    },
  );
});

describe("an agent of rules with the tools of experiments", () => {
  let runtime: Runtime | undefined;
  afterEach(() => runtime?.close());

  it("does what it is told, one thing after the other", async () => {
    const memory = createInMemoryExperimentMemory().of("run");
    await memory.write("old", "gone", 1);
    let changes = 1;
    const messages: string[] = [];
    runtime = await createRuntime({ env: {}, checkpointer: new MemorySaver() });
    const agent = defineAgent({
      name: "keeper",
      llm_config: { default_model: "offline:rules" },
      tools: [
        ...experimentTools({
          memory,
          nextChange: () => (changes += 1),
          onMessage: (text) => void messages.push(text),
        }),
      ],
    });
    const { steps, status } = await executeAgent(
      agent,
      {
        message:
          'Write "milk" to memory under the key shopping, then delete the memory key old, then list the memory keys, then tell the operator that all is done.',
      },
      { runtime },
    );
    expect(status).toBe("COMPLETED");
    expect(steps.flatMap(({ tool_results }) => tool_results.map(({ result }) => result))).toEqual([
      { key: "shopping", replaced: false },
      { key: "old", deleted: true },
      { keys: ["shopping"] },
      { delivered: true },
    ]);
    expect(messages).toEqual(["all is done."]);
    expect([await memory.list(), await memory.read("shopping")]).toEqual([["shopping"], "milk"]);
    await memory.rewind(1);
    expect(await memory.list()).toEqual(["old"]);
  });
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createModels, type CreateModelsOptions } from "../../../src/models/create-models.ts";
import { InvalidPricesError } from "../../../src/models/usage/read-prices.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "prices-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function fileOf(content: unknown, name = "prices.json"): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const usage_metadata = { input_tokens: 1_000_000, output_tokens: 0, total_tokens: 1_000_000 };

/** The cost of a million tokens that `fake:x` reads. */
async function costWith(options: Partial<CreateModelsOptions>, ref = "fake:x") {
  const reply = new AIMessage({ content: "Hi", usage_metadata });
  const source = createModels({
    env: {},
    clock: new ManualClock(),
    instances: { [ref]: fakeModel().respond(reply) },
    ...options,
  });
  const model = await source.resolve({ default_model: ref });
  const { usage } = await model.call({ messages: [new HumanMessage("Hello")] }, {});
  return usage.cost_usd;
}

describe("a file of prices", () => {
  it("adds to the list prices and replaces them", async () => {
    const pricesFile = await fileOf({
      "fake:x": { input: 3, output: 1 },
      "openai:gpt-4o": { input: 7, output: 1 },
    });
    expect(await costWith({ pricesFile })).toBe(3);
    expect(await costWith({ pricesFile }, "openai:gpt-4o")).toBe(7);
    expect(await costWith({ pricesFile }, "openai:gpt-4.1")).toBe(2);
  });

  it("is named by STRATAGRAPH_PRICES, the option and `prices` come before it", async () => {
    const env = {
      STRATAGRAPH_PRICES: await fileOf({ "fake:x": { input: 3, output: 1 } }, "env.json"),
    };
    const pricesFile = await fileOf({ "fake:x": { input: 4, output: 1 } }, "option.json");
    const prices = { "fake:x": { input: 5, output: 1 } };
    expect(await costWith({ env })).toBe(3);
    expect(await costWith({ env, pricesFile })).toBe(4);
    expect(await costWith({ env, pricesFile, prices })).toBe(5);
  });

  it.each([
    ["{", "JSON"],
    ["[]", "expected record"],
    [{ x: { input: 1, output: 1 } }, '"x": expected provider:model'],
    [{ "a:b": { input: 1 } }, '"a:b" → "output": '],
    [{ "a:b": { input: -1, output: 1 } }, '"a:b" → "input": '],
    [{ "a:b": { input: "1", output: 1 } }, '"a:b" → "input": '],
    [{ "a:b": { input: 1, output: 1, cached: 1 } }, '"cached"'],
    [" ".repeat(1_048_577), "it has 1,048,577 bytes, the limit is 1,048,576"],
  ])("is refused with its name and the place: %#", async (content, problem) => {
    const pricesFile = await fileOf(content, "bad.json");
    const error = await costWith({ pricesFile }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidPricesError);
    expect(error).toMatchObject({ code: "invalid_prices", kind: "usage", source: pricesFile });
    expect((error as Error).message).toContain(problem);
  });

  it("is refused where it is missing or a folder", async () => {
    const missing = join(folder, "missing.json");
    await expect(costWith({ pricesFile: missing })).rejects.toThrow("there is no such file");
    await expect(costWith({ pricesFile: folder })).rejects.toThrow(InvalidPricesError);
  });
});

it("refuses a table with an entry that is no price", async () => {
  const prices = { "fake:x": { input: Number.NaN, output: 1 } };
  await expect(costWith({ prices })).rejects.toThrow(
    'Invalid prices in modelOptions.prices: "fake:x" → "input": ',
  );
});

it.each([
  [{ OLLAMA_HOST: "https://ollama.com" }, null],
  [{ OLLAMA_BASE_URL: "http://gpu.example:11434", OLLAMA_HOST: "https://ollama.com" }, 0],
  [{}, 0],
])("knows the cost of Ollama's models on any server but its own: %j", async (env, cost) => {
  expect(await costWith({ env }, "ollama:llama3")).toBe(cost);
});

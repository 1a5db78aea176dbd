import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Embeddings } from "../../../src/models/embeddings/embeddings.ts";
import {
  InvalidSelectionOptionError,
  selectTools,
  type ToolUse,
} from "../../../src/tools/selection/select-tools.ts";
import type { SelectableTool } from "../../../src/tools/selection/tool-index.ts";

function tool(
  name: string,
  description: string,
  permissions: readonly string[] = [],
): SelectableTool {
  return {
    definition: {
      name,
      description,
      input_schema: { type: "object", properties: {} },
      permissions: permissions.map((one) => ({ name: one, required: true })),
    },
  };
}

const tools = [
  tool("get_weather", "Forecast of temperature and rain for a city"),
  tool("send_email", "Send a message to an address", ["mail:send"]),
  tool("translateText", "Translate a text into another language"),
  tool("stock_price", "The current price of a share"),
];
const now = new Date("2026-05-01T12:00:00Z");
const use = (name: string, outcome: ToolUse["outcome"], at = "2026-05-01T12:00:00Z"): ToolUse => ({
  tool: name,
  outcome,
  at,
});

async function standing(name: string, history: readonly ToolUse[]) {
  const { selected } = await selectTools({ task: "rain in Oslo", tools, history, now });
  return selected.find((one) => one.name === name);
}

describe("selectTools", () => {
  it("puts the tool first that suits the task, in its words or in others", async () => {
    const first = async (task: string) =>
      (await selectTools({ task, tools, permissions: ["mail:*"] })).selected[0]?.name;
    expect(await first("What is the weather in Oslo?")).toBe("get_weather");
    expect(await first("Will it be sunny and warm on Sunday?")).toBe("get_weather");
    expect(await first("How do I say this in German?")).toBe("translateText");
    expect(await first("e-mail my boss")).toBe("send_email");
  });

  it("finds a tool for each sentence of a task", async () => {
    const task =
      "Tell me how warm the weather in Oslo will be. Then translate the whole text into the German language.";
    const { selected } = await selectTools({ task, tools, topK: 2 });
    expect(selected.map(({ name }) => name).toSorted()).toEqual(["get_weather", "translateText"]);
  });

  it("scores by the weights of the parts", async () => {
    const { selected } = await selectTools({ task: "rain in Oslo", tools, now });
    for (const { score, semantic, keyword, success, recency } of selected) {
      expect(score).toBeCloseTo(0.5 * semantic + 0.2 * keyword + 0.2 * success + 0.1 * recency, 10);
    }
    expect(selected[0]).toMatchObject({
      name: "get_weather",
      keyword: 1,
      success: 0.5,
      recency: 0,
    });
  });

  it("leaves out tools without permission before it scores", async () => {
    const task = "send an email";
    const without = await selectTools({ task, tools });
    expect(without).toMatchObject({ considered: 3, refused: ["send_email"] });
    expect(without.selected.map(({ name }) => name)).not.toContain("send_email");
    const granted = await selectTools({ task, tools, permissions: ["mail:send"] });
    expect(granted).toMatchObject({ considered: 4, refused: [] });
    expect(granted.selected[0]?.name).toBe("send_email");
  });

  it("does not ask for a permission that is not required", async () => {
    const optional = tool("note", "Write a note");
    const permissions = [{ name: "file:write", required: false }];
    const changed = [{ definition: { ...optional.definition, permissions } }];
    expect((await selectTools({ task: "note", tools: changed })).refused).toEqual([]);
  });

  it("knows success by Laplace's rule and recency by half hours", async () => {
    const history = [
      use("get_weather", "success", "2026-05-01T11:00:00Z"),
      use("get_weather", "timeout", "2026-05-01T11:30:00Z"),
      use("get_weather", "success", "2026-05-01T10:00:00Z"),
      use("someone_elses", "success"),
    ];
    const weather = await standing("get_weather", history);
    expect(weather?.success).toBe(3 / 5);
    expect(weather?.recency).toBeCloseTo(Math.exp(-1), 10);
    expect(await standing("stock_price", history)).toMatchObject({ success: 0.5, recency: 0 });
  });

  it("takes a call in the future as made now", async () => {
    const history = [use("get_weather", "error", "2026-05-01T13:00:00Z")];
    expect(await standing("get_weather", history)).toMatchObject({ success: 1 / 3, recency: 1 });
  });

  it("offers what worked last where the task says nothing of any tool", async () => {
    const history = [use("stock_price", "success")];
    const { selected } = await selectTools({ task: "…", tools, history, now });
    expect(selected.map(({ name, score }) => [name, Number(score.toFixed(3))])).toEqual([
      ["stock_price", 0.233],
      ["get_weather", 0.1],
      ["translateText", 0.1],
    ]);
  });

  it("leaves out what is below minScore", async () => {
    const { selected } = await selectTools({ task: "…", tools, minScore: 0.11 });
    expect(selected).toEqual([]);
  });

  it("takes weights one by one", async () => {
    const { selected } = await selectTools({ task: "…", tools, weights: { success: 1 }, topK: 1 });
    expect(selected[0]?.score).toBe(0.5);
  });

  it("reads the parameters of a tool", async () => {
    const plain = tool("run", "Runs it");
    const properties = { latitude: { type: "number", description: "Degrees north" } };
    const withParameters = {
      definition: { ...plain.definition, input_schema: { type: "object", properties } },
    };
    const { selected } = await selectTools({
      task: "which latitude has it",
      tools: [plain, withParameters],
    });
    expect(selected[0]?.keyword).toBe(1);
    expect(selected[1]?.keyword).toBe(0);
  });

  it("embeds the tools of a list once, and anew when the list has changed", async () => {
    const texts: string[] = [];
    const embeddings: Embeddings = {
      id: "noting",
      dimensions: 1,
      async embed(asked) {
        texts.push(...asked);
        return asked.map(() => Float32Array.of(1));
      },
    };
    const list = [tool("one", "First")];
    await selectTools({ task: "task", tools: list, embeddings });
    await selectTools({ task: "other", tools: list, embeddings });
    expect(texts.toSorted()).toEqual(["one: First", "other", "task"]);
    list.push(tool("two", "Second"));
    await selectTools({ task: "third", tools: list, embeddings });
    expect(texts).toContain("two: Second");
  });

  it.each([
    [3, 1],
    [-3, 0],
  ])("takes a similarity of vectors that are not of unit length, %i, for %i", async (far, near) => {
    const embeddings: Embeddings = {
      id: `not of unit length ${far}`,
      dimensions: 1,
      embed: async (asked) => asked.map((text) => Float32Array.of(text === "task" ? far : 1)),
    };
    const list = [tool("one", "First")];
    const { selected } = await selectTools({ task: "task", tools: list, embeddings });
    expect(selected[0]?.semantic).toBe(near);
  });

  it("tries again after embeddings that failed", async () => {
    let fails = true;
    const embeddings: Embeddings = {
      id: "failing",
      dimensions: 1,
      async embed(asked) {
        if (fails) throw new Error("down");
        return asked.map(() => Float32Array.of(1));
      },
    };
    await expect(selectTools({ task: "a", tools, embeddings })).rejects.toThrow("down");
    fails = false;
    expect((await selectTools({ task: "a", tools, embeddings })).selected).toHaveLength(3);
  });

  it("has nothing to select from no tools", async () => {
    const nothing = { selected: [], considered: 0, refused: [] };
    expect(await selectTools({ task: "weather", tools: [] })).toEqual(nothing);
  });

  it.each([
    ["topK", { topK: 0 }],
    ["topK", { topK: 1.5 }],
    ["minScore", { minScore: Number.NaN }],
    ["minScore", { minScore: 2 }],
    ["weights.keyword", { weights: { keyword: -1 } }],
    ["now", { now: new Date("never") }],
    ["history[0].at", { history: [use("get_weather", "success", "yesterday")] }],
  ])("refuses a bad %s", async (option, options) => {
    const error = await selectTools({ task: "a", tools, ...options }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(InvalidSelectionOptionError);
    expect(error).toMatchObject({ code: "invalid_selection_option", option });
  });

  it("stops with the reason of its signal", async () => {
    const reason = new Error("enough");
    const signal = AbortSignal.abort(reason);
    await expect(selectTools({ task: "a", tools, signal })).rejects.toBe(reason);
  });
});

describe("selectTools, for any tools", () => {
  const words = fc
    .array(fc.constantFrom("weather", "mail", "city", "convert", "price", "zorb"), { maxLength: 5 })
    .map((some) => some.join(" "));
  const anyTools = fc
    .array(fc.record({ description: words, secured: fc.boolean() }), { maxLength: 12 })
    .map((all) =>
      all.map(({ description, secured }, at) =>
        tool(`tool_${at}`, description, secured ? ["x:y"] : []),
      ),
    );
  const anyHistory = fc.array(
    fc.record({
      tool: fc.nat(12).map((at) => `tool_${at}`),
      outcome: fc.constantFrom("success" as const, "error" as const),
      at: fc.nat(120).map((minutes) => new Date(now.getTime() - minutes * 60_000).toISOString()),
    }),
  );
  const anyCase = fc.record({ task: words, tools: anyTools, history: anyHistory });

  it("keeps every score from 0 to 1, selects topK at most and none that is refused", async () => {
    await fc.assert(
      fc.asyncProperty(anyCase, fc.integer({ min: 1, max: 12 }), async (one, topK) => {
        const { selected, refused, considered } = await selectTools({ ...one, topK, now });
        expect(selected.length).toBeLessThanOrEqual(topK);
        expect(considered + refused.length).toBe(one.tools.length);
        for (const { name, ...numbers } of selected) {
          expect(refused).not.toContain(name);
          for (const value of Object.values(numbers)) {
            expect(value).toBeGreaterThanOrEqual(0);
            expect(value).toBeLessThanOrEqual(1 + 1e-9);
          }
        }
      }),
    );
  });

  it("gives each tool the same score in any order of the tools, and equals in that order", async () => {
    await fc.assert(
      fc.asyncProperty(anyCase, async (one) => {
        const options = { ...one, topK: 100, now };
        const { selected } = await selectTools(options);
        const reversed = await selectTools({ ...options, tools: one.tools.toReversed() });
        const names = (all: typeof selected, same: readonly SelectableTool[]) => {
          const place = (name: string) =>
            same.findIndex(({ definition }) => definition.name === name);
          return all
            .toSorted((a, b) => b.score - a.score || place(a.name) - place(b.name))
            .map(({ name }) => name);
        };
        expect(selected.map(({ name }) => name)).toEqual(names(selected, one.tools));
        expect(names(reversed.selected, one.tools)).toEqual(names(selected, one.tools));
      }),
    );
  });

  it("never lowers a tool's score for one more success", async () => {
    await fc.assert(
      fc.asyncProperty(anyCase, fc.nat(12), async (one, at) => {
        const name = `tool_${at}`;
        const scoreWith = async (history: readonly ToolUse[]) => {
          const options = { ...one, history, topK: 100, permissions: ["x:*"], now };
          return (await selectTools(options)).selected.find((tried) => tried.name === name)?.score;
        };
        const before = await scoreWith(one.history);
        const after = await scoreWith([...one.history, use(name, "success")]);
        expect(after ?? 0).toBeGreaterThanOrEqual(before ?? 0);
      }),
    );
  });
});

import { describe, expect, it } from "vitest";
import { offeredTools } from "../../../src/compile/loop/reason.ts";

const tools = [{ name: "look", description: "Looks.", input_schema: { type: "object" } }];
const model = { toolCalling: true, parallelCalls: true };
const taken = new Set(["look"]);
const names = (...options: Parameters<typeof offeredTools>) =>
  offeredTools(...options).map(({ name }) => name);

describe("offeredTools", () => {
  it("has a way to note beside the tools, in the same array every time", () => {
    const to = { model, mode: "fast", taken } as const;
    expect(names(tools, to)).toEqual(["look", "note_step"]);
    expect(offeredTools(tools, { ...to })).toBe(offeredTools(tools, to));
  });

  it.each([
    ["makes one call at a time", { model: { ...model, parallelCalls: false } }],
    ["calls tools in text", { model: { ...model, toolCalling: false } }],
    ["reflects on its steps anyway", { mode: "deep" as const }],
    ["has a tool of that name", { taken: new Set(["look", "note_step"]) }],
  ])("is the tools alone for a model that %s", (_why, over) => {
    expect(offeredTools(tools, { model, mode: "fast", taken, ...over })).toBe(tools);
  });

  it("is empty where there are no tools", () => {
    expect(names([], { model, mode: "fast", taken })).toEqual([]);
  });
});

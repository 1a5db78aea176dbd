import { expect, it } from "vitest";
import { contextSettingsOf } from "../../../src/compile/loop/context.ts";
import { defineAgent } from "../../../src/index.ts";

it("reads how contexts are made from a definition, defaults included", () => {
  expect(contextSettingsOf(defineAgent({ name: "a" }).spec, {})).toEqual({
    utilization: "medium",
    whole: "turn",
    previewChars: 1000,
    shortTerm: { strategy: "hybrid", maxTokens: 4000 },
  });
  const { spec } = defineAgent({
    name: "a",
    context_config: {
      utilization: "full",
      budget: 4000,
      whole_results: "last_step",
      preview_chars: 300,
    },
    memory_config: { short_term: { max_tokens: 500, strategy: "fifo" } },
  });
  expect(contextSettingsOf(spec, { cachedShare: 0.1 })).toEqual({
    utilization: "full",
    budget: 4000,
    whole: "last_step",
    previewChars: 300,
    shortTerm: { strategy: "fifo", maxTokens: 500 },
  });
});

it("keeps more of earlier turns for models whose cached tokens cost little", () => {
  const { spec } = defineAgent({ name: "a" });
  const tokens = (cachedShare?: number) =>
    contextSettingsOf(spec, cachedShare === undefined ? {} : { cachedShare }).shortTerm?.maxTokens;
  expect([0.1, 0.25, 0.26, 1].map(tokens)).toEqual([8000, 8000, 4000, 4000]);
  expect(tokens()).toBe(4000);
});

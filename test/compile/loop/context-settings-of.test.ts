import { expect, it } from "vitest";
import { contextSettingsOf } from "../../../src/compile/loop/context.ts";
import { defineAgent } from "../../../src/index.ts";

it("reads how contexts are made from a definition, defaults included", () => {
  expect(contextSettingsOf(defineAgent({ name: "a" }).spec)).toEqual({
    utilization: "medium",
    whole: "turn",
    previewChars: 1000,
    shortTerm: { strategy: "hybrid", maxTokens: 8000 },
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
  expect(contextSettingsOf(spec)).toEqual({
    utilization: "full",
    budget: 4000,
    whole: "last_step",
    previewChars: 300,
    shortTerm: { strategy: "fifo", maxTokens: 500 },
  });
});

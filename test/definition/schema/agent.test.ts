import { describe, expect, it } from "vitest";
import { contextOverrides } from "../../../src/definition/schema/agent.ts";
import { defineAgent, InvalidDefinitionError } from "../../../src/index.ts";

const configOf = (written: object) =>
  defineAgent({ name: "a", context_config: written }).spec.context_config;

function refusal(written: object): string {
  try {
    configOf(written);
  } catch (error) {
    if (error instanceof InvalidDefinitionError) return error.message;
  }
  return "accepted";
}

describe("context_config", () => {
  it("has defaults for what is left out", () => {
    const { spec } = defineAgent({ name: "a" });
    expect(spec.context_config).toEqual({
      utilization: "medium",
      whole_results: "turn",
      preview_chars: 1000,
      execution_view: "keys",
    });
    expect(configOf({ summarize_results: {} })).toMatchObject({
      summarize_results: { threshold_tokens: 2000, timeout_seconds: 15 },
    });
  });

  it.each([
    [{ utilization: "high" }, "context_config.utilization"],
    [{ budget: 255 }, "context_config.budget"],
    [{ whole_results: "all" }, "context_config.whole_results"],
    [{ execution_view: "all" }, "context_config.execution_view"],
    [{ preview_chars: 99 }, "context_config.preview_chars"],
    [{ preview: 100 }, "context_config.preview"],
    [{ summarize_results: { model: "gpt" } }, "context_config.summarize_results.model"],
    [{ summarize_results: { threshold_tokens: 199 } }, "summarize_results.threshold_tokens"],
    [{ summarize_results: { timeout_seconds: 301 } }, "summarize_results.timeout_seconds"],
    [{ summarize_results: true }, "context_config.summarize_results"],
  ])("refuses %j by its path", (written, path) => {
    expect(refusal(written)).toContain(path);
  });

  it("is nothing beside its defaults until something else is written", () => {
    expect(contextOverrides(configOf({}))).toBeNull();
    expect(contextOverrides(configOf({ utilization: "medium" }))).toBeNull();
    expect(contextOverrides(configOf({ utilization: "low", preview_chars: 1000 }))).toEqual({
      utilization: "low",
    });
    expect(contextOverrides(configOf({ summarize_results: {} }))).toEqual({
      summarize_results: { threshold_tokens: 2000, timeout_seconds: 15 },
    });
  });
});

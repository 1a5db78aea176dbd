import { describe, expect, it } from "vitest";
import { checkDefinition } from "../../../src/definition/check/check-definition.ts";
import { memoryWarnings } from "../../../src/definition/check/memory.ts";
import { describeProblem } from "../../../src/definition/check/problems.ts";

function warningsOf(definition: object): readonly string[] {
  const checked = checkDefinition({ name: "a", ...definition });
  if (!checked.ok) throw new Error(checked.problems.map(describeProblem).join("\n"));
  return memoryWarnings(checked.spec);
}

const memory = (long_term: object, procedural: object = {}) => ({
  memory_config: { long_term, procedural },
});

describe("the checks of memory_config", () => {
  it("refuse weights of consolidation that are all 0", () => {
    const weights = { recency: 0, frequency: 0, relevance: 0 };
    const problemsOf = (given: object) => {
      const checked = checkDefinition({
        name: "a",
        ...memory({ enabled: true, consolidation: { weights: given } }),
      });
      return checked.ok ? [] : checked.problems.map(describeProblem);
    };
    expect(problemsOf(weights)).toEqual([
      "memory_config.long_term.consolidation.weights: expected at least one weight over 0 (found 0)",
    ]);
    expect(problemsOf({ ...weights, recency: 0.1 })).toEqual([]);
    // One that is left out has its default.
    expect(problemsOf({ recency: 0, frequency: 0 })).toEqual([]);
  });

  it("find nothing in a config without memory, and in one with defaults", () => {
    expect(warningsOf({})).toEqual([]);
    expect(warningsOf(memory({ enabled: true }))).toEqual([]);
    expect(warningsOf({ tools: ["calculator"], ...memory({}, { enabled: true }) })).toEqual([]);
  });

  it("name the keys that have no effect because the memory is off", () => {
    const off = { top_k: 3, embedding_model: "local:minilm", consolidation: { max_entries: 5 } };
    expect(warningsOf(memory(off, { min_frequency: 2 }))).toEqual([
      "memory_config.long_term: embedding_model, top_k, consolidation without effect, since long_term.enabled is false.",
      "memory_config.procedural.min_frequency: without effect, since procedural.enabled is false.",
    ]);
  });

  it("warn of memories that fill the whole context", () => {
    const context_config = { budget: 1_500 };
    expect(warningsOf({ context_config, ...memory({ enabled: true }) })).toEqual([
      "memory_config.long_term.max_tokens: memories may take 1,500 tokens of a context of 1,500 (context_config.budget).",
    ]);
    expect(warningsOf({ context_config, ...memory({ enabled: true, max_tokens: 500 }) })).toEqual(
      [],
    );
  });

  it("warn of entries that may be longer than all entries of a thread", () => {
    const consolidation = { max_tokens: 300, max_entry_tokens: 400 };
    expect(warningsOf(memory({ enabled: true, consolidation }))).toEqual([
      "memory_config.long_term.consolidation: one entry may have more tokens (max_entry_tokens 400) than a thread's entries together (max_tokens 300).",
    ]);
  });

  it("warn of patterns that are never learnt, or learnt from one turn", () => {
    expect(warningsOf(memory({}, { enabled: true, min_frequency: 1 }))).toEqual([
      "memory_config.procedural: the agent has no tools, so it never learns a pattern.",
      "memory_config.procedural.min_frequency: with 1, the tools of every successful turn become a pattern at once.",
    ]);
  });
});

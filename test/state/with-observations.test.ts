import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Observation,
  type StepRecord,
  withObservations,
} from "../../src/state/step-record.ts";
import { stepRecord, toolResult } from "../helpers/step-record.ts";

const called = (id: string, over: Partial<StepRecord> = {}): StepRecord =>
  stepRecord({ tool_results: [toolResult({ id })], ...over });
const noting = (...observations: Observation[]): StepRecord => stepRecord({ observations });
const noted = (over: Partial<Observation>): Observation => ({
  id: "a",
  insights: "",
  learning: "",
  relevance: "",
  ...over,
});

describe("withObservations", () => {
  it("puts what a later step noted beside the result", () => {
    const note = {
      insights: "3 of 12 match",
      learning: "ask for less",
      relevance: "high",
    } as const;
    const [first] = withObservations([called("a"), noting(noted(note))]);
    expect(first?.tool_results).toEqual([toolResult({ id: "a", ...note })]);
  });

  it("gives the same list where nothing was noted, and the same steps where nothing was noted on them", () => {
    const steps = [called("a"), called("b")];
    expect(withObservations(steps)).toBe(steps);
    const note = noting(noted({ insights: "i" }));
    const observed = withObservations([...steps, note]);
    expect(observed[0]).not.toBe(steps[0]);
    expect(observed[1]).toBe(steps[1]);
    expect(observed[2]).toBe(note);
    expect(steps[0]?.tool_results[0]?.insights).toBe("");
  });

  it("lets the later word stand, field by field", () => {
    const [first] = withObservations([
      called("a"),
      noting(noted({ insights: "early", relevance: "low" })),
      noting(noted({ insights: "late", learning: "l" })),
    ]);
    expect(first?.tool_results[0]).toMatchObject({
      insights: "late",
      learning: "l",
      relevance: "low",
    });
  });

  it("keeps what a reflection said where a note leaves it empty", () => {
    const reflected = stepRecord({ tool_results: [toolResult({ id: "a", learning: "own" })] });
    const [first] = withObservations([reflected, noting(noted({ insights: "i" }))]);
    expect(first?.tool_results[0]).toMatchObject({ insights: "i", learning: "own" });
  });

  it("takes a call of the same id in another turn for another", () => {
    const [before, after] = withObservations([
      called("a"),
      called("a", { turn_number: 1 }),
      { ...noting(noted({ insights: "i" })), turn_number: 1 },
    ]);
    expect(before?.tool_results[0]?.insights).toBe("");
    expect(after?.tool_results[0]?.insights).toBe("i");
  });

  it("changes nothing but the three fields, and nothing when it is done again", () => {
    const id = fc.constantFrom("a", "b", "c");
    const observation = fc.record({
      id,
      insights: fc.constantFrom("", "i"),
      learning: fc.constantFrom("", "l"),
      relevance: fc.constantFrom("" as const, "high" as const),
    });
    const step = fc
      .record({ ids: fc.uniqueArray(id), observations: fc.array(observation) })
      .map(({ ids, observations }) =>
        stepRecord({ tool_results: ids.map((one) => toolResult({ id: one })), observations }),
      );
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const observed = withObservations(steps);
        expect(withObservations(observed)).toEqual(observed);
        const stripped = observed.map((one) => ({
          ...one,
          tool_results: one.tool_results.map(({ id: call }) => toolResult({ id: call })),
        }));
        expect(stripped).toEqual(steps);
      }),
    );
  });
});

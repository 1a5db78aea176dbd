import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noNote, readObservations, readStepNote } from "../../src/context/step-note.ts";
import { stepRecord, toolResult } from "../helpers/step-record.ts";

const behind = [
  stepRecord({ tool_results: [toolResult({ id: "a1", name: "search" })] }),
  stepRecord({
    tool_results: [
      toolResult({ id: "b1", name: "search" }),
      toolResult({ id: "b2", name: "search" }),
      toolResult({ id: "b3", name: "read" }),
    ],
  }),
];

describe("readStepNote", () => {
  it("reads what is said of the step, and of results by the ids of their calls", () => {
    const said = {
      results: [{ call: "a1", insights: "i", learning: "l", relevance: "low" }],
      synthesis: "one place less",
      progress: "regressing",
      hypothesis: { belief: "it is in b", test: "look" },
    };
    expect(readStepNote([said], behind)).toEqual({
      observations: [{ id: "a1", insights: "i", learning: "l", relevance: "low" }],
      synthesis: "one place less",
      progress: "regressing",
      hypothesis: { belief: "it is in b", test: "look" },
    });
  });

  it("takes a name for the calls of the last step that has one of it, in their order", () => {
    const results = ["search", "search", "search", "read"].map((call, at) => {
      return { call, insights: `${at}` };
    });
    expect(readObservations(results, behind).map(({ id, insights }) => [id, insights])).toEqual([
      ["b1", "0"],
      ["b2", "1"],
      ["b3", "3"],
    ]);
  });

  it("ignores what is of another type, field by field, and calls that are not known", () => {
    const said = {
      results: [
        { call: "gone", insights: "i" },
        { call: 7, insights: "i" },
        "search",
        { call: "b3", insights: 1, learning: ["l"], relevance: "high" },
        { call: "a1", relevance: "vital" },
      ],
      synthesis: { text: "s" },
      progress: "fine",
      hypothesis: "it is in b",
    };
    expect(readStepNote([said], behind)).toEqual({
      ...noNote,
      observations: [{ id: "b3", insights: "", learning: "", relevance: "high" }],
    });
    expect(readStepNote([{ results: "none" }, null, "text"], behind)).toEqual(noNote);
  });

  it("reads several notes as one, in which the first word stands", () => {
    const notes = [
      { synthesis: "", progress: "stuck", results: [{ call: "b3", insights: "first" }] },
      { synthesis: "s", progress: "advancing", results: [{ call: "b3", insights: "second" }] },
    ];
    expect(readStepNote(notes, behind)).toEqual({
      ...noNote,
      synthesis: "s",
      progress: "stuck",
      observations: [{ id: "b3", insights: "first", learning: "", relevance: "" }],
    });
  });

  it("keeps no more than 2,000 characters of a text, and fifty results", () => {
    const note = readStepNote([{ synthesis: "x".repeat(3000) }], behind);
    expect(note.synthesis).toBe(`${"x".repeat(2000)}… [cut: 1,000 more characters]`);
    const results = Array.from({ length: 60 }, (_, n) => toolResult({ id: `c${n}` }));
    const said = results.map(({ id }) => ({ call: id, relevance: "low" }));
    expect(readObservations(said, [{ tool_results: results }])).toHaveLength(50);
  });

  it("throws on nothing that a model may write", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (said) => {
        const results = said.map((one) => ({ results: [one, { call: "a1", insights: one }] }));
        const { observations } = readStepNote([...said, ...results], behind);
        expect(observations.length).toBeLessThanOrEqual(4);
      }),
    );
  });
});

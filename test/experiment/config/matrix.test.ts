import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkExperiment } from "../../../src/experiment/config/load-experiment.ts";
import { axesOf, expandMatrix } from "../../../src/experiment/config/matrix.ts";

type Matrix = Parameters<typeof axesOf>[0];

function idsOf(matrix: Matrix): readonly string[] {
  return expandMatrix("drift", axesOf(matrix)).map(({ run_id }) => run_id);
}

describe("expandMatrix", () => {
  it("makes one run where nothing varies", () => {
    expect(idsOf({})).toEqual(["drift"]);
  });

  it("names runs by their values alone, in one order, with the last key changing fastest", () => {
    const matrix = {
      system_prompt: { calm: "x", curious: "y" },
      num_predict: [-1],
      model_name: ["ollama:hf.co/org/llama3:latest", "openai:gpt-4o"],
      temperature: [0.5],
    };
    expect(idsOf(matrix)).toEqual([
      "drift.hf.co-org-llama3-latest.temperature-0.5.num_predict--1.calm",
      "drift.gpt-4o.temperature-0.5.num_predict--1.calm",
      "drift.hf.co-org-llama3-latest.temperature-0.5.num_predict--1.curious",
      "drift.gpt-4o.temperature-0.5.num_predict--1.curious",
    ]);
  });

  const modelName = fc
    .tuple(
      fc.constantFrom("ollama", "openai"),
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
    )
    .map(([provider, model]) => `${provider}:${model}`);
  const matrix: fc.Arbitrary<Matrix> = fc.record(
    {
      model_name: fc.uniqueArray(modelName, { minLength: 1, maxLength: 4 }),
      seed: fc.uniqueArray(fc.integer(), { minLength: 1, maxLength: 4 }),
      temperature: fc.uniqueArray(fc.double({ min: 0, max: 2, noNaN: true }), {
        minLength: 1,
        maxLength: 3,
      }),
      system_prompt: fc.dictionary(
        fc.stringMatching(/^[A-Za-z][A-Za-z0-9._-]{0,8}$/),
        fc.string(),
        {
          minKeys: 1,
          maxKeys: 3,
        },
      ),
    },
    { requiredKeys: ["seed"] },
  );

  it("gives every run that is not refused an id of its own that any file system takes", () => {
    let taken = 0;
    fc.assert(
      fc.property(matrix, (varied) => {
        const named = varied.model_name === undefined ? { model_name: "ollama:a" } : {};
        const checked = checkExperiment(
          { run_id: "drift", cycle_count: 1, ...named, matrix: varied },
          {},
        );
        if (!checked.ok) return;
        taken += 1;
        const ids = checked.points.map(({ run_id }) => run_id);
        expect(new Set(ids.map((id) => id.toLowerCase())).size).toBe(ids.length);
        for (const id of ids) expect(id).toMatch(/^drift[A-Za-z0-9._-]{1,123}$/);
      }),
    );
    expect(taken).toBeGreaterThan(20);
  });

  it("keeps the ids of runs when values are added", () => {
    fc.assert(
      fc.property(matrix, fc.integer(), (varied, seed) => {
        const more = idsOf({ ...varied, seed: [seed, ...(varied.seed ?? [])] });
        expect(more).toEqual(expect.arrayContaining([...idsOf(varied)]));
      }),
    );
  });
});

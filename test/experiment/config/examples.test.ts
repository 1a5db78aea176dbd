import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { loadExperiment } from "../../../src/experiment/config/load-experiment.ts";

const configs = readdirSync("examples/experiment").filter((file) => file.endsWith(".yaml"));

it.each([
  ["offline.yaml", 2],
  ["ollama.yaml", 12],
])("the example %s makes %i runs", async (file, count) => {
  expect(configs).toContain(file);
  expect((await loadExperiment(`examples/experiment/${file}`)).runs).toHaveLength(count);
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DefinitionFileError } from "../../../src/definition/load/parse-definition.ts";
import { InvalidExperimentError } from "../../../src/experiment/errors.ts";
import {
  defineExperiment,
  loadExperiment,
  parseExperiment,
} from "../../../src/experiment/config/load-experiment.ts";
import { refusalOf } from "./refusal.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const folder = tempFolder({
  "drift.yaml": [
    "run_id: drift",
    "cycle_count: 100",
    "matrix:",
    "  seed: [2, 1]",
    "  model_name: ['ollama:llama3:latest', 'offline:rules']",
    "  system_prompt:",
    "    curious: Explore.",
    "ollama_client_config: { host: 'localhost:11434', timeout_ms: 5000 }",
    "model_options: { temperature: 0.5 }",
    "parallel: 2",
  ].join("\n"),
  "one.json": '{ "run_id": "one", "cycle_count": 1, "model_name": "offline:rules" }',
  "notes.txt": "run_id: a",
});

/** The message for a file with this text, its folder left out. */
async function messageOf(text: string, name = "wrong.yaml"): Promise<string> {
  const file = join(folder, name);
  writeFileSync(file, text);
  const error = await refusalOf(() => loadExperiment(file));
  return error.message.replaceAll(`${folder}/`, "");
}

describe("loadExperiment", () => {
  it("makes a run for every combination, in the order of the file", async () => {
    const file = join(folder, "drift.yaml");
    const { runs, ...rest } = await loadExperiment(file);
    expect(rest).toEqual({ run_id: "drift", cycle_count: 100, parallel: 2, source: file });
    expect(runs.map(({ run_id }) => run_id)).toEqual([
      "drift.llama3-latest.seed-2.curious",
      "drift.rules.seed-2.curious",
      "drift.llama3-latest.seed-1.curious",
      "drift.rules.seed-1.curious",
    ]);
    expect(runs[1]).toMatchObject({
      model_name: "offline:rules",
      cycle_count: 100,
      model_options: { temperature: 0.5, seed: 2 },
      system_prompt: "Explore.",
      variant: { model_name: "offline:rules", seed: 2, system_prompt: "curious" },
    });
  });

  it("tells only models of Ollama how their server is reached", async () => {
    const { runs } = await loadExperiment(join(folder, "drift.yaml"));
    expect(runs.map((run) => run.ollama_client_config)).toEqual([
      { host: "localhost:11434", timeout_ms: 5000 },
      null,
      { host: "localhost:11434", timeout_ms: 5000 },
      null,
    ]);
  });

  it("fills in defaults", async () => {
    const { runs, parallel } = await loadExperiment(join(folder, "one.json"));
    expect(parallel).toBe(1);
    expect(runs).toEqual([
      {
        run_id: "one",
        model_name: "offline:rules",
        cycle_count: 1,
        model_options: {},
        ollama_client_config: null,
        system_prompt: expect.stringContaining("Your memory is not") as string,
        cycle_prompt: expect.stringContaining(
          "This is cycle ${cycle_number} of ${cycle_count}.",
        ) as string,
        reflection_prompt: expect.stringContaining("Reflect on it") as string,
        reflections_shown: 10,
        tools: ["memory_write", "memory_read", "memory_list", "memory_delete", "message_operator"],
        permissions: [],
        max_iterations: 10,
        variant: { model_name: "offline:rules", seed: null, system_prompt: null },
      },
    ]);
  });

  it("names every problem at once, each with its place", async () => {
    const text = [
      "run_id: .drift",
      "cycle_cuont: 5",
      "model_name: llama3",
      "model_options:",
      "  temperature: 3",
      "  seed: 1",
      "cycle_prompt: Cycle ${cycle}",
      "tools: [memory_write, memory_write]",
      "matrix:",
      "  seed: [1, 2, 1]",
      "  num_ctx: []",
    ].join("\n");
    expect(await messageOf(text)).toBe(
      [
        "The experiment has 10 problems:",
        "  wrong.yaml:1:1 cycle_count: expected a number, but it is missing",
        '  wrong.yaml:1:9 run_id: expected letters, digits, ., _ and -, and no . at the beginning (found ".drift")',
        '  wrong.yaml:2:1 cycle_cuont: unknown key (allowed: run_id, model_name, cycle_count, ollama_client_config, model_options, system_prompt, cycle_prompt, reflection_prompt, reflections_shown, tools, permissions, max_iterations, matrix, parallel; did you mean "cycle_count"?)',
        '  wrong.yaml:3:13 model_name: expected provider:model, with one of the allowed providers (found "llama3"; allowed: openai, anthropic, google, mistral, groq, bedrock, ollama, offline; did you mean "ollama:llama3"?)',
        "  wrong.yaml:5:16 model_options.temperature: expected at most 2 (found 3)",
        "  wrong.yaml:7:15 cycle_prompt: template 'Cycle ${cycle}' at character 9: unknown variable \"cycle\", there are cycle_number, cycle_count, run_id",
        '  wrong.yaml:8:23 tools[1]: "memory_write" is already named by tools[0]',
        "  wrong.yaml:10:9 matrix.seed: also set by model_options.seed; leave one of the two out",
        "  wrong.yaml:10:16 matrix.seed[2]: the same as matrix.seed[0] (found 1)",
        "  wrong.yaml:11:12 matrix.num_ctx: expected at least 1 entry (found an empty list)",
      ].join("\n"),
    );
  });

  it.each([
    ["a: b\n\tc: d\n", "wrong.yaml:2:1 YAML: a tab indents this line; use spaces"],
    ["", "wrong.yaml:1:1 expected an experiment, but the file is empty"],
    [
      "run_id: a\n---\nrun_id: b\n",
      "wrong.yaml:2:1 YAML: a second document begins here; a file holds one experiment",
    ],
    ["run_id: a\nrun_id: b\n", 'wrong.yaml:2:1 YAML: the key "run_id" is written twice'],
  ])("says what is wrong with the text %j", async (text, problem) => {
    expect(await messageOf(text)).toBe(`The experiment has 1 problem:\n  ${problem}`);
  });

  it("says where JSON is none", async () => {
    expect(await messageOf('{\n  "run_id": }', "wrong.json")).toMatch(
      /^The experiment has 1 problem:\n {2}wrong\.json:2:13 JSON syntax: /,
    );
  });

  it("refuses a file that is no config", async () => {
    const file = join(folder, "notes.txt");
    await expect(loadExperiment(file)).rejects.toThrow(
      new DefinitionFileError(file, "expected a .yaml, .yml or .json file"),
    );
  });
});

describe("parseExperiment", () => {
  const config = { run_id: "a", cycle_count: 2, model_name: "offline:rules" };

  it("makes the same runs of an object, which stays as it is", () => {
    const tools = ["memory_read"];
    const experiment = parseExperiment({ ...config, tools });
    expect(experiment).toEqual(defineExperiment({ ...config, tools }));
    expect(experiment.source).toBeUndefined();
    expect(Object.isFrozen(experiment.runs[0]?.tools)).toBe(true);
    expect(Object.isFrozen(tools)).toBe(false);
  });

  it("says without places what is wrong", () => {
    expect(() => parseExperiment({ ...config, parallel: 65 })).toThrow(
      new InvalidExperimentError([
        { path: ["parallel"], message: "expected at most 64", found: "65" },
      ]),
    );
  });

  it("knows models of code, which keep their own options", () => {
    const models = { instances: { "mine:one": {} as never } };
    const mine = { ...config, model_name: "mine:one", model_options: { num_ctx: 4096 } };
    expect(parseExperiment(mine, models).runs[0]?.model_options).toEqual({ num_ctx: 4096 });
    const providers = {
      mine: { options: ["seed" as const], create: () => Promise.reject(new Error("unused")) },
    };
    expect(() => parseExperiment(mine, { providers })).toThrow(
      'model_options.num_ctx: the model "mine:one" does not take this option (allowed: seed)',
    );
  });
});

import { describe, expect, it } from "vitest";
import { describeProblem } from "../../../src/definition/check/problems.ts";
import { checkExperiment } from "../../../src/experiment/config/load-experiment.ts";

const base = { run_id: "a", cycle_count: 3, model_name: "ollama:llama3" };

/** The problems of a config with these parts, as people read them. */
function problemsOf(parts: Record<string, unknown>): readonly string[] {
  const checked = checkExperiment({ ...base, ...parts }, {});
  return checked.ok ? [] : checked.problems.map(describeProblem);
}

/** Of a config that names its models in the matrix alone. */
function problemsOfMatrix(matrix: unknown, parts: Record<string, unknown> = {}) {
  return problemsOf({ model_name: undefined, matrix, ...parts });
}

describe("checkExperiment", () => {
  it("finds nothing in a config that says no more than it has to", () => {
    expect(problemsOf({})).toEqual([]);
  });

  it("takes everything that a config can say", () => {
    const parts = {
      ollama_client_config: {
        host: "https://models.example:11434/ollama",
        timeout_ms: 60_000,
        headers: { Authorization: "Bearer {{secret:OLLAMA_KEY}}" },
      },
      model_options: {
        seed: 1,
        temperature: 0,
        top_p: 1,
        num_predict: -1,
        repeat_last_n: -1,
        repeat_penalty: 1.1,
        num_ctx: 8192,
      },
      system_prompt: "",
      cycle_prompt: "${run_id}: ${cycle_number * 2} of ${cycle_count}",
      reflection_prompt: "Well?",
      reflections_shown: 0,
      tools: ["memory_read", { mcp: { name: "x", transport: "stdio", command: "y" } }],
      permissions: ["file:*"],
      max_iterations: 1000,
      parallel: 64,
    };
    expect(problemsOf(parts)).toEqual([]);
  });

  it.each<[Record<string, unknown>, string]>([
    [
      { run_id: "a/b" },
      'run_id: expected letters, digits, ., _ and -, and no . at the beginning (found "a/b")',
    ],
    [
      { run_id: "a".repeat(129) },
      `run_id: expected at most 128 characters (found "${"a".repeat(57)}…")`,
    ],
    [{ cycle_count: 0 }, "cycle_count: expected at least 1 (found 0)"],
    [{ cycle_count: 1_000_001 }, "cycle_count: expected at most 1000000 (found 1000001)"],
    [{ cycle_count: 1.5 }, "cycle_count: expected a whole number (found 1.5)"],
    [{ max_iterations: 1001 }, "max_iterations: expected at most 1000 (found 1001)"],
    [{ reflections_shown: -1 }, "reflections_shown: expected at least 0 (found -1)"],
    [{ parallel: 0 }, "parallel: expected at least 1 (found 0)"],
    [{ cycle_prompt: "" }, 'cycle_prompt: expected at least 1 character (found "")'],
    [
      { model_options: { num_predict: -3 } },
      "model_options.num_predict: expected at least -2 (found -3)",
    ],
    [
      { model_options: { max_tokens: 5 } },
      "model_options.max_tokens: unknown key (allowed: seed, temperature, top_p, num_predict, repeat_last_n, repeat_penalty, num_ctx)",
    ],
    [
      { permissions: ["file read"] },
      'permissions[0]: expected a permission such as file:read, or a pattern such as network:* (found "file read")',
    ],
    [{ tools: [3] }, "tools[0]: expected a text or a map (found 3)"],
    [{ matrix: null }, "matrix: expected a map (found null)"],
    [
      { matrix: {} },
      "matrix: expected at least one key with the values that runs differ in (found an empty map; allowed: model_name, seed, temperature, top_p, num_predict, repeat_last_n, repeat_penalty, num_ctx, system_prompt)",
    ],
    [
      { matrix: { seeds: [1] } },
      'matrix.seeds: unknown key (allowed: model_name, seed, temperature, top_p, num_predict, repeat_last_n, repeat_penalty, num_ctx, system_prompt; did you mean "seed"?)',
    ],
    [{ matrix: { seed: 1 } }, "matrix.seed: expected a list (found 1)"],
    [{ matrix: { temperature: [0.5, 3] } }, "matrix.temperature[1]: expected at most 2 (found 3)"],
    [{ matrix: { system_prompt: ["a"] } }, "matrix.system_prompt: expected a map (found a list)"],
    [
      { matrix: { system_prompt: { "very curious": "x" } } },
      'matrix.system_prompt["very curious"]: expected a prompt\'s name of at most 64 letters, digits, ., _ and -, a letter at the beginning',
    ],
    [
      JSON.parse('{ "matrix": { "system_prompt": { "__proto__": "x" } } }') as Record<
        string,
        unknown
      >,
      "matrix.system_prompt.__proto__: expected a prompt's name of at most 64 letters, digits, ., _ and -, a letter at the beginning",
    ],
    [
      { matrix: { model_name: ["offline:rules"] } },
      "matrix.model_name: also set by model_name; leave one of the two out",
    ],
    [
      { system_prompt: "x", matrix: { system_prompt: { b: "y" } } },
      "matrix.system_prompt: also set by system_prompt; leave one of the two out",
    ],
    [
      { model_name: undefined },
      "model_name: expected provider:model, here or in matrix.model_name, but it is missing",
    ],
    [
      { model_name: "gpt-4o" },
      'model_name: expected provider:model, with one of the allowed providers (found "gpt-4o"; allowed: openai, anthropic, google, mistral, groq, bedrock, ollama, offline; did you mean "openai:gpt-4o"?)',
    ],
    [
      { model_name: "ollma:llama3" },
      'model_name: expected provider:model, with one of the allowed providers (found "ollma:llama3"; allowed: openai, anthropic, google, mistral, groq, bedrock, ollama, offline; did you mean "ollama:llama3"?)',
    ],
    [
      { model_name: "ollama: llama3" },
      'model_name: expected provider:model without spaces (found "ollama: llama3")',
    ],
    [
      { model_name: "openai:gpt-4o", model_options: { num_ctx: 1 } },
      'model_options.num_ctx: the model "openai:gpt-4o" does not take this option (allowed: seed, temperature, top_p)',
    ],
    [
      { model_name: "openai:gpt-4o", ollama_client_config: { host: "a" } },
      "ollama_client_config: only models of ollama: are reached with this, and no run has one",
    ],
    [
      { ollama_client_config: { host: "ftp://a" } },
      'ollama_client_config.host: expected a host such as 127.0.0.1:11434, or an http or https URL (found "ftp://a")',
    ],
    [
      { ollama_client_config: { hots: "a" } },
      'ollama_client_config.hots: unknown key (allowed: host, timeout_ms, headers; did you mean "host"?)',
    ],
  ])("says of %j what is wrong", (parts, problem) => {
    expect(problemsOf(parts)).toEqual([problem]);
  });

  it("does not show what may be a secret", () => {
    const headers = { A: 12345, B: "{{secret:no name}}", C: "abc\ndef", "d d": "abc" };
    expect(problemsOf({ ollama_client_config: { headers } })).toEqual([
      "ollama_client_config.headers.A: expected a text (found a number)",
      "ollama_client_config.headers.C: a header's value is one line of Latin letters, digits and signs",
      'ollama_client_config.headers["d d"]: not a name that a header can have',
      "ollama_client_config.headers.B: expected references to secrets such as {{secret:NAME}}, of letters, digits and _",
    ]);
  });

  it("names the run whose model does not take an option, where there are several", () => {
    const matrix = {
      model_name: ["ollama:llama3", "openai:gpt-4o", "anthropic:claude"],
      seed: [1, 2],
    };
    expect(problemsOfMatrix(matrix, { model_options: { num_ctx: 1 } })).toEqual([
      'model_options.num_ctx: the model "openai:gpt-4o" of the run "a.gpt-4o.seed-1" does not take this option (allowed: seed, temperature, top_p)',
      'matrix.seed: the model "anthropic:claude" of the run "a.claude.seed-1" does not take this option (allowed: temperature, top_p)',
      'model_options.num_ctx: the model "anthropic:claude" of the run "a.claude.seed-1" does not take this option (allowed: temperature, top_p)',
    ]);
  });

  it("refuses values that are written twice", () => {
    const model_name = ["offline:rules", "offline:rules"];
    expect(problemsOfMatrix({ model_name, temperature: [0, 0.5, 0] })).toEqual([
      'matrix.model_name[1]: the same as matrix.model_name[0] (found "offline:rules")',
      "matrix.temperature[2]: the same as matrix.temperature[0] (found 0)",
    ]);
  });

  it("refuses ten million runs without making them", () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index);
    const matrix = {
      seed: hundred,
      num_ctx: hundred.map((one) => one + 1),
      repeat_last_n: hundred,
      model_name: Array.from({ length: 10 }, (_, index) => `offline:m${index}`),
    };
    expect(problemsOfMatrix(matrix)).toEqual([
      "matrix: expected at most 1,000 runs in all (found 10,000,000)",
    ]);
  });

  it("refuses runs of one id, letter case aside, at the value that is only the one's", () => {
    expect(
      problemsOfMatrix({ seed: [1, 2], model_name: ["openai:llama3", "ollama:llama3"] }),
    ).toEqual([
      'matrix.model_name[1]: its run has the same id "a.llama3.seed-1" as that of matrix.model_name[0]; make two experiments of them, each with a run_id of its own (found "ollama:llama3")',
    ]);
    expect(problemsOf({ matrix: { system_prompt: { Calm: "x", calm: "y" } } })).toEqual([
      'matrix.system_prompt.calm: its run has the same id "a.calm" as that of matrix.system_prompt.Calm; make two experiments of them, each with a run_id of its own (found "calm")',
    ]);
    const matrix = {
      model_name: ["ollama:m", "ollama:m.a"],
      system_prompt: { "a.b": "x", b: "y" },
    };
    expect(problemsOfMatrix(matrix)).toEqual([
      'matrix.model_name[1]: its run has the same id "a.m.a.b" as that of matrix.model_name[0]; make two experiments of them, each with a run_id of its own (found "ollama:m.a")',
    ]);
  });

  it("refuses ids that are too long for a file", () => {
    expect(problemsOf({ run_id: "a".repeat(125), matrix: { seed: [1, 20] } })).toEqual([
      `run_id: the ids of runs have at most 128 characters, and one would have 133; shorten run_id (found "${"a".repeat(57)}…")`,
    ]);
  });

  it.each([undefined, null, 3, "text", []])("refuses %j for a config", (written) => {
    const checked = checkExperiment(written, {});
    expect(checked.ok).toBe(false);
  });

  it("refuses what is nested too deeply to be checked", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 10_000; level += 1) deep = [deep];
    expect(problemsOf({ matrix: deep })).toEqual(["(top level): nested more than 64 levels deep"]);
  });
});

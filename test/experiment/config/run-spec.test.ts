import { describe, expect, it } from "vitest";
import { configChanges } from "../../../src/experiment/config/config-changes.ts";
import { configHash, type RunSpec } from "../../../src/experiment/config/run-spec.ts";
import { parseExperiment } from "../../../src/experiment/config/load-experiment.ts";

function runOf(parts: Record<string, unknown> = {}): RunSpec {
  const base = { run_id: "a", cycle_count: 3, model_name: "ollama:llama3" };
  const [run] = parseExperiment({ ...base, ...parts }).runs;
  if (run === undefined) throw new Error("expected a run");
  return run;
}

const server = (key: string, value: string) => {
  return {
    mcp: { name: "fs", transport: "http", endpoint: "http://a", headers: { [key]: value } },
  };
};

describe("configHash", () => {
  it("is the same whatever the order of the keys and the number of cycles", () => {
    const hash = configHash(runOf({ model_options: { seed: 1, top_p: 0.5 } }));
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(configHash(runOf({ cycle_count: 9, model_options: { top_p: 0.5, seed: 1 } }))).toBe(
      hash,
    );
    const stored = JSON.parse(
      JSON.stringify(runOf({ model_options: { seed: 1, top_p: 0.5 } })),
    ) as RunSpec;
    expect(configHash(stored)).toBe(hash);
  });

  it("is the same wherever the server is", () => {
    const elsewhere = { host: "b:1", timeout_ms: 5, headers: { A: "b" } };
    expect(configHash(runOf({ ollama_client_config: elsewhere }))).toBe(configHash(runOf()));
  });

  it("is the same for a run of a matrix as for that run by itself", () => {
    const inMatrix = runOf({ run_id: "x", matrix: { seed: [1], system_prompt: { calm: "Be." } } });
    const alone = { run_id: "x.seed-1.calm", model_options: { seed: 1 }, system_prompt: "Be." };
    expect(configHash(inMatrix)).toBe(configHash(runOf(alone)));
  });

  it.each<Record<string, unknown>>([
    { run_id: "b" },
    { model_name: "ollama:llama4" },
    { model_options: { seed: 2 } },
    { system_prompt: "b" },
    { cycle_prompt: "b" },
    { reflection_prompt: "b" },
    { reflections_shown: 1 },
    { tools: ["memory_read"] },
    { permissions: ["file:read"] },
    { max_iterations: 2 },
  ])("is another with %j", (parts) => {
    expect(configHash(runOf(parts))).not.toBe(configHash(runOf()));
    expect(configChanges(runOf(), runOf(parts))).toHaveLength(1);
  });
});

describe("configChanges", () => {
  it("finds none where the hash is the same", () => {
    expect(configChanges(runOf(), runOf({ ollama_client_config: { host: "b" } }))).toEqual([]);
  });

  it("lists what is said otherwise, what is no longer said, and what is new", () => {
    const before = runOf({ model_options: { seed: 1, top_p: 0.5 }, permissions: ["a", "b"] });
    const now = runOf({
      cycle_count: 5,
      model_options: { seed: 2, num_ctx: 8 },
      permissions: ["b", "c"],
    });
    expect(configChanges(before, now)).toEqual([
      { key: "cycle_count", before: 3, now: 5 },
      { key: "permissions", before: ["a"], now: ["c"] },
      { key: "model_options.seed", before: 1, now: 2 },
      { key: "model_options.top_p", before: 0.5, now: undefined },
      { key: "model_options.num_ctx", before: undefined, now: 8 },
    ]);
  });

  it("begins long texts shortly before their first difference", () => {
    const before = runOf({ system_prompt: "You are an agent that likes books." });
    const now = runOf({ system_prompt: "You are an agent that likes birds." });
    expect(configChanges(before, now)).toEqual([
      { key: "system_prompt", before: "…that likes books.", now: "…that likes birds." },
    ]);
  });

  it("says that the tools are in another order", () => {
    const order = (tools: readonly string[]) => runOf({ tools });
    expect(configChanges(order(["x", "y"]), order(["y", "x"]))).toEqual([
      { key: "tools", before: ["x", "y"], now: ["y", "x"] },
    ]);
    const mixed = configChanges(
      runOf({ tools: ["x", server("A", "b")] }),
      runOf({ tools: [server("A", "b"), "x"] }),
    );
    expect(mixed).toEqual([{ key: "tools", before: ["x", "fs"], now: ["fs", "x"] }]);
  });

  it("does not show what may be a secret", () => {
    const changes = [
      ...configChanges(
        runOf({ tools: [server("A", "s3cret")] }),
        runOf({ tools: [server("A", "0ther")] }),
      ),
      ...configChanges(runOf({ tools: [] }), runOf({ tools: [server("A", "s3cret")] })),
      ...configChanges(
        runOf({ ollama_client_config: { headers: { A: "s3cret" } } }),
        runOf({ ollama_client_config: { headers: { A: "0ther" } } }),
      ),
    ];
    expect(changes).toEqual([
      { key: "tools.fs.mcp.headers.A", before: "(not shown)", now: "(not shown)" },
      { key: "tools.fs", before: undefined, now: "mcp" },
    ]);
  });
});

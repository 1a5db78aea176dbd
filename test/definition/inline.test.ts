import { describe, expect, it } from "vitest";
import { defineAgent } from "../../src/definition/define-agent.ts";
import { defineWorker } from "../../src/definition/worker.ts";
import { describeProblem, InvalidDefinitionError } from "../../src/definition/check/problems.ts";

const counter = defineWorker({ name: "counter", description: "Counts.", run: () => 1 });
const writer = defineAgent({ name: "writer" });

/** The problems of a planner's definition with these options. */
function problemsOf(options: object): readonly string[] {
  try {
    defineAgent({ name: "lead", ...options });
    return [];
  } catch (thrown) {
    if (!(thrown instanceof InvalidDefinitionError)) throw thrown;
    return thrown.problems.map(describeProblem);
  }
}

const planner = (config: Record<string, unknown>) => ({
  workflow_graph: {
    entry_point: "work",
    nodes: [{ name: "work", type: "planner", config }],
    edges: [{ from: "work", to: "END" }],
  },
});

describe("the workers of defineAgent", () => {
  it("are kept as they are given", () => {
    const agent = defineAgent({ name: "lead", agents: [writer], workers: [counter] });
    expect(agent.workers).toEqual([counter]);
    expect(agent.workers[0]).toBe(counter);
    expect(Object.isFrozen(agent.workers)).toBe(true);
    expect(writer.workers).toEqual([]);
  });

  it("are refused where they are none, or cannot be kept apart", () => {
    const named = { ...counter, name: "writer" };
    const workers = [counter, 3, named, counter, { ...counter, run: 1 }, writer];
    expect(problemsOf({ agents: [writer], workers })).toEqual([
      "workers[1]: expected a worker of defineWorker (found 3)",
      'workers[2]: "writer" is already the name of agents[0]',
      'workers[3]: "counter" is already the name of workers[0]',
      "workers[4]: run is not a function",
      "workers[5]: a name has 1 to 128 lower-case letters, digits, _ and -, and begins with a letter or digit; found nothing",
    ]);
    expect(problemsOf({ workers: counter })).toEqual([
      "workers: expected a list of workers (found a map)",
    ]);
    expect(problemsOf({ workers: null })).toEqual([
      "workers: expected a list of workers (found null)",
    ]);
  });

  it("are what a planner has that lists none, as agents are", () => {
    expect(problemsOf({ workers: [counter], ...planner({}) })).toEqual([]);
    expect(problemsOf({ agents: [writer], ...planner({}) })).toEqual([]);
    expect(problemsOf(planner({}))).toEqual([
      "workflow_graph.nodes[0].config: a planner needs workers: name agents or code workers in workers",
    ]);
  });
});

describe("the hash of a definition", () => {
  it("changes with names and descriptions of its workers, not with their code or order", () => {
    const hashOf = (...workers: readonly Partial<typeof counter>[]) =>
      defineAgent({ name: "lead", workers: workers.map((worker) => ({ ...counter, ...worker })) })
        .hash;
    const other = { name: "other" };
    const hashes = [hashOf(), hashOf({}), hashOf(other), hashOf({ description: "Adds." })];
    expect(new Set(hashes)).toHaveLength(4);
    expect(hashOf({ run: () => 2 })).toBe(hashOf({}));
    expect(hashOf({}, other)).toBe(hashOf(other, {}));
  });
});

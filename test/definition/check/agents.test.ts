import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agentReferences, isAgentPath, subagentKey } from "../../../src/definition/check/agents.ts";
import { defineAgent } from "../../../src/definition/define-agent.ts";
import { loadAgent } from "../../../src/definition/load/load-agent.ts";
import { describeProblem, InvalidDefinitionError } from "../../../src/definition/check/problems.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** A definition whose workflow runs these agents one after the other. */
function desk(name: string, ...agents: readonly string[]): string {
  return yaml(
    name,
    agents.map((agent) => `{ agent: ${agent} }`),
  );
}

function yaml(name: string, configs: readonly string[]): string {
  const steps = configs.map((_, index) => `n${index}`);
  const lines = [
    `name: ${name}`,
    "workflow_graph:",
    "  entry_point: n0",
    "  nodes:",
    ...configs.map((config, index) => `    - { name: n${index}, type: agent, config: ${config} }`),
    "  edges:",
    ...steps.map((step, index) => `    - { from: ${step}, to: ${steps[index + 1] ?? "END"} }`),
  ];
  return `${lines.join("\n")}\n`;
}

/** The problems of the definition that loading or defining an agent refuses, with paths from `folder`. */
async function problemsOf(make: () => unknown, folder = ""): Promise<readonly string[]> {
  const error: unknown = await Promise.resolve()
    .then(make)
    .catch((thrown: unknown) => thrown);
  if (!(error instanceof InvalidDefinitionError)) {
    throw new Error("expected a refusal", { cause: error });
  }
  const inFolder = folder === "" ? "//" : `${folder}/`;
  return error.problems.map((problem) => describeProblem(problem).replaceAll(inFolder, ""));
}

describe("a path", () => {
  it.each(["a.yaml", "a.YML", "team/a.json", "./a", "../a", "/a", "./a.yaml"])("is %s", (agent) => {
    expect(isAgentPath(agent)).toBe(true);
  });

  it.each(["a", "writer", "a-yaml", "team_a"])("is not %s", (agent) => {
    expect(isAgentPath(agent)).toBe(false);
  });
});

describe("loadAgent", () => {
  it("loads the agents that nodes name by path, relative to the file that names them", async () => {
    const folder = tempFolder({
      "desk.yaml": desk("desk", "team/lead.yaml", "writer"),
      "team/lead.yaml": desk("lead", "./hand.json", "../top.yml"),
      "team/hand.json": '{ "name": "hand" }',
      "top.yml": "name: top\n",
    });
    const agent = await loadAgent(join(folder, "desk.yaml"));
    const lead = agent.agents.get("team/lead.yaml");
    expect([...agent.agents.keys()]).toEqual(["team/lead.yaml"]);
    expect(lead?.source).toBe(join(folder, "team/lead.yaml"));
    expect([...(lead?.agents ?? [])].map(([key, { spec }]) => [key, spec.name])).toEqual([
      ["./hand.json", "hand"],
      ["../top.yml", "top"],
    ]);
  });

  it("loads a file once, however many nodes name it", async () => {
    const folder = tempFolder({
      "desk.yaml": desk("desk", "a.yaml", "./b.yaml", "./a.yaml"),
      "a.yaml": "name: a\n",
      "b.yaml": desk("b", "a.yaml"),
    });
    const { agents } = await loadAgent(join(folder, "desk.yaml"));
    expect(agents.get("a.yaml")).toBe(agents.get("./a.yaml"));
    expect(agents.get("./b.yaml")?.agents.get("a.yaml")).toBe(agents.get("a.yaml"));
  });

  it("reports each file's problems as its own, and where an agent is named that cannot be loaded", async () => {
    const folder = tempFolder({
      "desk.yaml": `${desk("desk", "team/a.yaml", "team/gone.yaml", "team", "./notes.txt", "team/a.yaml")}colour: red\n`,
      "team/a.yaml": `${desk("A", "b.yaml")}version: one\n`,
      "team/b.yaml": "name: [b\n",
    });
    const load = () => loadAgent(join(folder, "desk.yaml"));
    expect(await problemsOf(load, folder)).toEqual([
      'desk.yaml:5:49 workflow_graph.nodes[0].config.agent: cannot be loaded: team/a.yaml is not valid (found "team/a.yaml")',
      'desk.yaml:6:49 workflow_graph.nodes[1].config.agent: cannot be loaded: there is no such file (found "team/gone.yaml")',
      'desk.yaml:8:49 workflow_graph.nodes[3].config.agent: cannot be loaded: expected a .yaml, .yml or .json file (found "./notes.txt")',
      'desk.yaml:9:49 workflow_graph.nodes[4].config.agent: cannot be loaded: team/a.yaml is not valid (found "team/a.yaml")',
      "desk.yaml:16:1 colour: unknown key (allowed: name, version, description, system_prompt, input_schema, output_schema, tools, permissions, tool_selection, workflow_graph, state_config, memory_config, context_config, guardrail_config, llm_config, execution_config, is_active)",
      'team/a.yaml:1:7 name: expected lower-case letters, digits, _ and - (found "A")',
      'team/a.yaml:5:49 workflow_graph.nodes[0].config.agent: cannot be loaded: team/b.yaml is not valid (found "b.yaml")',
      'team/a.yaml:8:10 version: expected a semantic version such as 1.0.0 (found "one")',
      expect.stringContaining("team/b.yaml:2:1 YAML:"),
    ]);
  });

  it("refuses a file that names itself", async () => {
    const folder = tempFolder({ "a.yaml": desk("a", "./a.yaml") });
    expect(await problemsOf(() => loadAgent(join(folder, "a.yaml")), folder)).toEqual([
      'a.yaml:5:49 workflow_graph.nodes[0].config.agent: agents do not contain themselves: a.yaml → a.yaml (found "./a.yaml")',
    ]);
  });

  it("refuses a circle of files where it closes, and names it in order", async () => {
    const folder = tempFolder({
      "start.yaml": desk("start", "a.yaml"),
      "a.yaml": desk("a", "sub/b.yaml"),
      "sub/b.yaml": desk("b", "../c.yaml"),
      "c.yaml": desk("c", "a.yaml"),
    });
    const problems = await problemsOf(() => loadAgent(join(folder, "start.yaml")), folder);
    expect(problems.at(-1)).toBe(
      'c.yaml:5:49 workflow_graph.nodes[0].config.agent: agents do not contain themselves: a.yaml → sub/b.yaml → c.yaml → a.yaml (found "a.yaml")',
    );
    expect(problems).toHaveLength(4);
  });

  it("loads agents 16 deep and refuses the next, by whichever way it is met", async () => {
    const files = Array.from({ length: 17 }, (_, index) => {
      const text = index === 16 ? "name: a16\n" : desk(`a${index}`, `a${index + 1}.yaml`);
      return [`a${index}.yaml`, text] as const;
    });
    const folder = tempFolder({
      ...Object.fromEntries(files),
      "known.yaml": desk("known", "a2.yaml", "a1.yaml"),
    });
    await expect(loadAgent(join(folder, "a1.yaml"))).resolves.toBeTypeOf("object");
    const deep = await problemsOf(() => loadAgent(join(folder, "a0.yaml")), folder);
    expect(deep.at(-1)).toContain(
      "a15.yaml:5:49 workflow_graph.nodes[0].config.agent: agents are within agents at most 16 deep: a0.yaml → a1.yaml → ",
    );
    const known = await problemsOf(() => loadAgent(join(folder, "known.yaml")), folder);
    expect(known).toEqual([
      'known.yaml:6:49 workflow_graph.nodes[1].config.agent: cannot be loaded: a1.yaml is not valid (found "a1.yaml")',
      'a1.yaml:5:49 workflow_graph.nodes[0].config.agent: agents are within agents at most 16 deep: known.yaml → a1.yaml → a2.yaml and 14 more (found "a2.yaml")',
    ]);
  });

  it("finds what is wrong with a node's input where it is written", async () => {
    const folder = tempFolder({
      "desk.yaml": yaml("desk", [
        "{ agent: a.yaml, input: { depth: 9, colour: red } }",
        '{ agent: a.yaml, input: { topic: "${input.message}", depth: "${size(input.message)}" } }',
        "{ agent: a.yaml }",
      ]),
      "a.yaml": [
        "name: a",
        "input_schema:",
        "  type: object",
        "  properties: { topic: { type: string }, depth: { type: integer, maximum: 3 } }",
        "  required: [topic, depth]",
        "  additionalProperties: false",
        "",
      ].join("\n"),
    });
    expect(await problemsOf(() => loadAgent(join(folder, "desk.yaml")), folder)).toEqual([
      'desk.yaml:5:64 workflow_graph.nodes[0].config.input: agent "a" requires "topic"',
      expect.stringMatching(
        /^desk.yaml:5:73 workflow_graph.nodes\[0\].config.input.depth: agent "a" refuses it: value: .* \(found 9\)$/,
      ),
      'desk.yaml:5:84 workflow_graph.nodes[0].config.input.colour: agent "a" takes no "colour" (allowed: topic, depth)',
      'desk.yaml:7:40 workflow_graph.nodes[2].config: agent "a" requires "topic", which the turn\'s own input never has; write an input',
      'desk.yaml:7:40 workflow_graph.nodes[2].config: agent "a" requires "depth", which the turn\'s own input never has; write an input',
    ]);
  });

  it("has a hash that changes with the agents it loads", async () => {
    const folder = tempFolder({
      "1/desk.yaml": desk("desk", "a.yaml"),
      "1/a.yaml": "name: a\n",
      "2/desk.yaml": desk("desk", "a.yaml"),
      "2/a.yaml": "name: a\ndescription: Another.\n",
    });
    const [one, two] = await Promise.all(
      ["1", "2"].map((sub) => loadAgent(join(folder, sub, "desk.yaml"))),
    );
    expect(one?.hash).not.toBe(two?.hash);
    expect(one?.spec).toEqual(two?.spec);
  });
});

describe("defineAgent", () => {
  const writer = defineAgent({ name: "writer" });
  const graph = (agent: string, input?: Record<string, unknown>) => ({
    entry_point: "n",
    nodes: [
      {
        name: "n",
        type: "agent" as const,
        config: { agent, ...(input !== undefined && { input }) },
      },
    ],
    edges: [{ from: "n", to: "END" }],
  });

  it("keeps agents by name, and covers them by its hash", () => {
    const plain = { name: "desk", workflow_graph: graph("writer") };
    const agent = defineAgent({ ...plain, agents: [writer] });
    expect([...agent.agents]).toEqual([["writer", writer]]);
    const other = defineAgent({
      ...plain,
      agents: [defineAgent({ name: "writer", version: "2.0.0" })],
    });
    const none = defineAgent(plain);
    expect(new Set([agent.hash, other.hash, none.hash])).toHaveLength(3);
  });

  it("refuses agents that it cannot keep apart, or are none, or are itself", async () => {
    const agents = [writer, writer, { name: "x" }, defineAgent({ name: "desk" })];
    expect(await problemsOf(() => defineAgent({ name: "desk", agents: agents as never }))).toEqual([
      'agents[1]: "writer" is already the name of agents[0]',
      "agents[2]: expected an agent of defineAgent or loadAgent (found a map)",
      "agents[3]: agents do not contain themselves: desk → desk",
    ]);
    expect(await problemsOf(() => defineAgent({ name: "desk", agents: 3 as never }))).toEqual([
      "agents: expected a list of agents (found 3)",
    ]);
  });

  it("refuses a path, and says how the agent is named instead", async () => {
    const define = () => defineAgent({ name: "desk", workflow_graph: graph("./writer.yaml") });
    expect(await problemsOf(define)).toEqual([
      'workflow_graph.nodes[0].config.agent: a path is read from files only; load the agent with loadAgent, pass it in agents and name it here (found "./writer.yaml")',
    ]);
  });

  it("checks the input of an agent that it has", async () => {
    const define = () =>
      defineAgent({ name: "desk", workflow_graph: graph("writer", {}), agents: [writer] });
    expect(await problemsOf(define)).toEqual([
      'workflow_graph.nodes[0].config.input: agent "writer" requires "message"',
    ]);
  });
});

/** A definition whose planner has these workers. */
function planned(name: string, ...workers: readonly string[]): string {
  const lines = [
    `name: ${name}`,
    "workflow_graph:",
    "  entry_point: work",
    "  nodes:",
    "    - name: work",
    "      type: planner",
    "      config:",
    "        workers:",
    ...workers.map((worker) => `          - ${worker}`),
    "  edges: [{ from: work, to: END }]",
  ];
  return `${lines.join("\n")}\n`;
}

describe("agentReferences", () => {
  const nodes = [
    { name: "ask", type: "agent", config: { agent: "a", input: { x: 1 } } },
    { name: "work", type: "planner", config: { workers: ["b", 3, "./c.yaml"] } },
    { type: "planner" },
    { name: "odd", type: "planner", config: { workers: "b" } },
    { name: "llm", type: "llm", config: { agent: "a", workers: ["b"] } },
  ];

  it("are agents of agent nodes and workers of planner nodes, with where they are named", () => {
    const config = (index: number) => ["workflow_graph", "nodes", index, "config"];
    const worker = { role: "worker", input: undefined };
    const work = { ...worker, node: "work", path: config(1) };
    const references = agentReferences({ workflow_graph: { nodes } }, new Set(["x"]));
    expect(references).toEqual([
      {
        role: "node",
        node: "ask",
        agent: "a",
        input: { x: 1 },
        path: config(0),
        at: [...config(0), "agent"],
      },
      { ...work, agent: "b", at: [...config(1), "workers", 0] },
      { ...work, agent: "./c.yaml", at: [...config(1), "workers", 2] },
      { ...worker, node: "", agent: "x", path: config(2), at: config(2) },
    ]);
    expect(references.map(subagentKey)).toEqual(["ask", "work/b", "work/./c.yaml", "/x"]);
  });

  it("are none in what is no workflow", () => {
    expect(
      [undefined, { workflow_graph: { nodes: 3 } }].flatMap((one) => agentReferences(one)),
    ).toEqual([]);
  });
});

describe("a worker", () => {
  const schema = (properties: object, required: readonly string[], more: object = {}) => ({
    type: "object",
    properties,
    required,
    ...more,
  });
  const text = { type: "string" };
  const closed = { additionalProperties: false };
  const planner = (workers?: readonly string[]) => ({
    entry_point: "work",
    nodes: [
      {
        name: "work",
        type: "planner" as const,
        config: { ...(workers && { workers: [...workers] }) },
      },
    ],
    edges: [{ from: "work", to: "END" }],
  });
  const problemsWith = (input_schema: object, workers?: readonly string[]) => {
    const agents = [defineAgent({ name: "x", input_schema: input_schema as never })];
    return problemsOf(() =>
      defineAgent({ name: "lead", agents, workflow_graph: planner(workers) }),
    );
  };
  const given = "a planner gives its workers only message, and results where the schema has it";
  const at = "workflow_graph.nodes[0].config.workers[0]";

  it.each([
    schema({ message: text }, ["message"], closed),
    schema({ message: text, results: { type: "object" } }, ["message", "results"], closed),
    schema({ message: text, depth: { type: "integer", default: 2 } }, ["message", "depth"], closed),
    schema({ message: { type: ["string", "null"] }, topic: text }, []),
    schema({ topic: text }, []),
    schema({ results: {} }, ["results"]),
    { type: "object" },
  ])("may be an agent that takes %j", (input_schema) => {
    const agents = [defineAgent({ name: "x", input_schema })];
    const of = (workers?: readonly string[]) =>
      defineAgent({ name: "lead", agents, workflow_graph: planner(workers) });
    expect(of(["x"]).agents.has("x")).toBe(true);
    expect(of().agents.has("x")).toBe(true);
  });

  it.each([
    [schema({ message: text, topic: text }, ["message", "topic"]), ['requires "topic"']],
    [schema({ message: text }, ["results"]), ['requires "results"']],
    [schema({ results: {} }, [], closed), ['takes no "message"']],
    [schema({ topic: text }, ["topic"], closed), ['requires "topic"', 'takes no "message"']],
    [schema({ message: { type: "object" } }, []), ['takes no text as "message"']],
  ])("is refused where it takes %j", async (input_schema, problems) => {
    expect(await problemsWith(input_schema, ["x"])).toEqual(
      problems.map((problem) => `${at}: agent "x" ${problem}; ${given}`),
    );
  });

  it("is checked as well where the planner lists none", async () => {
    expect(await problemsWith(schema({ topic: text }, ["topic"]))).toEqual([
      `workflow_graph.nodes[0].config: agent "x" requires "topic"; ${given}`,
    ]);
  });

  it("is loaded by its path, and told apart from one that is not there", async () => {
    const folder = tempFolder({
      "lead.yaml": planned(
        "lead",
        "team/a.yaml",
        "counter",
        "gone.yaml",
        "./picky.yaml",
        "lead.yaml",
      ),
      "team/a.yaml": "name: a\n",
      "picky.yaml": [
        "name: picky",
        "input_schema: { type: object, properties: { topic: {} }, required: [topic] }",
        "",
      ].join("\n"),
      "good.yaml": planned("good", "team/a.yaml", "counter"),
    });
    expect(await problemsOf(() => loadAgent(join(folder, "lead.yaml")), folder)).toEqual([
      'lead.yaml:11:13 workflow_graph.nodes[0].config.workers[2]: cannot be loaded: there is no such file (found "gone.yaml")',
      `lead.yaml:12:13 workflow_graph.nodes[0].config.workers[3]: agent "picky" requires "topic"; ${given}`,
      'lead.yaml:13:13 workflow_graph.nodes[0].config.workers[4]: agents do not contain themselves: lead.yaml → lead.yaml (found "lead.yaml")',
    ]);
    const { agents } = await loadAgent(join(folder, "good.yaml"));
    expect([...agents].map(([key, { spec }]) => [key, spec.name])).toEqual([["team/a.yaml", "a"]]);
  });

  it("has a name of its own, however the node names it", async () => {
    const folder = tempFolder({
      "files.yaml": planned("files", "a/w.yaml", "./b/w.yaml", "a/../a/w.yaml"),
      "both.yaml": planned("both", "writer", "a/w.yaml", "b/other.yaml"),
      "twice.yaml": planned("twice", "a/w.yaml", "a/w.yaml"),
      "gone.yaml": planned("gone", "x.yaml", "y.yaml"),
      "two.yaml": [
        "name: two",
        "workflow_graph:",
        "  entry_point: first",
        "  nodes:",
        "    - { name: first, type: planner, config: { workers: [a/w.yaml] } }",
        "    - { name: second, type: planner, config: { workers: [b/w.yaml] } }",
        "  edges: [{ from: first, to: second }, { from: second, to: END }]",
        "",
      ].join("\n"),
      "a/w.yaml": "name: writer\n",
      "b/w.yaml": "name: writer\n",
      "b/other.yaml": "name: other\n",
    });
    const problemsIn = (file: string) => problemsOf(() => loadAgent(join(folder, file)), folder);
    const config = "workflow_graph.nodes[0].config";
    const rename = "rename one of them, or leave one out";
    expect(await problemsIn("files.yaml")).toEqual([
      `files.yaml:10:13 ${config}.workers[1]: "writer" is already the name of workers[0], "a/w.yaml"; ${rename} (found "./b/w.yaml")`,
      `files.yaml:11:13 ${config}.workers[2]: "writer" is already the name of workers[0], "a/w.yaml"; ${rename} (found "a/../a/w.yaml")`,
    ]);
    expect(await problemsIn("both.yaml")).toEqual([
      `both.yaml:10:13 ${config}.workers[1]: "writer" is already the name of workers[0], "writer"; ${rename} (found "a/w.yaml")`,
    ]);
    expect(await problemsIn("twice.yaml")).toEqual([
      `twice.yaml:10:13 ${config}.workers[1]: "a/w.yaml" is already named by workers[0]`,
    ]);
    expect(await problemsIn("gone.yaml")).toHaveLength(2);
    await expect(loadAgent(join(folder, "two.yaml"))).resolves.toBeTypeOf("object");
  });

  it("is named in files, whatever other agents come with them", async () => {
    const folder = tempFolder({
      "lead.yaml": [
        "name: lead",
        "workflow_graph:",
        "  entry_point: ask",
        "  nodes:",
        "    - { name: ask, type: agent, config: { agent: a.yaml } }",
        "    - { name: work, type: planner }",
        "  edges: [{ from: ask, to: work }, { from: work, to: END }]",
        "",
      ].join("\n"),
      "a.yaml": "name: a\n",
    });
    expect(await problemsOf(() => loadAgent(join(folder, "lead.yaml")), folder)).toEqual([
      "lead.yaml:6:7 workflow_graph.nodes[1].config: a planner needs workers: name agents or code workers in workers",
    ]);
  });

  it("is no path in TypeScript", async () => {
    const define = () => defineAgent({ name: "lead", workflow_graph: planner(["./a.yaml"]) });
    expect(await problemsOf(define)).toEqual([
      `${at}: a path is read from files only; load the agent with loadAgent, pass it in agents and name it here (found "./a.yaml")`,
    ]);
  });
});

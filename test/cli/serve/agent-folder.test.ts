import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { readAgentFolder, storeFolderAgent } from "../../../src/cli/serve/agent-folder.ts";
import { describeProblem } from "../../../src/definition/check/problems.ts";
import { memoryAgents, tenantA } from "../../helpers/api-server.ts";
import { useFolders } from "../folder.ts";

const folder = useFolders();

/** Makes a folder with files, some of them in folders inside. */
async function tree(files: Readonly<Record<string, string>>): Promise<string> {
  const path = await folder({});
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  }
  return path;
}

async function problemsOf(path: string): Promise<readonly string[]> {
  return (await readAgentFolder(path)).problems.map(describeProblem);
}

const nodeOf = (agent: string) =>
  `workflow_graph:\n  entry_point: x\n  nodes:\n    - { name: x, type: agent, config: { agent: ${agent} } }\n  edges: [{ from: x, to: END }]\n`;

describe("a folder of definitions", () => {
  it("is checked as a whole, with every problem of every file", async () => {
    const path = await tree({
      "a.yaml": "name: A\ntools: 1\n",
      "b.json": "{",
      "c.yml": "name: same\n",
      "d.yaml": "name: same\n",
      "good.yaml": "name: good\n",
      "notes.txt": "",
    });
    const { agents, problems } = await readAgentFolder(path);
    expect(new Set(problems.map(({ file }) => file))).toEqual(
      new Set(["a.yaml", "b.json", "d.yaml"]),
    );
    expect(problems.filter(({ file }) => file === "a.yaml")).toHaveLength(2);
    expect(problems.map(describeProblem)).toContain(
      "d.yaml:1:7 name: c.yml has an agent of this name too",
    );
    expect(agents.map(({ name }) => name)).toEqual(["same", "good"]);
  });

  it("has its own definitions and agent.* of the folders in it, but no files of other programs", async () => {
    const path = await tree({
      "one.yaml": "name: one\n",
      "package.json": '{ "name": "project", "version": "1.0.0" }',
      "settings.yaml": "name: x\nport: 1\nhost: y\n",
      "list.json": "[]",
      "two/agent.yml": "name: two\n",
      "two/other.yaml": "name: other\n",
      "two/deep/agent.yaml": "name: deep\n",
      "three/agent.ts": "",
      ".hidden/agent.yaml": "name: hidden\n",
      "node_modules/agent.yaml": "name: installed\n",
    });
    const { agents, problems, leftOut, folders } = await readAgentFolder(path);
    expect(problems).toEqual([]);
    expect(agents.map(({ name, file }) => [name, file])).toEqual([
      ["one", "one.yaml"],
      ["two", "two/agent.yml"],
    ]);
    expect(leftOut).toEqual([
      { file: "list.json", reason: "not an agent: it has few keys of a definition" },
      { file: "settings.yaml", reason: "not an agent: it has few keys of a definition" },
      {
        file: "three/agent.ts",
        reason: "an agent in code; a server takes definitions that are data",
      },
    ]);
    expect(folders).toEqual([".", "two"]);
  });

  it("serves agents that are named by path, and names them by name", async () => {
    const path = await tree({
      "team/agent.yaml": `name: lead\n${nodeOf("./parts/helper.yaml")}`,
      "team/parts/helper.yaml": "name: helper\n",
    });
    const { agents, problems } = await readAgentFolder(path);
    expect(problems).toEqual([]);
    expect(agents.map(({ name, file }) => [name, file])).toEqual([
      ["lead", "team/agent.yaml"],
      ["helper", "team/parts/helper.yaml"],
    ]);
    expect(agents[0]?.document).toMatchObject({
      workflow_graph: { nodes: [{ config: { agent: "helper" } }] },
    });
  });

  it("reports paths that cannot be followed: outside of it, in a circle, or to a wrong file", async () => {
    const path = await tree({
      "out.yaml": `name: out\n${nodeOf("../elsewhere.yaml")}`,
      "circle.yaml": `name: circle\n${nodeOf("./circle.yaml")}`,
      "lead.yaml": `name: lead\n${nodeOf("./wrong.yaml")}`,
      "wrong.yaml": "name: wrong\nwhat: 1\n",
    });
    const problems = await problemsOf(path);
    expect(problems).toContainEqual(
      expect.stringContaining(
        "out.yaml:5:48 workflow_graph.nodes[0].config.agent: expected a file of the folder",
      ),
    );
    expect(problems).toContainEqual(
      expect.stringContaining("agents do not contain themselves: circle.yaml → circle.yaml"),
    );
    expect(problems).toContainEqual(
      expect.stringContaining("cannot be loaded: wrong.yaml is not valid"),
    );
    expect(problems.filter((problem) => problem.startsWith("wrong.yaml:2:1"))).toHaveLength(1);
    expect((await readAgentFolder(path)).agents).toEqual([]);
  });

  it("is stored once; a changed file becomes a new version", async () => {
    const store = memoryAgents();
    const put = async (text: string) => {
      const { agents } = await readAgentFolder(await tree({ "a.yaml": text }));
      const { version, change } = await storeFolderAgent(store, tenantA, agents[0]!);
      return `${version} ${change}`;
    };
    expect(await put("name: a\n")).toBe("1.0.0 created");
    expect(await put("name: a\n")).toBe("1.0.0 unchanged");
    expect(await put("name: a\ndescription: New.\n")).toBe("1.0.1 updated");
    expect(await put("name: a\nversion: 2.0.0\n")).toBe("2.0.0 updated");
  });

  it("refuses a name of a deactivated agent", async () => {
    const store = memoryAgents();
    const { agentId } = await store.create(tenantA, { name: "a", definition: {} });
    await store.deactivate(tenantA, agentId);
    const { agents } = await readAgentFolder(await tree({ "a.yaml": "name: a\n" }));
    await expect(storeFolderAgent(store, tenantA, agents[0]!)).rejects.toThrow(
      "a.yaml:1:7 name: an agent of this name was deactivated",
    );
  });
});

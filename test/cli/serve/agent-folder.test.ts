import { describe, expect, it } from "vitest";
import { readAgentFolder, storeFolderAgents } from "../../../src/cli/serve/agent-folder.ts";
import { memoryAgents, tenantA } from "../../helpers/api-server.ts";
import { useFolders } from "../folder.ts";

const folder = useFolders();

describe("a folder of definitions", () => {
  it("is checked as a whole, with every problem of every file", async () => {
    const path = await folder({
      "a.yaml": "name: A\ntools: 1\n",
      "b.json": "{",
      "c.yml": "name: same\n",
      "d.yaml":
        "name: same\nworkflow_graph:\n  nodes:\n    - { id: x, type: agent, config: { agent: ./a.yaml, input: {} } }\n  edges: []\n",
      "notes.txt": "",
    });
    const problems = await readAgentFolder(path).then(
      () => [],
      (thrown: { problems: { file?: string; message: string }[] }) => thrown.problems,
    );
    expect([...new Set(problems.map(({ file }) => file))]).toEqual(["a.yaml", "b.json", "d.yaml"]);
    expect(problems.filter(({ file }) => file === "a.yaml")).toHaveLength(2);
    expect(problems.map(({ message }) => message)).toContain(
      "a served agent names other agents by name, not by path",
    );
  });

  it("is stored once; a changed file becomes a new version", async () => {
    const store = memoryAgents();
    const read = async (text: string) => readAgentFolder(await folder({ "a.yaml": text }));
    const put = async (text: string) => {
      const [agent] = await storeFolderAgents(store, tenantA, await read(text));
      return `${agent?.version} ${agent?.change}`;
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
    const agents = await readAgentFolder(await folder({ "a.yaml": "name: a\n" }));
    await expect(storeFolderAgents(store, tenantA, agents)).rejects.toThrow("was deactivated");
  });
});

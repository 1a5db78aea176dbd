import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { hiddenToolProblems, ToolModules } from "../../../src/cli/dev/folder-tools.ts";
import { readAgentFolder } from "../../../src/cli/serve/agent-folder.ts";
import { describeProblem } from "../../../src/definition/check/problems.ts";
import { defineTool } from "../../../src/index.ts";
import { packageEntry, useFolders } from "../folder.ts";

const folder = useFolders();
const noTools = { file: "", tools: [] };

/** The source of a module with tools of these names. */
function moduleOf(...names: readonly string[]): string {
  const tools = names.map(
    (name) =>
      `defineTool({ name: ${JSON.stringify(name)}, description: "A tool.", input_schema: z.object({}), handler: () => "done" })`,
  );
  return `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
import { defineTool } from ${JSON.stringify(packageEntry)};
export const tools = [${tools.join(", ")}];\n`;
}

async function tree(files: Readonly<Record<string, string>>): Promise<string> {
  const path = await folder({});
  for (const [file, text] of Object.entries(files)) {
    await mkdir(join(path, file, ".."), { recursive: true });
    await writeFile(join(path, file), text);
  }
  return path;
}

describe("the tools of a folder", () => {
  it("are those of tools.* beside definitions", async () => {
    const path = await tree({
      "a/tools.ts": moduleOf("one", "two"),
      "b/tools.ts": moduleOf("three"),
      "c/tools.ts": moduleOf("four"),
    });
    const read = await new ToolModules(path, noTools).read(["a", "b"]);
    expect(read.tools.map(({ definition }) => definition.name)).toEqual(["one", "two", "three"]);
    expect(read.problems).toEqual([]);
  });

  it("keep the first tool of a name, and report the others with both files", async () => {
    const path = await tree({
      "a/tools.ts": moduleOf("find_order"),
      "b/tools.ts": moduleOf("find_order", "calculator", "ship", "shared"),
    });
    const shared = defineTool({
      name: "shared",
      description: "A tool.",
      input_schema: z.object({}),
      handler: () => "done",
    });
    const read = await new ToolModules(path, { file: "common.ts", tools: [shared] }).read([
      "b",
      "a",
    ]);
    expect(read.tools.map(({ definition }) => definition.name)).toEqual([
      "shared",
      "find_order",
      "ship",
    ]);
    const rest = "too, and the tools of a server are shared by name; rename one of them";
    expect(read.problems.map(describeProblem)).toEqual([
      `b/tools.ts a/tools.ts has a tool "find_order" ${rest}`,
      `b/tools.ts there is a built-in tool "calculator" ${rest}`,
      `b/tools.ts common.ts has a tool "shared" ${rest}`,
    ]);
    const naming = (file: string) =>
      hiddenToolProblems({ document: { tools: ["ship", "find_order"] }, file }, read);
    expect(naming("b/agent.yaml")).toEqual([
      { path: ["tools", 1], message: `a/tools.ts has a tool "find_order" ${rest}` },
    ]);
    expect(naming("a/agent.yaml")).toEqual([]);
  });

  it("are loaded anew when the file of an ES module changes, and stay as they are until then", async () => {
    const path = await tree({ "tools.mts": moduleOf("one") });
    const modules = new ToolModules(path, noTools);
    const first = await modules.read(["."]);
    expect((await modules.read(["."])).tools[0]).toBe(first.tools[0]);
    await writeFile(join(path, "tools.mts"), moduleOf("one", "two"));
    const { tools } = await modules.read(["."]);
    expect(tools.map(({ definition }) => definition.name)).toEqual(["one", "two"]);
    await writeFile(join(path, "tools.mts"), "export const tools = [");
    const broken = await modules.read(["."]);
    expect(broken.tools).toEqual(tools);
    expect(broken.problems.map(({ file }) => file)).toEqual(["tools.mts"]);
  });

  it("of the examples have no problem, nor have their agents", async () => {
    const examples = fileURLToPath(new URL("../../../examples", import.meta.url));
    const { agents, problems, folders } = await readAgentFolder(examples);
    const read = await new ToolModules(examples, noTools).read(folders);
    expect([...problems, ...read.problems]).toEqual([]);
    expect(agents.map(({ name }) => name)).toContain("letter-desk");
    expect(read.tools.map(({ definition }) => definition.name)).toContain("send_letter");
  });

  it("leave out a module that cannot be loaded, and say where it is wrong", async () => {
    const path = await tree({
      "a/tools.ts": "export const tools = [];\nthrow new Error('no table');\n",
      "b/tools.ts": moduleOf("one"),
    });
    const read = await new ToolModules(path, noTools).read(["a", "b"]);
    expect(read.tools.map(({ definition }) => definition.name)).toEqual(["one"]);
    expect(read.problems.map(describeProblem)).toEqual([
      expect.stringContaining("a/tools.ts Cannot load a/tools.ts: no table"),
    ]);
  });
});

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { browserHere, needsBrowser } from "../draw/browser.ts";
import { namesIn, packageEntry, useFolders } from "../folder.ts";
import { memoryIo } from "../memory-io.ts";

const folderWith = useFolders();
const workflow = (name: string, node: string) => `
name: ${name}
is_active: ${name === "router"}
llm_config: { default_model: openai:gpt-4o-mini }
workflow_graph:
  entry_point: work
  nodes: [${node}]
  edges: [{ from: work, to: END }]
`;
const files = {
  "plain.yaml": "name: plain\nllm_config: { default_model: anthropic:claude-3-haiku }\n",
  "router.yaml": workflow(
    "router",
    "{ name: work, type: router, description: Which?, config: { rules: [{ when: 'true', choice: a }] } }",
  ),
  "team.yaml": workflow("team", "{ name: work, type: agent, config: { agent: ./plain.yaml } }"),
  "tool.yaml": "name: tool\ntools: [opener]\n",
  "tools.ts": `import { defineTool } from ${JSON.stringify(packageEntry)};
    export const tools = [defineTool({ name: "opener", description: "Opens.",
      input_schema: { type: "object" }, handler: () => "" })];`,
};

describe("stratagraph graph", () => {
  it("prints Mermaid text, without a key, a model's package or a database", async () => {
    const io = memoryIo({ cwd: await folderWith(files) });
    expect(await runCli(["graph", "plain.yaml"], io)).toBe(0);
    const text = io.stdout.take();
    expect(text).toMatch(/^flowchart TD\n {2}__start__\(\["START"\]\):::is_start\n/);
    expect(text).toContain('  reason -.->|"uses tools"| tools\n  reason -.->|"goes on"| reason\n');
    expect(io.stderr.take()).toBe("");
    expect(await namesIn(io.cwd)).toEqual(Object.keys(files).toSorted());
  });

  it("draws an agent that is not active, and what is inside of its agents when asked", async () => {
    const io = memoryIo({ cwd: await folderWith(files) });
    expect(await runCli(["graph", "team.yaml"], io)).toBe(0);
    expect(io.stdout.take()).toContain('  work[/"`**work**`"/]:::is_agent\n');
    expect(await runCli(["graph", "team.yaml", "--xray"], io)).toBe(0);
    const text = io.stdout.take();
    expect(text).toContain('  subgraph work["`**work**`"]\n');
    expect(text).toContain("  plan --> work_initialize\n");
  });

  it("gives the graph as JSON", async () => {
    const io = memoryIo({ cwd: await folderWith(files) });
    expect(await runCli(["graph", "router.yaml", "--format", "json"], io)).toBe(0);
    const { nodes, edges } = JSON.parse(io.stdout.take()) as { nodes: unknown[]; edges: unknown[] };
    expect(nodes).toContainEqual(
      expect.objectContaining({
        id: "work",
        metadata: { type: "router", description: "Which?" },
      }),
    );
    expect(edges).toContainEqual({ source: "work", target: "reflect", conditional: false });
  });

  it("writes the format that the file's name asks for, over what was there", async () => {
    const io = memoryIo({ cwd: await folderWith({ ...files, "out.mmd": "old" }) });
    expect(await runCli(["graph", "plain.yaml", "--out", "out.mmd"], io)).toBe(0);
    expect(await runCli(["graph", "plain.yaml", "-o", "out.json"], io)).toBe(0);
    expect(await runCli(["graph", "plain.yaml", "-o", "out.txt", "-f", "mermaid"], io)).toBe(0);
    expect(io.stdout.take()).toBe("");
    expect(io.stderr.take()).toBe("Wrote out.mmd\nWrote out.json\nWrote out.txt\n");
    const text = await readFile(join(io.cwd, "out.mmd"), "utf8");
    expect(text).toMatch(/^flowchart TD\n/);
    expect(await readFile(join(io.cwd, "out.txt"), "utf8")).toBe(text);
    expect(JSON.parse(await readFile(join(io.cwd, "out.json"), "utf8"))).toHaveProperty("nodes");
    expect(await namesIn(io.cwd)).toEqual(
      [...Object.keys(files), "out.json", "out.mmd", "out.txt"].toSorted(),
    );
  });

  it("takes tools from a module", async () => {
    const io = memoryIo({ cwd: await folderWith(files) });
    expect(await runCli(["graph", "tool.yaml", "--tools", "tools.ts"], io)).toBe(0);
  });

  it.each([
    ["a missing file", ["none.yaml"], "[file_not_found]"],
    ["a missing tool", ["tool.yaml"], "[unknown_tool]"],
    ["an unknown format", ["plain.yaml", "--format", "gif"], "Allowed choices are mermaid, svg"],
    ["another extension", ["plain.yaml", "--out", "a.gif"], "a.gif has no known format: use .mmd"],
    ["a PNG as text", ["plain.yaml", "--format", "png"], "give --out FILE. [usage]"],
    ["a folder that is not there", ["plain.yaml", "-o", "no/a.mmd"], "its folder does not exist"],
    [
      "a browser that is not there",
      ["plain.yaml", "-o", "a.png", "--browser", "none"],
      /none was found at \S+none\. Install one .* \[browser_not_found\]/,
    ],
  ])("refuses %s, and writes nothing", async (_, argv, message) => {
    const io = memoryIo({ cwd: await folderWith(files) });
    expect(await runCli(["graph", ...argv], io)).toBe(2);
    expect(io.stderr.take()).toMatch(message);
    expect(io.stdout.take()).toBe("");
    expect(await namesIn(io.cwd)).toEqual(Object.keys(files).toSorted());
  });
});

describe.skipIf(browserHere === null)(`stratagraph graph, as a picture${needsBrowser}`, () => {
  it("writes a PNG", async () => {
    const io = memoryIo({ cwd: await folderWith(files) });
    expect(await runCli(["graph", "team.yaml", "--xray", "-o", "team.png"], io)).toBe(0);
    const picture = await readFile(join(io.cwd, "team.png"));
    expect(picture.subarray(0, 8).toString("hex")).toBe("89504e470d0a1a0a");
    const [width, height] = [picture.readUInt32BE(16), picture.readUInt32BE(20)];
    expect(width).toBeGreaterThan(500);
    expect(height).toBeGreaterThan(width);
  });

  it("prints SVG, with text that is text, and the same each time", async () => {
    const io = memoryIo({ cwd: await folderWith(files) });
    expect(await runCli(["graph", "router.yaml", "-f", "svg"], io)).toBe(0);
    const svg = io.stdout.take();
    expect(svg).toMatch(/^<svg /);
    expect(svg).toContain(">Which?</tspan>");
    expect(svg).not.toContain("foreignObject");
    expect(await runCli(["graph", "router.yaml", "-f", "svg"], io)).toBe(0);
    expect(io.stdout.take()).toBe(svg);
  });
});

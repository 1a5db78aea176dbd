import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { openDatabases } from "../helpers/open-databases.ts";
import { useFolders } from "./folder.ts";
import { memoryIo } from "./memory-io.ts";

const folderWith = useFolders();
const databases = openDatabases();
afterEach(() => databases.release());

const files = {
  "guide.yaml": `name: guide
tools:
  - name: locate
    description: Says where the user is.
    input_schema: { type: object, properties: { precise: { type: boolean } } }
    output_schema: { type: object, properties: { city: { type: string } }, required: [city] }
    transport: { type: client }
    execution: { timeout_ms: 60000 }
  - name: read
    description: Reads a file of the user.
    input_schema: { type: object, properties: { path: { type: string } }, required: [path] }
    transport: { type: client }
workflow_graph:
  entry_point: fork
  nodes:
    - { name: fork, type: router, config: { rules: [{ when: "true", choice: "on" }] } }
    - { name: where, type: tool, config: { tool: locate, args: { precise: true } } }
    - { name: text, type: tool, config: { tool: read, args: { path: a.txt } } }
  edges:
    - { from: fork, to: [where, text] }
    - { from: where, to: END }
    - { from: text, to: END }
  output: { message: "\${nodes.where.result.city}: \${nodes.text.result}" }
`,
};

async function cli(cwd: string, argv: readonly string[], options: object = {}) {
  const io = memoryIo({ cwd, ...options });
  await databases.hold(cwd);
  const code = await runCli(argv, io);
  return { code, shown: io.stdout.take(), errors: io.stderr.take() };
}

interface Told {
  readonly status: string;
  readonly tool_calls: readonly { readonly call_id: string; readonly tool: string }[];
  readonly output: unknown;
}

describe("client tools on the command line", () => {
  it("print their calls, and continue with --tool-results", async () => {
    const cwd = await folderWith(files);
    const run = (...argv: string[]) => cli(cwd, ["run", "guide.yaml", "--thread", "t", ...argv]);
    const asked = await run("where am I?");
    expect(asked.code).toBe(3);
    expect(asked.shown).toContain("■ Waits for the results of 2 calls.");
    expect(asked.shown).toMatch(/│ locate\n +│ +precise: true/);
    expect(asked.shown).toContain("To return results:");
    expect(asked.shown).toMatch(
      /run guide\.yaml --thread t --tool-results '\[\{"call_id":"[^"]+","output":"…"\},/,
    );
    const shown = await cli(cwd, ["show", "t"]);
    expect(shown.shown).toContain("waits for tool results");

    const refused = await run("--answer", "yes");
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.errors).toContain("Return results with --tool-results");
    const again = await run("another message");
    expect(again).toMatchObject({ code: 2 });
    expect(again.errors).toContain("--tool-results");

    const told = JSON.parse((await run("--json")).shown) as Told;
    expect(told).toMatchObject({ status: "AWAITING_TOOL", interrupts: [] });
    const idOf = (name: string) => told.tool_calls.find(({ tool }) => tool === name)?.call_id ?? "";
    const one = JSON.stringify({ call_id: idOf("locate"), output: { city: "Oslo" } });
    const some = await run("--tool-results", one);
    expect(some.code).toBe(3);
    expect(some.shown).toContain("■ Waits for the result of a call.");

    const rest = JSON.stringify([{ call_id: idOf("read"), output: "hi" }]);
    await writeFile(join(cwd, "rest.json"), rest);
    const done = await run("--tool-results", "@rest.json");
    expect(done.code).toBe(0);
    expect(done.shown).toContain("Oslo: hi");
  });

  it.each([
    [["--tool-results", "{"], "--tool-results is not JSON"],
    [["--tool-results", "@missing.json"], "--tool-results cannot be read"],
    [["--tool-results", "[]", "--answer", "a"], "not both"],
    [["--tool-results", "[]", "hello"], "neither MESSAGE nor --input"],
  ])("refuse %j before anything is run", async (argv, message) => {
    const cwd = await folderWith(files);
    const refused = await cli(cwd, ["run", "guide.yaml", "--thread", "t", ...argv]);
    expect(refused.code).toBe(2);
    expect(refused.errors.replaceAll(/\s+/g, " ")).toContain(message);
  });

  it("are named by check and tools list", async () => {
    const cwd = await folderWith(files);
    const checked = await cli(cwd, ["check", "guide.yaml"]);
    expect(checked.code).toBe(0);
    expect(checked.shown.replaceAll(/\s+/g, " ")).toContain(
      "The caller of a run runs (client): locate, read.",
    );
    const listed = await cli(cwd, ["tools", "list", "guide.yaml", "--json"]);
    const { tools } = JSON.parse(listed.shown) as { tools: readonly object[] };
    expect(tools).toMatchObject([
      { name: "locate", from: "client" },
      { name: "read", from: "client" },
    ]);
  });
});

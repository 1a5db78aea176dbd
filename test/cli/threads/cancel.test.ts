import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { lockFolder } from "../../../src/storage/folder-lock.ts";
import { openDatabases } from "../../helpers/open-databases.ts";
import { newDatabaseFolder } from "../../helpers/pglite-template.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { memoryIo } from "../memory-io.ts";

const agent = `name: asker
workflow_graph:
  entry_point: ask
  nodes: [{ name: ask, type: human, config: { kind: input, prompt: "Which?" } }]
  edges: [{ from: ask, to: END }]
`;

const cwd = tempFolder();
const databases = openDatabases();
afterAll(() => databases.release());

async function cli(...argv: readonly string[]) {
  const io = memoryIo({ cwd });
  await databases.hold(cwd);
  const code = await runCli(argv, io);
  return { code, out: io.stdout.take(), errors: io.stderr.take() };
}

beforeAll(async () => {
  await rename(await newDatabaseFolder(), join(cwd, ".stratagraph"));
  await writeFile(join(cwd, "asker.yaml"), agent);
});

it("ends a waiting turn, shows its reason and the command that continues it", async () => {
  expect((await cli("run", "asker.yaml", "go", "-t", "t")).code).toBe(3);
  expect(await cli("cancel", "t", "--reason", "asked twice", "--wait", "0")).toEqual({
    code: 0,
    out: "Cancelled the turn of t.\n\nTo continue it:\n  stratagraph run AGENT --thread t\n",
    errors: "",
  });
  expect((await cli("threads")).out).toMatch(/t\s.*CANCELLED/);
  const resumed = await cli("run", "asker.yaml", "-t", "t");
  expect(resumed.code).toBe(3);
  const json = await cli("cancel", "t", "--json");
  expect(JSON.parse(json.out)).toEqual({
    thread_id: "t",
    outcome: "cancelled",
    status: "CANCELLED",
  });
});

it("exits with 2 where there is no turn to cancel, no such thread, or a wrong option", async () => {
  const over = await cli("cancel", "t");
  expect([over.code, over.errors]).toEqual([2, expect.stringContaining("[nothing_to_cancel]")]);
  const answered = await cli("run", "asker.yaml", "-t", "t", "--answer", "this");
  expect([answered.code, answered.errors]).toEqual([
    2,
    expect.stringContaining("[nothing_to_answer]"),
  ]);
  const unknown = await cli("cancel", "tt");
  expect([unknown.code, unknown.errors]).toEqual([2, expect.stringContaining('"t"')]);
  for (const options of [
    ["--wait", "601"],
    ["--wait", "-1"],
    ["--reason", ""],
  ]) {
    expect((await cli("cancel", "t", ...options)).code).toBe(2);
  }
});

it("says that the process which has the folder open must cancel", async () => {
  const elsewhere = tempFolder();
  const lock = lockFolder(join(elsewhere, ".stratagraph"));
  try {
    const io = memoryIo({ cwd: elsewhere });
    expect(await runCli(["cancel", "t"], io)).toBe(1);
    const said = io.stderr.take().replaceAll(/\s+/g, " ");
    expect(said).toContain(
      "Only the process that has the folder open can cancel its turns: press Ctrl-C there. [folder_locked]",
    );
  } finally {
    lock.release();
  }
});

import { chmod, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { openDatabases } from "../helpers/open-databases.ts";
import { newDatabaseFolder } from "../helpers/pglite-template.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { namesIn } from "./folder.ts";
import { memoryIo } from "./memory-io.ts";

const cwd = tempFolder();
const databases = openDatabases();
afterAll(() => databases.release());

async function cli(...argv: readonly string[]) {
  const io = memoryIo({ cwd });
  await databases.hold(cwd);
  const code = await runCli(argv, io);
  return { code, out: io.stdout.take(), errors: io.stderr.take() };
}

async function idsIn(thread: string): Promise<readonly string[]> {
  const { out } = await cli("history", thread, "--json");
  const { checkpoints } = JSON.parse(out) as { checkpoints: { id: string }[] };
  return checkpoints.map(({ id }) => id);
}

describe("stratagraph export and import", () => {
  it("carry a thread into another, by a file or a pipe", async () => {
    await rename(await newDatabaseFolder(), join(cwd, ".stratagraph"));
    await writeFile(join(cwd, "calc.yaml"), "name: calc\ntools: [calculator]\n");
    await cli("run", "calc.yaml", "What is 2 + 3?", "--thread", "t");
    const exported = await cli("export", "t");
    expect([exported.code, exported.errors]).toEqual([0, ""]);
    await writeFile(join(cwd, "t.jsonl"), "");
    await chmod(join(cwd, "t.jsonl"), 0o644);
    const written = await cli("export", "t", "--out", "t.jsonl");
    const { mode } = await stat(join(cwd, "t.jsonl"));
    expect(mode & 0o777).toBe(process.platform === "win32" ? 0o666 : 0o600);
    expect([written.code, written.out, written.errors]).toEqual([0, "", "Wrote t.jsonl\n"]);
    const { code, out } = await cli("import", "t.jsonl", "--thread", "copy");
    expect(code).toBe(0);
    expect(out).toMatch(
      /^Imported thread copy: \d+ checkpoints\.\n\nTo inspect it:\n {2}stratagraph history copy\n$/,
    );
    expect(await idsIn("copy")).toEqual(await idsIn("t"));
    const piped = memoryIo({ cwd, stdin: [await readFile(join(cwd, "t.jsonl"))] });
    expect(await runCli(["import", "-", "--thread", "piped", "--json"], piped)).toBe(0);
    expect(JSON.parse(piped.stdout.take())).toMatchObject({ thread_id: "piped" });
    const again = await cli("import", "t.jsonl");
    expect([again.code, again.errors]).toEqual([2, expect.stringContaining("[thread_exists]")]);
  });

  it("leave no file behind of a thread that is not there", async () => {
    const before = await namesIn(cwd);
    const { code, errors } = await cli("export", "nope", "--out", "nope.jsonl");
    expect([code, errors]).toEqual([2, expect.stringContaining("[unknown_thread]")]);
    expect(await namesIn(cwd)).toEqual(before);
  });
});

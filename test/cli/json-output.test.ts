import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { openDatabases } from "../helpers/open-databases.ts";
import { newDatabaseFolder } from "../helpers/pglite-template.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { memoryIo } from "./memory-io.ts";

const cwd = tempFolder();
const databases = openDatabases();
afterAll(() => databases.release());

async function cli(...argv: readonly string[]) {
  const io = memoryIo({ cwd, isTerminal: true });
  await databases.hold(cwd);
  await runCli(argv, io);
  return io.stdout.take();
}

/** Writes to the clipboard, clears the screen, hides a line, and ends a line. */
const hostile = "\u009D52;c;aGk=\u009C\u009B2J\u007F\u202E\u2028\u2029\uFEFF\u0007";
const acts = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u;

it("prints no character that acts on a terminal in JSON, and the same values", async () => {
  await rename(await newDatabaseFolder(), join(cwd, ".stratagraph"));
  await writeFile(join(cwd, "echo.yaml"), "name: echo\n");
  const odd = `odd${hostile}.yaml`;
  const message = `Hi ${hostile}`;
  const printed = {
    run: await cli("run", "echo.yaml", message, "--thread", "t", "--json"),
    show: await cli("show", "t", "--json"),
    export: await cli("export", "t"),
    check: await cli("check", odd, "--json"),
    failure: await cli("run", odd, "Hi", "--json"),
  };
  for (const [command, text] of Object.entries(printed)) {
    expect([command, acts.exec(text)]).toEqual([command, null]);
  }
  expect(JSON.parse(printed.show)).toMatchObject({ values: { input: { message } } });
  expect(JSON.parse(printed.check)).toMatchObject({ files: [{ file: odd }] });
  const lines = printed.export.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object).length).toBeGreaterThan(3);
});

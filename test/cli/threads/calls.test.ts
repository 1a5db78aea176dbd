import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { openDatabases } from "../../helpers/open-databases.ts";
import { newDatabaseFolder } from "../../helpers/pglite-template.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { memoryIo } from "../memory-io.ts";

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
  const agent = "name: sums\ntools: [calculator]\nllm_config: { default_model: 'offline:rules' }\n";
  await writeFile(join(cwd, "sums.yaml"), agent);
  for (const sum of ["6 * 7", "2 * 3"]) {
    await cli("run", "sums.yaml", `What is ${sum}?`, "--thread", "t");
  }
});

it("lists a thread's requests to models in a table", async () => {
  const { code, out } = await cli("calls", "t");
  expect(code).toBe(0);
  const [head, ...lines] = out.trimEnd().split("\n");
  expect(head).toMatch(/turn +step +agent +purpose +model +try +finish +in +out +took +cost/);
  expect(lines.map((line) => line.trim().split(/ +/).slice(0, 7).join(" "))).toEqual([
    "0 0 sums reasoning offline:rules 1 stop",
    "0 1 sums reasoning offline:rules 1 stop",
    "1 0 sums reasoning offline:rules 1 stop",
    "1 1 sums reasoning offline:rules 1 stop",
  ]);
});

it("prints those of a turn as JSON, with messages on request", async () => {
  const { out } = await cli("calls", "t", "--turn", "1", "--limit", "1", "--json", "--full");
  expect(JSON.parse(out)).toMatchObject({
    thread_id: "t",
    calls: [{ turn: 1, step: 0, response: { tool_calls: [{ name: "calculator" }] } }],
    next: expect.any(String),
  });
});

it("refuses a thread that is not there", async () => {
  const { code, errors } = await cli("calls", "none");
  expect(code).toBe(2);
  expect(errors).toContain('There is no thread "none" here.');
});

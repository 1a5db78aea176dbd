import { expect, it } from "vitest";
import { programName } from "../../src/cli/command-line.ts";
import { runCli } from "../../src/cli/run-cli.ts";
import { useFolders } from "./folder.ts";
import { memoryIo } from "./memory-io.ts";

const folderWith = useFolders();
const called = (event: string, script: string) =>
  programName({ npm_lifecycle_event: event, npm_lifecycle_script: script });

it.each([
  ["npx", "'stratagraph'", "npx stratagraph"],
  ["npx", '"stratagraph"', "npx stratagraph"],
  ["npx", "'vitest'", "stratagraph"],
  ["stratagraph", "tsx src/cli/main.ts", "npm run stratagraph --"],
  ["desk agent", "stratagraph", "npm run 'desk agent' --"],
  ["start", "stratagraph run agent.yaml", "npx stratagraph"],
  ["test", "vitest run", "stratagraph"],
])("is named as npm's %s calls it by %s", (event, script, name) => {
  expect(called(event, script)).toBe(name);
});

it("stands so in hints and in errors", async () => {
  const env = { npm_lifecycle_event: "npx", npm_lifecycle_script: "'stratagraph'" };
  const io = memoryIo({ cwd: await folderWith({}), env });
  expect(await runCli(["threads"], io)).toBe(0);
  expect(io.stdout.take()).toBe(
    'No threads yet. To start one:\n  npx stratagraph run AGENT "…" --thread NAME\n',
  );
  expect(await runCli(["history", "t"], io)).toBe(2);
  expect(io.stderr.take()).toContain('here. "npx stratagraph threads" lists the threads of this');
});

import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { openDatabases } from "../../helpers/open-databases.ts";
import { newDatabaseFolder } from "../../helpers/pglite-template.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { memoryIo } from "../memory-io.ts";

const team = `name: team
workflow_graph:
  entry_point: team
  nodes:
    - name: team
      type: planner
      config:
        approve: true
        workers: [./adder.yaml]
        plan:
          subtasks:
            - { id: six, description: "What is 2 * 3?", dependencies: [], worker: adder }
            - { id: report, description: "What is 3 * 3?", dependencies: [six], expected_output: "One\\nnumber" }
          success_criteria: It is right.
  edges: [{ from: team, to: END }]
`;
const adder = "name: adder\ndescription: Calculates.\ntools: [calculator]\n";

const cwd = tempFolder();
const databases = openDatabases();
afterAll(() => databases.release());

async function cli(typed: readonly string[] | undefined, ...argv: readonly string[]) {
  const io = memoryIo({ cwd, ...(typed !== undefined && { typed, isTerminal: true }) });
  await databases.hold(cwd);
  const code = await runCli(argv, io);
  return { code, out: io.stdout.take(), errors: io.stderr.take() };
}

beforeAll(async () => {
  await rename(await newDatabaseFolder(), join(cwd, ".stratagraph"));
  await writeFile(join(cwd, "team.yaml"), team);
  await writeFile(join(cwd, "adder.yaml"), adder);
});

const listed = `? team › approve asks for approval or changes of a plan
  May team run this plan?
  │ six (adder)
  │   What is 2 * 3?
  │ report after six
  │   What is 3 * 3?
  │   → One
  │   number
  │ Judged by: It is right.
`;

it("lists the plan and exits with 3 where no person can be asked, and --answer answers", async () => {
  const asked = await cli(undefined, "run", "team.yaml", "go", "-t", "t");
  expect(asked.code).toBe(3);
  expect(asked.out).toContain(listed);
  expect((await cli(undefined, "show", "t")).out).toContain(listed);
  const cycle = '{"plan":{"subtasks":[{"id":"a","description":"x","dependencies":["a"]}]}}';
  const refused = await cli(undefined, "run", "team.yaml", "-t", "t", "--answer", cycle);
  expect(refused.code).toBe(2);
  expect(refused.errors.replaceAll(/\s+/g, " ")).toContain('Subtask "a" depends on itself');
  const done = await cli(undefined, "run", "team.yaml", "-t", "t", "--answer", "approve", "--json");
  expect([done.code, JSON.parse(done.out)]).toMatchObject([0, { status: "COMPLETED" }]);
});

it("asks on a terminal, again after an edit that cannot be run", async () => {
  const wrong = '{"subtasks":[{"id":"a","description":"What is 1 + 1?","dependencies":["b"]}]}';
  const right = '{"subtasks":[{"id":"a","description":"What is 1 + 1?","dependencies":[]}]}';
  const { code, out } = await cli(["e", wrong, right], "run", "team.yaml", "go", "-t", "asks");
  expect(code).toBe(0);
  expect(out).toContain('depends on "b", which does not exist');
  const plan = await cli(undefined, "graph", "--plan", "asks");
  expect(plan.out).toContain("1 subtask: 1 done");
});

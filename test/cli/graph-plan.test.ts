import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { openDatabases } from "../helpers/open-databases.ts";
import { newDatabaseFolder } from "../helpers/pglite-template.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { packageEntry } from "./folder.ts";
import { memoryIo } from "./memory-io.ts";

const team = `import { defineAgent, definePlanner, defineWorker } from ${JSON.stringify(packageEntry)};
export const agent = definePlanner({
  name: "team",
  on_failure: "partial",
  max_depth: 0,
  workers: [
    defineWorker({ name: "counter", description: "Counts.", run({ id }) {
      if (id === "broken") throw new TypeError("The disk is full.");
      return id.length;
    } }),
    defineAgent({ name: "reckoner", tools: ["calculator"] }),
    defineAgent({ name: "asker", workflow_graph: {
      entry_point: "ask",
      nodes: [{ name: "ask", type: "human", config: { kind: "input", prompt: "Which?" } }],
      edges: [{ from: "ask", to: "END" }],
    } }),
  ],
});`;

const subtask = (id: string, worker: string, ...dependencies: string[]) => {
  return { id, description: id === "sum" ? "What is 2 + 3?" : `Do ${id}`, dependencies, worker };
};
const inputOf = (...subtasks: object[]) => JSON.stringify({ message: "go", plan: { subtasks } });

const cwd = tempFolder();
const databases = openDatabases();
afterAll(() => databases.release());

async function cli(...argv: readonly string[]) {
  const io = memoryIo({ cwd });
  await databases.hold(cwd);
  const code = await runCli(argv, io);
  return { code, out: steady(io.stdout.take()), errors: io.stderr.take() };
}

/** What differs from run to run. */
function steady(text: string): string {
  return text.replace(/ +[\d.]+ m?s\b/g, " N s");
}

const told = { team: "", waits: "" };

beforeAll(async () => {
  await rename(await newDatabaseFolder(), join(cwd, ".stratagraph"));
  await writeFile(join(cwd, "team.ts"), team);
  await writeFile(join(cwd, "plain.yaml"), "name: plain\n");
  const subtasks = [
    subtask("count", "counter"),
    subtask("broken", "counter", "count"),
    subtask("sum", "reckoner", "count"),
    subtask("report", "counter", "broken", "sum"),
  ];
  const ended = ["run", "team.ts", "-t", "team", "-i", inputOf(...subtasks)];
  told.team = (await cli(...ended)).out;
  const waits = inputOf(subtask("count", "counter"), subtask("ask", "asker", "count"));
  told.waits = (await cli("run", "team.ts", "-t", "waits", "-i", waits)).out;
  await cli("run", "plain.yaml", "hi", "-t", "plain");
});

describe("a run of a planner", () => {
  it("tells of the plan, of each subtask and of what their workers do", () => {
    const lines = told.team.split("\n");
    const from = lines.findIndex((line) => line.includes("plan of"));
    const upTo = lines.findIndex((line) => line.startsWith("── Answer"));
    const shown = lines.slice(from, upTo - 1);
    expect(shown.slice(0, 7)).toEqual([
      "     planner  plan of 4 subtasks on 3 levels",
      "       1  count   counter",
      "       2  broken  counter   after count",
      "          sum     reckoner  after count",
      "       3  report  counter   after broken, sum",
      "     ▸ count   counter",
      "     ✓ count   counter N s",
    ]);
    // Two run beside each other.
    expect(shown.slice(7, 13).toSorted()).toEqual([
      '       sum › ✓ calculator(expression: "2 + 3") N s',
      '     – report  counter  skipped: it needs "broken", which failed',
      "     ▸ broken  counter",
      "     ▸ sum     reckoner",
      "     ✓ sum     reckoner N s",
      "     ✗ broken  counter N s  failed (worker_error): The disk is full.",
    ]);
    expect(shown.slice(13)).toEqual([
      expect.stringMatching(
        /^ {5}planner {2}4 subtasks: 2 done, 1 failed, 1 skipped · N s · critical path N s/,
      ),
      "     ! planner: 2 gaps; not replanning",
      '       - Do broken (subtask "broken" failed: The disk is full.)',
      '       - Do report (subtask "report" was not begun: it needs "broken", which failed)',
    ]);
    expect(told.waits).toContain("     ? ask    asker  waits for a person\n");
  });
});

describe("stratagraph graph --plan", () => {
  it("shows the plans of a thread as text", async () => {
    const { code, out } = await cli("graph", "--plan", "team");
    expect(code).toBe(0);
    const words = out.split("\n").map((line) => line.split(/ {2,}/).filter(Boolean).join(" | "));
    expect(words.slice(3, 8)).toEqual([
      "level | subtask | worker | time | after",
      expect.stringMatching(/^1 \| ✓ \| \* \| count \| counter N s$/),
      expect.stringMatching(
        /^2 \| ✗ .*broken \| counter N s \| count \| failed \(worker_error\): The disk is full\.$/,
      ),
      expect.stringMatching(/^✓ .*sum \| reckoner N s \| count$/),
      '3 | – | report | counter | broken, sum | skipped: it needs "broken", which failed',
    ]);
    expect(out).toContain("\n✓ done   ✗ failed   – skipped   * critical path\n");
  });

  it("tells who is waited for", async () => {
    const { out } = await cli("graph", "--plan", "waits");
    expect(out).toMatch(/\n {4}2 {2}\? {2}. {2}ask +asker +count\n/);
    expect(out).toContain("? waits for a person");
  });

  it("draws them as Mermaid text, and into a file by its name", async () => {
    const { out } = await cli("graph", "--plan", "team", "--format", "mermaid");
    expect(out).toMatch(
      /^flowchart TD\n {2}count\["`\*\*✓ count\*\*\ncounter · N s`"\]:::is_done\n/,
    );
    expect(out).toMatch(/\n {2}count ==> (broken|sum)\n/);
    expect((await cli("graph", "-p", "team", "-o", "plan.mmd")).errors).toBe("Wrote plan.mmd\n");
    expect(steady(await readFile(join(cwd, "plan.mmd"), "utf8"))).toBe(out);
    expect((await cli("graph", "-p", "team", "-o", "plan.txt")).code).toBe(0);
    expect(await readFile(join(cwd, "plan.txt"), "utf8")).toMatch(/^planner\n4 subtasks: 2 done/);
  });

  it("gives them as JSON", async () => {
    const { out } = await cli("graph", "--plan", "team", "--format", "json");
    expect(JSON.parse(out)).toMatchObject({
      thread_id: "team",
      plans: [
        {
          node: "planner",
          within: [],
          waiting: [],
          depth: 0,
          criteria_met: false,
          levels: [["count"], ["broken", "sum"], ["report"]],
          critical_path: { ids: ["count", expect.any(String)], ms: expect.any(Number) },
          subtasks: { count: { status: "done", result: 5 }, report: { status: "skipped" } },
        },
      ],
    });
  });

  it("is told in short where the state is shown", async () => {
    const { out } = await cli("show", "team");
    expect(out).toContain(
      "\n  planner  COMPLETED · 4 subtasks: 2 done, 1 failed, 1 skipped · 2 gaps\n",
    );
    expect(out).toContain(
      "\nPlan of planner\n  ✓ count   counter N s\n  ✗ broken  counter N s  failed",
    );
  });

  it.each([
    [
      "neither an agent nor a thread",
      [],
      "Give AGENT to draw its graph, or --plan THREAD",
      "usage",
    ],
    ["both", ["plain.yaml", "--plan", "team"], "Give AGENT to draw its graph", "usage"],
    ["text of an agent's graph", ["plain.yaml", "-f", "text"], "--plan THREAD", "usage"],
    [
      "options of an agent's graph",
      ["-p", "team", "--xray"],
      "--xray applies to agent graphs",
      "usage",
    ],
    ["a PNG as text", ["-p", "team", "-f", "png"], "give --out FILE.", "usage"],
    ["a thread that is not there", ["-p", "tean"], 'Did you mean "team"?', "unknown_thread"],
    [
      "a thread without a plan",
      ["-p", "plain", "-o", "none.mmd"],
      'The last turn of thread "plain" has no plan',
      "no_plan",
    ],
  ])("refuses %s", async (_, argv, message, errorCode) => {
    const { code, out, errors } = await cli("graph", ...argv);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(errors).toContain(message);
    expect(errors).toContain(`[${errorCode}]`);
  });
});

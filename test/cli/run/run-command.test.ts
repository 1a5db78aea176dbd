import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { namesIn, packageEntry, useFolders } from "../folder.ts";
import { memoryIo } from "../memory-io.ts";
import { isAlive, misbehaving } from "../servers.ts";

const folderWith = useFolders();
const calculator = "name: calc\ntools: [calculator]\n";
const inPackage = JSON.stringify(packageEntry);

/** What differs from run to run, and with the wording of prompts. */
function steady(text: string): string {
  return text
    .replace(/\b[\d.]+ m?s\b/g, "N ms")
    .replace(/\b\d+ tokens in, \d+ out\b/, "N tokens in, N out");
}

describe("stratagraph run", () => {
  it("starts a server once, and ends it", async () => {
    const cwd = await folderWith({});
    const starts = join(cwd, "starts");
    // Each start leaves a line in the file.
    const tools = [misbehaving("counts", ["dies in a call", starts])];
    await writeFile(join(cwd, "a.json"), JSON.stringify({ name: "a", tools }));
    expect(await runCli(["run", "a.json", "Hello", "--no-save"], memoryIo({ cwd }))).toBe(0);
    const pids = (await readFile(starts, "utf8")).trim().split("\n").map(Number);
    expect(pids).toHaveLength(1);
    expect(pids.filter(isAlive)).toEqual([]);
    // Also where the run ends before it has a runtime.
    const early = ["run", "a.json", "--thread", "t"];
    expect(await runCli(early, memoryIo({ cwd }))).toBe(2);
    const all = (await readFile(starts, "utf8")).trim().split("\n").map(Number);
    expect(all.filter(isAlive)).toEqual([]);
  });

  it("shows the steps and the answer, and goes on with the thread in a second turn", async () => {
    const cwd = await folderWith({ "calc.yaml": calculator });
    const first = memoryIo({ cwd });
    expect(await runCli(["run", "calc.yaml", "What is 2 + 3?", "--thread", "t"], first)).toBe(0);
    expect(steady(first.stdout.take())).toBe(
      `calc 1.0.0 · offline:rules · thread t
offline:rules is a rule-based stand-in, not a language model; set OPENAI_API_KEY or pass --model provider:model.

  1  [offline:rules] Calling calculator.
     ✓ calculator(expression: "2 + 3")  N ms
       {"result":5}
  2  gives its answer

── Answer ──────────────────────────────────────────────────────────────────────

[offline:rules] 5

2 steps · 1 tool call · N tokens in, N out · N ms
`,
    );
    expect(first.stderr.take()).toBe("");
    expect(first.listening).toBe(0);
    expect(existsSync(join(cwd, ".stratagraph", "lock"))).toBe(false);

    const second = memoryIo({ cwd });
    const argv = ["run", "calc.yaml", "--input", '{"message":"And 4 * 5?"}', "-t", "t", "--json"];
    expect(await runCli(argv, second)).toBe(0);
    expect(JSON.parse(second.stdout.take())).toEqual({
      thread_id: "t",
      status: "COMPLETED",
      output: { message: "[offline:rules] 20" },
      interrupts: [],
      tool_calls: [],
      incomplete: false,
      incomplete_reason: null,
      failure: null,
      attempts: [{ attempt_number: 0, errors: [] }],
      usage: expect.objectContaining({ llm_calls: 2, tool_calls: 1, cost_usd: 0 }),
      invocation_usage: expect.objectContaining({ llm_calls: 2, tool_calls: 1 }),
      steps: [
        expect.objectContaining({ turn_number: 1, step_index: 0, next_action: "use_tools" }),
        expect.objectContaining({ turn_number: 1, step_index: 1, next_action: "finish" }),
      ],
    });
    expect(second.stderr.take()).toBe("");
  });

  it("keeps nothing with --no-save, and reads the message from standard input", async () => {
    const cwd = await folderWith({ "calc.yaml": calculator });
    const io = memoryIo({ cwd, stdin: [Buffer.from("What is "), Buffer.from("6 * 7?\n")] });
    expect(await runCli(["run", "calc.yaml", "-", "--no-save", "--json"], io)).toBe(0);
    expect(JSON.parse(io.stdout.take())).toMatchObject({
      thread_id: null,
      output: { message: "[offline:rules] 42" },
    });
    expect(await namesIn(cwd)).toEqual(["calc.yaml"]);
  });

  it("tells of refused attempts, and ends with 1 when the turn failed", async () => {
    const cwd = await folderWith({
      "never.ts": `import { defineAgent } from ${inPackage};
        export const agent = defineAgent({
          name: "never", execution_config: { max_attempts: 2 }, validate: () => "not good enough",
        });`,
    });
    const io = memoryIo({ cwd });
    expect(await runCli(["run", "never.ts", "hi", "--no-save"], io)).toBe(1);
    const shown = io.stdout.take();
    const lines = shown.split("\n").map((line) => line.trim());
    expect(lines).toContain("✗ attempt 1 of 2 refused");
    expect(lines).toContain("- not good enough");
    expect(lines).toContain("✗ attempt 2 of 2 refused");
    expect(shown).toMatch(/\n\n✗ Failed: all 2 attempts were refused\. \[attempts_exhausted\]\n\n/);

    const json = memoryIo({ cwd });
    expect(await runCli(["run", "never.ts", "hi", "--no-save", "--json"], json)).toBe(1);
    expect(JSON.parse(json.stdout.take())).toMatchObject({
      status: "FAILED",
      output: null,
      failure: { cause: "attempts_exhausted" },
      attempts: [{ errors: ["not good enough"] }, { errors: ["not good enough"] }],
    });
  });

  it("gives a definition the tools of a module, and shows safely what they return", async () => {
    const cwd = await folderWith({
      "tide.yaml": "name: tide\ntools: [tide_table]\n",
      "tools.ts": `import { defineTool } from ${inPackage};
        export const tools = [defineTool({
          name: "tide_table", description: "Gives the tide table.",
          input_schema: { type: "object", properties: {} },
          handler: () => "High\\u001b[2J at\\u0007 noon",
        })];`,
    });
    const io = memoryIo({ cwd });
    const argv = ["run", "tide.yaml", "Give me the tide table", "--tools", "tools.ts", "--no-save"];
    expect(await runCli(argv, io)).toBe(0);
    const shown = io.stdout.take();
    expect(shown).toContain("✓ tide_table()");
    expect(shown).toContain("\n       High at␇ noon\n");
    expect(shown).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it("draws on a terminal, and leaves nothing of that behind", async () => {
    const cwd = await folderWith({ "calc.yaml": calculator });
    const io = memoryIo({ cwd, isTerminal: true });
    expect(await runCli(["run", "calc.yaml", "What is 2 + 3?", "--no-save"], io)).toBe(0);
    const shown = io.stdout.take();
    expect(shown).toContain("⠋");
    expect(shown).toContain("\u001B[1mcalc\u001B[22m");
    const left = shown.split("\n").map((line) => line.split("\r\u001B[2K").at(-1));
    expect(left.join("\n")).not.toContain("…");
  });

  it("does not begin when it is stopped before the turn", async () => {
    const cwd = await folderWith({ "calc.yaml": calculator });
    const io = memoryIo({ cwd });
    const stopped = {
      ...io,
      onStop(listener: (reason: "SIGTERM") => void) {
        listener("SIGTERM");
        return () => {};
      },
    };
    expect(await runCli(["run", "calc.yaml", "hi"], stopped)).toBe(1);
    expect(io.stderr.take()).toBe("error: Stopped before the turn started. [stopped]\n");
    expect(io.stdout.take()).toBe("");
    expect(await namesIn(cwd)).toEqual(["calc.yaml"]);
  });
});

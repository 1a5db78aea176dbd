import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { openDatabases } from "../../helpers/open-databases.ts";
import { newDatabaseFolder } from "../../helpers/pglite-template.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { memoryIo } from "../memory-io.ts";

const agent = `name: sums
system_prompt: { role: You reckon., instructions: Use the calculator. }
tools: [calculator]
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

interface Document {
  readonly messages: readonly { role: string; content: string; tokens: number }[];
  readonly [key: string]: unknown;
}

async function json(...argv: readonly string[]): Promise<Document> {
  const { out } = await cli("context", ...argv, "--json");
  return JSON.parse(out) as Document;
}

beforeAll(async () => {
  await rename(await newDatabaseFolder(), join(cwd, ".stratagraph"));
  await writeFile(join(cwd, "sums.yaml"), agent);
  await writeFile(join(cwd, "other.yaml"), agent.replace("You reckon.", "You add."));
  await cli("run", "sums.yaml", "What is 6 * 7?", "--thread", "t");
});

describe("stratagraph context", () => {
  it("prints figures, steps and every message as it was sent", async () => {
    const { code, out } = await cli("context", "t", "--agent", "sums.yaml", "--step", "1");
    expect(code).toBe(0);
    expect(out).toMatch(/^thread t · turn 0 · step 1 · reason\nRead by \S+, for planning, from /);
    expect(out).toMatch(/\nsection +tokens +of budget +of window\nsystem +/);
    for (const section of ["tools", "memory", "conversation", "steps", "total"]) {
      expect(out).toMatch(new RegExp(`\n${section} +[\\d,]+ `));
    }
    expect(out).toMatch(/\n[\d,]+ raw, [\d,]+ saved \(/);
    expect(out).toMatch(
      /\n 1 {2}system · \d+ tokens\n {4}You reckon\.\n\n {4}Use the calculator\./,
    );
    expect(out).toMatch(/\n 2 {2}user · \d+ tokens\n {4}What is 6 \* 7\?\n/);
    expect(out).toMatch(
      /\n 3 {2}assistant · \d+ tokens\n(.*\n)* {4}→ calculator · \S+\n {6}\{"expression":"6 \* 7"\}\n/,
    );
    expect(out).toMatch(/\n 4 {2}tool · .*\d+ tokens\n/);
    expect(out).toContain("With the tools calculator.");
  });

  it("is one JSON document where that is asked for, with plain messages", async () => {
    const document = await json("t", "--agent", "sums.yaml", "--step", "1");
    expect(document).toMatchObject({
      thread_id: "t",
      namespace: "",
      turn: 0,
      attempt: 0,
      step: 1,
      node: "reason",
      tense: "past",
      goal: "planning",
      checkpoint_id: expect.any(String),
      tokens: { total: expect.any(Number), saved: expect.any(Number) },
      from_stored: false,
      without_request: false,
      goals: ["planning"],
      asks_before: 0,
    });
    expect(document.messages).toMatchObject([
      { role: "system", content: "You reckon.\n\nUse the calculator." },
      { role: "user", content: "What is 6 * 7?" },
      { role: "assistant", tool_calls: [{ name: "calculator", id: expect.any(String) }] },
      { role: "tool", tool_call_id: expect.any(String), content: expect.stringContaining("42") },
    ]);
    expect(document.messages.every(({ tokens }) => tokens > 0)).toBe(true);
  });

  it("needs no file of the agent: its definition is kept with the thread", async () => {
    const given = await json("t", "--agent", "sums.yaml", "--step", "1");
    const kept = await json("t", "--step", "1");
    expect(kept["from_stored"]).toBe(true);
    expect(kept.messages).toEqual(given.messages);
    expect((await cli("context", "t")).out).toContain("--agent FILE is exact.");
  });

  it("is of the next turn by default, with the message that it is given", async () => {
    const next = await json("t", "--agent", "sums.yaml", "And 8 * 9?");
    expect(next).toMatchObject({ tense: "next", turn: 1, step: 0, without_request: false });
    expect(next.messages.at(-1)).toMatchObject({ role: "user", content: "And 8 * 9?" });
    const without = await cli("context", "t", "--agent", "sums.yaml");
    expect(without.out).toMatch(/\nWould be read by /);
    expect(without.out).toContain("Give MESSAGE to include one.");
  });

  it("refuses what it cannot show, and says what there is", async () => {
    const cases = [
      [["t", "--step", "9"], "It has 0 (reason), 1 (reason). [unknown_step]"],
      [["t", "--turn", "9"], "It has only turn 0. [unknown_turn]"],
      [["tt"], 'Did you mean "t"?'],
      [["t", "--agent", "other.yaml", "--step", "0"], "[definition_changed]"],
      [["t", "--budget", "10"], "Expected a number of tokens, 256 or more."],
      [["t", "--step", "x"], "Expected an integer from 0."],
      [["t", "--goal", "all"], "Allowed choices are planning, synthesis."],
      [["t", "go", "--step", "1"], "omit --turn, --step and --namespace."],
    ] as const;
    for (const [argv, message] of cases) {
      const { code, out, errors } = await cli("context", ...argv);
      expect([code, out, errors]).toEqual([2, "", expect.stringContaining(message)]);
    }
    const other = ["context", "t", "--agent", "other.yaml", "--step", "0", "--accept-changes"];
    expect((await cli(...other)).out).toContain("You add.");
  });
});

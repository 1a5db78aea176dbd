import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { openDatabases } from "../helpers/open-databases.ts";
import { newDatabaseFolder } from "../helpers/pglite-template.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { memoryIo } from "./memory-io.ts";

/** Asks for a number, and doubles it. */
const agent = `name: double
tools: [calculator]
workflow_graph:
  entry_point: ask
  nodes:
    - name: ask
      type: human
      config: { kind: input, prompt: "Which number?", schema: { type: integer }, writes: execution.n }
    - name: sum
      type: tool
      config: { tool: calculator, args: { expression: "\${string(execution.n)} * 2" }, writes: execution.sum }
  edges:
    - { from: ask, to: sum }
    - { from: sum, to: END }
  output: { message: "\${string(execution.sum.result)}" }
`;

const cwd = tempFolder();
const databases = openDatabases();
afterAll(() => databases.release());

interface Told {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

async function cli(...argv: readonly string[]): Promise<Told> {
  return typing(undefined, ...argv);
}

/** On a terminal, where these lines are typed. */
async function typing(
  typed: readonly (string | null)[] | undefined,
  ...argv: readonly string[]
): Promise<Told> {
  const io = memoryIo({ cwd, ...(typed !== undefined && { typed }) });
  await databases.hold(cwd);
  const code = await runCli(argv, io);
  return { code, out: io.stdout.take(), errors: io.stderr.take() };
}

/** What a command prints as JSON. */
async function json<Document>(...argv: readonly string[]): Promise<Document> {
  const { out } = await cli(...argv, "--json");
  return JSON.parse(out) as Document;
}

interface Checkpoint {
  readonly id: string;
  readonly interrupts: number;
}

async function historyOf(thread: string): Promise<readonly Checkpoint[]> {
  const { checkpoints } = await json<{ checkpoints: Checkpoint[] }>("history", thread);
  return checkpoints;
}

/** What `t` showed while it waited, the checkpoint that it waited at, and all that it has. */
const t = { shown: "", waiting: "", all: [] as readonly Checkpoint[] };

beforeAll(async () => {
  await rename(await newDatabaseFolder(), join(cwd, ".stratagraph"));
  await writeFile(join(cwd, "double.yaml"), agent);
  await writeFile(join(cwd, "triple.yaml"), agent.replace("* 2", "* 3"));
  await writeFile(join(cwd, "halve.yaml"), agent.replace("name: double", "name: halve"));
  await cli("run", "double.yaml", "go", "--thread", "t");
  t.shown = (await cli("show", "t")).out;
  await cli("run", "double.yaml", "-t", "t", "--answer", "4");
  t.all = await historyOf("t");
  t.waiting = t.all.find(({ interrupts }) => interrupts > 0)?.id ?? "";
});

describe("stratagraph threads", () => {
  it("lists what is kept, by page", async () => {
    const { code, out } = await cli("threads");
    expect(code).toBe(0);
    expect(out).toMatch(
      /^thread +agent +status +checkpoints +size +updated\nt +double +COMPLETED +\d+ +[\d.]+ k?B/,
    );
    expect(await json("threads", "--limit", "1")).toMatchObject({
      threads: [{ thread_id: "t", status: "COMPLETED", checkpoints: expect.any(Number) }],
      next: null,
    });
  });
});

describe("stratagraph history", () => {
  it("has a line for every checkpoint, and pages", async () => {
    const { all } = t;
    const { code, out } = await cli("history", "t");
    expect(code).toBe(0);
    const lines = out.trimEnd().split("\n");
    expect(lines).toHaveLength(all.length + 2);
    expect(lines[2]).toContain(all[0]?.id.slice(0, 13));
    expect(lines[2]).toContain("turn end");
    const page = await cli("history", "t", "--limit", "2");
    const [, cursor = ""] =
      /Older: stratagraph history t --limit 2 --cursor (\S+)\n$/.exec(page.out) ?? [];
    const older = await json<{ checkpoints: Checkpoint[] }>("history", "t", "--cursor", cursor);
    expect(older.checkpoints).toEqual(all.slice(2));
  });

  it("names the nearest thread for one that is not there", async () => {
    const { code, errors } = await cli("history", "tt");
    expect(code).toBe(2);
    expect(errors).toContain('There is no thread "tt" here. Did you mean "t"?');
  });
});

describe("stratagraph show", () => {
  it("shows the last state, and one further back by any way to name it", async () => {
    const last = await cli("show", "t");
    expect(last.code).toBe(0);
    expect(last.out).toContain("\n  COMPLETED\n");
    expect(last.out).toContain("\n  next    nothing\n");
    expect(last.out).toMatch(/\nExecution\n {2}n +4\n/);
    expect(t.shown).toContain("■ Waits for an answer.\n\n? ask asks for input\n  Which number?\n");
    const back = t.all.findIndex(({ id }) => id === t.waiting);
    expect((await json<Checkpoint>("show", "t", `latest~${back}`)).id).toBe(t.waiting);
    expect((await json<Checkpoint>("show", "t", t.waiting.slice(0, 20))).id).toBe(t.waiting);
  });

  it("prints one channel whole", async () => {
    const { out } = await cli("show", "t", "--channel", "execution");
    expect(JSON.parse(out)).toMatchObject({ n: 4 });
    expect(await json("show", "t", "--channel", "output")).toMatchObject({
      thread_id: "t",
      channel: "output",
      value: { message: "8" },
    });
    const wrong = await cli("show", "t", "--channel", "outptu");
    expect(wrong.code).toBe(2);
    expect(wrong.errors).toContain("Did you mean output? [unknown_channel]");
  });

  it("prints the actions and the attempts of the steps", async () => {
    const line = 'calculator(expression="4 * 2") → success';
    expect(await json("show", "t", "--attempts")).toMatchObject({
      thread_id: "t",
      attempts: [line],
    });
    expect((await cli("show", "t", "--attempts")).out).toBe(`Attempts (1)\n  - ${line}\n`);
    expect(await json("show", "t", "--actions", "--turn", "0", "--step", "0")).toMatchObject({
      actions: [
        {
          turn_number: 0,
          attempt_number: 0,
          iteration: 0,
          tool_calls: [{ name: "calculator", result: '{"result":8}', outcome: "success" }],
        },
      ],
    });
    expect((await cli("show", "t", "--actions")).out).toMatch(
      /^Actions \(1\)\n\nStep 0 {2}turn 0, attempt 0 · .+ UTC · fast\n {2}✓ calculator\(expression: "4 \* 2"\) .+\n {4}\{"result":8\}\n$/,
    );
    expect(await json("show", "t", t.waiting, "--actions")).toMatchObject({ actions: [] });
  });

  it.each([
    [["--actions", "--attempts"], "Give one of --channel, --actions and --attempts. [usage]"],
    [["--step", "0"], "--turn and --step need --actions or --attempts. [usage]"],
    [["--actions", "--turn", "1"], "It has only turn 0. [unknown_turn]"],
    [["--actions", "--step", "7"], "It has 0 (sum). [unknown_step]"],
  ])("refuses %j", async (options, said) => {
    const { code, errors } = await cli("show", "t", ...options);
    expect([code, errors]).toEqual([2, expect.stringContaining(said)]);
  });

  it("refuses what names no checkpoint or several", async () => {
    const none = await cli("show", "t", "zzz");
    expect([none.code, none.errors]).toEqual([2, expect.stringContaining("[unknown_checkpoint]")]);
    const several = await cli("show", "t", "1");
    expect(several.code).toBe(2);
    expect(several.errors).toContain("[ambiguous_checkpoint]");
  });
});

describe("stratagraph diff", () => {
  it("tells what the second has that the first has not", async () => {
    const { code, out } = await cli("diff", "t", t.waiting, "latest");
    expect(code).toBe(0);
    expect(out).toMatch(/^− t\/\S+\n\+ t\/\S+\n/);
    expect(out).toMatch(/\n~ execution\n/);
    expect(out).toContain("4");
    const one = await cli("diff", "t", t.waiting, "latest", "--channel", "output");
    expect(one.out).toContain('{"message":"8"}');
    expect(one.out).not.toContain("execution");
    const same = await cli("diff", "t", "latest", "latest");
    expect(same.out).toContain("\n\nNo differences.\n");
  });
});

describe("stratagraph fork", () => {
  it("begins a thread that goes on in another way, and leaves the first as it was", async () => {
    const { code, out } = await cli("fork", "t", t.waiting, "--new", "other");
    expect(code).toBe(0);
    expect(out).toMatch(/^Thread other starts at checkpoint \S+ of t\.\n/);
    expect(out).toContain("\n  stratagraph run AGENT --thread other\n");
    const asked = await cli("run", "double.yaml", "-t", "other");
    expect(asked.out).toContain("? ask asks for input");
    const run = await cli("run", "double.yaml", "-t", "other", "-a", "10");
    expect(run.out).toContain("\n20\n");
    expect(await historyOf("t")).toEqual(t.all);
    const diff = await json<{ channels: { channel: string }[] }>(
      "diff",
      "t",
      "latest",
      "other/latest",
    );
    expect(diff.channels.map(({ channel }) => channel)).toContain("execution");
    const again = await cli("fork", "t", "latest", "--new", "other");
    expect([again.code, again.errors]).toEqual([2, expect.stringContaining("[thread_exists]")]);
  });

  it("changes the state that it begins with", async () => {
    const set = JSON.stringify({ execution: { n: 50 } });
    const argv = ["fork", "t", t.waiting, "--set", set, "--agent", "double.yaml"];
    const made = await json<{ thread_id: string; command: string; next: string[] }>(...argv);
    expect(made).toMatchObject({
      from: { thread_id: "t", checkpoint_id: t.waiting },
      next: ["ask"],
    });
    expect(made.command).toContain("stratagraph run double.yaml --thread ");
    const { out } = await cli("show", made.thread_id, "--channel", "execution");
    expect(JSON.parse(out)).toEqual({ n: 50 });
  });
});

describe("stratagraph replay", () => {
  it("asks again at the terminal, and makes a branch of the thread", async () => {
    const { code, out } = await typing(["7"], "replay", "double.yaml", "t", t.waiting);
    expect(out).toContain("\n14\n");
    expect(code).toBe(0);
    const { out: history } = await cli("history", "t");
    expect(history).toContain("├─╯");
    expect(history).toContain(`from ${t.waiting.slice(0, 13)}`);
    const over = await cli("replay", "double.yaml", "t", "latest");
    expect([over.code, over.errors]).toEqual([2, expect.stringContaining("[nothing_to_resume]")]);
  });

  it("runs in a new thread with another state, and leaves the first as it was", async () => {
    const before = await historyOf("t");
    const argv = ["replay", "double.yaml", "t", t.waiting, "--new-thread", "twin"];
    const { code, out } = await typing(["9"], ...argv);
    expect([code, out]).toEqual([0, expect.stringContaining("\n18\n")]);
    const state = JSON.stringify({ execution: { n: 50 } });
    const generated = await json<{ thread_id: string; status: string }>(
      "replay",
      "double.yaml",
      "t",
      t.waiting,
      "--state",
      state,
    );
    expect(generated).toMatchObject({ status: "AWAITING_HUMAN" });
    const shown = await cli("show", generated.thread_id, "--channel", "execution");
    expect(JSON.parse(shown.out)).toEqual({ n: 50 });
    expect(await historyOf("t")).toEqual(before);
    const refused = await cli("replay", "double.yaml", "t", t.waiting, "--state", '{"sum": 1}');
    expect([refused.code, refused.errors]).toEqual([
      2,
      expect.stringContaining("[invalid_state_update]"),
    ]);
  });

  it("refuses another definition until told to go on", async () => {
    const refused = await cli("replay", "triple.yaml", "t", t.waiting);
    expect(refused.code).toBe(2);
    expect(refused.errors).toContain("give --accept-changes");
    expect(refused.errors).toContain("[definition_changed]");
    const asked = await cli("replay", "triple.yaml", "t", t.waiting, "--accept-changes");
    expect([asked.code, asked.errors]).toEqual([3, ""]);
    const command = "stratagraph run triple.yaml --thread t --accept-changes --answer";
    expect(asked.out).toContain(command);
  });
});

describe("stratagraph run", () => {
  it("goes on under another definition when told to", async () => {
    const refused = await json<{ error: object }>("run", "double.yaml", "-t", "t", "-a", "2");
    expect(refused).toMatchObject({ error: { code: "definition_changed", thread_id: "t" } });
    const { out } = await cli("run", "double.yaml", "-t", "t", "-a", "2", "--accept-changes");
    expect(out).toContain("\n4\n");
  });
});

describe("a thread of another agent", () => {
  it("is refused until told to go on, and is listed with its agent", async () => {
    await cli("fork", "t", "latest", "--new", "lent");
    const agentOf = async (command: readonly string[]) => {
      const { threads } = await json<{ threads: { thread_id: string; agent: string }[] }>(
        ...command,
      );
      return threads.find(({ thread_id }) => thread_id === "lent")?.agent;
    };
    expect(await agentOf(["threads"])).toBe("double");
    const refused = await cli("run", "halve.yaml", "hi", "-t", "lent");
    expect([refused.code, refused.errors]).toEqual([
      2,
      'error: Thread "lent" belongs to agent "double", and this is agent "halve". Give another --thread, or --accept-agent to have "halve" continue it. [foreign_thread]\n',
    ]);
    expect(await json("run", "halve.yaml", "hi", "-t", "lent")).toMatchObject({
      error: { code: "foreign_thread", thread_id: "lent", owner: "double", agent: "halve" },
    });
    const asked = await cli("run", "halve.yaml", "hi", "-t", "lent", "--accept-agent");
    expect([asked.code, asked.errors]).toEqual([3, ""]);
    expect(await agentOf(["threads"])).toBe("halve");
    expect((await cli("threads")).out).toMatch(/^lent +halve +AWAITING_HUMAN/m);
    const idsOf = async (...filter: readonly string[]) => {
      type Listed = { threads: { thread_id: string }[] };
      const { threads } = await json<Listed>("threads", ...filter);
      return threads.map(({ thread_id }) => thread_id);
    };
    expect(await idsOf("--agent", "halve")).toEqual(["lent"]);
    expect(await idsOf("--agent", "halve", "--status", "AWAITING_HUMAN")).toEqual(["lent"]);
    expect(await idsOf("--agent", "halve", "--status", "COMPLETED")).toEqual([]);
    expect(await idsOf("--status", "COMPLETED")).toContain("t");
    expect(await idsOf("--status", "COMPLETED")).not.toContain("lent");
    expect((await cli("threads", "--agent", "none")).out).toBe("No matching threads.\n");
    expect((await cli("show", "lent")).out).toMatch(/^ +agent +halve$/m);
    await cli("delete", "lent", "--yes");
  });
});

describe("stratagraph recover", () => {
  it("says that nothing is pending, or who is waited for", async () => {
    const over = await cli("recover", "double.yaml", "t");
    expect([over.code, over.errors]).toEqual([0, ""]);
    expect(over.out).toContain("\nThe last intact checkpoint is ");
    await cli("run", "double.yaml", "go", "-t", "waits");
    const waits = await cli("recover", "double.yaml", "waits");
    expect(waits.code).toBe(3);
    expect(waits.out).toContain("? ask asks for input");
    expect(waits.out).toContain("stratagraph run double.yaml --thread waits --answer '<integer>'");
    expect(await json("recover", "double.yaml", "waits")).toMatchObject({
      thread_id: "waits",
      from: { thread_id: "waits" },
      skipped: [],
      settled: [],
      reason: "waiting",
      waiting: [{ node: "ask" }],
      result: null,
    });
  });

  it("goes back where the changed agent no longer has the node that is next", async () => {
    await cli("run", "double.yaml", "go", "-t", "renamed");
    await writeFile(join(cwd, "renamed.yaml"), agent.replaceAll(/\bask\b/g, "number"));
    const run = await cli("run", "renamed.yaml", "-t", "renamed", "--accept-changes");
    expect(run.code).toBe(2);
    expect(run.errors).toContain("the node ask is next, and the agent has no such node");
    expect(run.errors).toContain(
      "Recover it (stratagraph recover AGENT renamed --accept-changes).",
    );
    const recover = await cli("recover", "renamed.yaml", "renamed", "--accept-changes");
    expect(recover.code).toBe(3);
    expect(recover.out).toContain("? number asks for input");
    const done = await cli("run", "renamed.yaml", "-t", "renamed", "--answer", "4");
    expect([done.code, done.errors]).toEqual([0, ""]);
  });
});

describe("stratagraph verify", () => {
  it("says how far it is, and ends when it is stopped", async () => {
    await cli("run", "double.yaml", "go", "-t", "long");
    const database = await openDatabase({ folder: join(cwd, ".stratagraph") });
    await database.pool.query(
      `insert into stratagraph.checkpoints (thread_id, checkpoint_id, checkpoint, metadata, body, segments)
      select 'long', 'z' || n, 'null', '{}', '', '{}' from generate_series(1, 1500) n`,
    );
    await database.close();
    const io = memoryIo({ cwd });
    const written = io.stderr.write.bind(io.stderr);
    io.stderr.write = (text) => {
      written(text);
      io.stop("SIGINT");
    };
    await databases.hold(cwd);
    expect(await runCli(["verify", "long"], io)).toBe(1);
    const [progress, ended] = io.stderr.take().split("\n");
    expect(progress).toMatch(/^Read 1,000 of 1,50\d checkpoints$/);
    expect(ended).toContain("Stopped before completion.");
    expect([io.stdout.take(), io.listening]).toEqual(["", 0]);
  });

  it("says that a thread is sound, or what is damaged", async () => {
    await cli("run", "double.yaml", "go", "-t", "checked");
    const ids = (await historyOf("checked")).map(({ id }) => id);
    expect(await cli("verify", "checked")).toEqual({
      code: 0,
      out: `Read ${ids.length} checkpoints of checked: all are intact.\n`,
      errors: "",
    });
    const database = await openDatabase({ folder: join(cwd, ".stratagraph") });
    await database.pool.query(
      "update stratagraph.checkpoints set body = set_byte(body, 9, get_byte(body, 9) # 1) where checkpoint_id = $1",
      [ids[0]],
    );
    await database.close();
    const reason = "its content does not have the hash it was given";
    expect(await cli("verify", "checked")).toEqual({
      code: 1,
      out: `Read ${ids.length} checkpoints of checked: 1 is damaged.\n  ${ids[0]}: ${reason}\n`,
      errors: "",
    });
    expect(await json("verify", "checked")).toEqual({
      thread_id: "checked",
      checked: ids.length,
      damaged: [{ namespace: "", checkpoint_id: ids[0], reason }],
    });
    await cli("delete", "checked", "--yes");
  });
});

describe("stratagraph prune and delete", () => {
  it("remove nothing until told to", async () => {
    const before = await historyOf("other");
    const prune = await cli("prune", "other", "--keep", "latest");
    expect([prune.code, prune.out]).toEqual([2, ""]);
    expect(prune.errors).toContain("[not_confirmed]");
    const asked = await typing(["n"], "prune", "other", "--keep", "latest");
    expect(asked.code).toBe(0);
    expect(asked.out).toMatch(/y\/N › \[\]n\nNothing was removed\.\n$/);
    expect((await cli("delete", "other", "--json")).code).toBe(2);
    expect((await typing([null], "delete", "other")).out).toMatch(/Nothing was removed\.\n$/);
    const old = await json("prune", "other", "--keep", "latest", "--older-than", "7d", "--yes");
    expect(old).toMatchObject({ thread_id: "other", checkpoints: 0 });
    expect(await historyOf("other")).toEqual(before);
  });

  it("remove checkpoints, and whole threads", async () => {
    const { code, out } = await cli("prune", "other", "--keep", "latest", "--yes");
    expect(code).toBe(0);
    expect(out).toMatch(/^Removed \d+ checkpoints and \d+ stored elements? of other: /);
    expect(await historyOf("other")).toHaveLength(1);
    expect(await json("delete", "other", "--yes")).toEqual({
      thread_id: "other",
      removed: true,
      memories: 0,
      archived: 0,
    });
    expect((await cli("history", "other")).code).toBe(2);
  });

  it("give the space of what was removed back to the file system", async () => {
    const database = await openDatabase({ folder: join(cwd, ".stratagraph") });
    await database.pool.query(
      "create table large as select md5(n::text || random()) as text from generate_series(1, 400000) n",
    );
    await database.pool.query("delete from large");
    await database.close();
    await cli("run", "double.yaml", "go", "-t", "kept");
    const told = await cli("prune", "kept", "--keep", "latest", "--yes", "--reclaim");
    expect([told.code, told.errors]).toEqual([0, ""]);
    const sizes = / of kept: .*\nThe database now takes ([\d.]+) MB, previously ([\d.]+) MB\.\n$/;
    const [, after, before] = sizes.exec(told.out) ?? [];
    // An empty database with its log, of which another file of 17 MB may have been begun.
    const most = 45 + 17;
    expect(Number(after)).toBeLessThan(most);
    // Table and log, both.
    expect(Number(before) - Number(after)).toBeGreaterThan(40);
    const { reclaimed } = await json<{ reclaimed: Record<string, number> }>("prune", "--reclaim");
    expect(reclaimed["after"]).toBeLessThan(most * 1e6);
    expect((await json<{ checkpoints: object[] }>("history", "kept")).checkpoints).toHaveLength(1);
  });
});

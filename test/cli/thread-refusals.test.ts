import { describe, expect, it } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { namesIn, useFolders } from "./folder.ts";
import { memoryIo } from "./memory-io.ts";

const folderWith = useFolders();
const files = { "a.yaml": "name: a\ntools: [calculator]\n" };

const id = "1f0c6b4a-0007-6000-8000-2f0f5b7c3f11";

describe("commands on threads, where there is no database", () => {
  it("find no threads, and say how to begin one", async () => {
    const io = memoryIo({ cwd: await folderWith(files) });
    expect(await runCli(["threads"], io)).toBe(0);
    expect(io.stdout.take()).toBe(
      'No threads yet. To start one:\n  stratagraph run AGENT "…" --thread NAME\n',
    );
    expect(await runCli(["threads", "--json"], io)).toBe(0);
    expect(JSON.parse(io.stdout.take())).toEqual({ threads: [], next: null });
    expect(await namesIn(io.cwd)).toEqual(Object.keys(files));
  });

  it.each([
    ["history", "t"],
    ["show", "t"],
    ["context", "t", "--step", "1"],
    ["diff", "t", "latest", "latest~1"],
    ["fork", "t", "latest"],
    ["replay", "a.yaml", "t", "latest"],
    ["recover", "a.yaml", "t"],
    ["verify", "t"],
    ["prune", "t", "--keep", "latest", "--yes"],
    ["delete", "t", "--yes"],
    ["export", "t"],
    ["export", "t", "--out", "t.jsonl"],
  ])("%s says that there is no such thread, and makes nothing", async (...argv) => {
    const io = memoryIo({ cwd: await folderWith(files) });
    expect(await runCli(argv, io)).toBe(2);
    expect(io.stderr.take()).toBe(
      'error: There is no thread "t" here. "stratagraph threads" lists the threads of this folder\'s database, or of DATABASE_URL. [unknown_thread]\n',
    );
    expect(io.stdout.take()).toBe("");
    expect(await namesIn(io.cwd)).toEqual(Object.keys(files));
  });
});

it("says what makes the files of a Postgres server smaller, and does not connect", async () => {
  const io = memoryIo({
    cwd: await folderWith(files),
    env: { DATABASE_URL: "postgres://127.0.0.1:1/none" },
  });
  expect(await runCli(["prune", "--reclaim"], io)).toBe(0);
  const sql = /^ {2}(vacuum \(full, analyze\) .*;)$/m.exec(io.stdout.take())?.[1];
  for (const table of [
    "checkpoints",
    "checkpoint_elements",
    "checkpoint_threads",
    "tool_journal",
  ]) {
    expect(sql).toContain(` stratagraph.${table}`);
  }
  expect(await runCli(["prune", "--reclaim", "--json"], io)).toBe(0);
  expect(JSON.parse(io.stdout.take())).toEqual({ reclaimed: { sql } });
});

describe("wrong use of commands on threads ends with exit code 2, and makes nothing", () => {
  it.each([
    ["an empty thread id", ["show", ""], "[invalid_thread_id]"],
    ["a control character", ["history", "a\u001B[1mb"], "[invalid_thread_id]"],
    [
      "no checkpoint",
      ["show", "t", ""],
      '"" is not a checkpoint reference: expected an id, a prefix',
    ],
    ["an odd checkpoint", ["diff", "t", "a~b", "latest"], "[invalid_checkpoint]"],
    ["another thread without an id", ["diff", "t", "/latest", "latest"], "[invalid_thread_id]"],
    ["a limit", ["threads", "--limit", "0"], "Expected an integer from 1 to 1000."],
    ["no limit", ["history", "t", "--limit", "x"], "Expected an integer from 1 to 1000."],
    [
      "what to keep",
      ["prune", "t", "--keep", "some"],
      "Allowed choices are latest, turn_ends, all",
    ],
    ["nothing to keep", ["prune", "t"], "Give --keep: which checkpoints to keep."],
    ["nothing to prune", ["prune"], "Name the thread to prune, or give --reclaim."],
    ["a thread to prune", ["prune", "--reclaim", "--keep", "latest"], "need a thread: name it."],
    ["a database", ["prune", "--reclaim"], "There is no database in this folder."],
    ["an age", ["prune", "t", "--keep", "all", "--older-than", "7"], "30m, 12h, 7d, 2w."],
    ["no age", ["prune", "t", "--keep", "all"], "--keep all needs --older-than"],
    ["an update without an agent", ["fork", "t", id, "--set", "{}"], "give it with --agent FILE."],
    ["an update that is no JSON", ["fork", "t", id, "--set", "{"], "--set is not JSON"],
    ["an update that is no object", ["fork", "t", id, "--set", "[]"], "--set is not a JSON object"],
    ["a long new id", ["fork", "t", id, "--new", "x".repeat(300)], "[invalid_thread_id]"],
    ["a missing agent", ["fork", "t", id, "--agent", "c.yaml"], "[file_not_found]"],
    ["a missing file", ["import", "t.jsonl"], "There is no file t.jsonl. [file_not_found]"],
    ["an id of an import", ["import", "a.yaml", "--thread", ""], "[invalid_thread_id]"],
    ["too few words", ["replay", "a.yaml", "t"], "missing required argument 'checkpoint'"],
  ])("%s", async (_what, argv, message) => {
    const io = memoryIo({ cwd: await folderWith(files) });
    expect(await runCli(argv, io)).toBe(2);
    expect(io.stderr.take()).toContain(message);
    expect(io.stdout.take()).toBe("");
    expect(await namesIn(io.cwd)).toEqual(Object.keys(files));
  });

  it("says it as one JSON document where that is asked for", async () => {
    const io = memoryIo({ cwd: await folderWith(files) });
    expect(await runCli(["show", "t", "--json"], io)).toBe(2);
    expect(io.stderr.take()).toBe("");
    expect(JSON.parse(io.stdout.take())).toMatchObject({
      error: { code: "unknown_thread", thread_id: "t", suggestion: null },
    });
  });
});

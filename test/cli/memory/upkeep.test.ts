import { describe, expect, it } from "vitest";
import { support, useMemoryCli } from "./memory-cli.ts";

const setUp = useMemoryCli();

/** Two users of one agent, one of whom another agent knows as well. */
async function withEntries() {
  const made = await setUp();
  const added = await made.memory.add([
    { namespace: support("ada"), content: "Ada is allergic to peanuts.", thread_id: "t-1" },
    { namespace: support("ada"), content: "Ada lives in Oslo.", thread_id: "t-2" },
    { namespace: ["agents", "cook", "users", "ada"], content: "Ada likes soup." },
    { namespace: support("adam"), content: "Adam lives in Rome." },
    { namespace: support(), content: "Shops close at six.", thread_id: "t-1" },
  ]);
  const ids = added.map(({ id }) => id);
  const uses = [{ id: ids[0]!, run: "r", threadId: "t-2", score: 0.5 }];
  await made.memory.recordUses(uses);
  const left = async () => (await made.memory.list({})).map(({ content }) => content).toSorted();
  return { ...made, ids, left };
}

describe("stratagraph memory forget", () => {
  it("removes all that is of a user, with every agent, and says where it was used", async () => {
    const { cli, left } = await withEntries();
    const { code, out } = await cli(["forget", "--user", "ada", "--yes"]);
    expect({ code, out }).toEqual({
      code: 0,
      out: [
        "Forgot 3 memories.",
        "Contexts had them 1 time; these show them no longer.",
        "",
        "1 thread used them: t-2.",
        "Answers and results of the tool recall in a thread are text of that thread. To remove it:",
        "  stratagraph delete THREAD",
        "",
      ].join("\n"),
    });
    expect(await left()).toEqual(["Adam lives in Rome.", "Shops close at six."]);
  });

  it("removes archived copies of a user who has no other entries left", async () => {
    const { memory, cli, json } = await setUp();
    const namespace = support("ada");
    const [added] = await memory.add([{ namespace, content: "old", memory_type: "short_term" }]);
    const [entry] = await memory.list({});
    await memory.store.consolidating({ namespace, threadId: null }, (apply) =>
      apply([{ kind: "evict", id: added!.id, readAt: entry!.updated_at, archive: true }]),
    );
    expect(await json("list", "--archived")).toMatchObject({ memories: [{ content: "old" }] });
    const { out } = await cli(["forget", "--user", "ada", "--yes"]);
    expect(out).toBe("Forgot 0 memories and 1 archived copy.\n");
    expect(await memory.store.archived({})).toEqual([]);
  });

  it("removes entries by id, by thread, by namespace, by conditions", async () => {
    const { cli, ids, left } = await withEntries();
    const forget = (...argv: readonly string[]) => cli(["forget", ...argv, "--yes"]);
    expect(await forget(ids[3]!)).toMatchObject({ code: 0, out: "Forgot 1 memory.\n" });
    expect(await left()).not.toContain("Adam lives in Rome.");
    await forget("--agent", "support", "--user", "ada", "--thread", "t-1");
    expect(await left()).toEqual(["Ada likes soup.", "Ada lives in Oslo.", "Shops close at six."]);
    await forget("--namespace", "agents/cook");
    await forget("--thread", "t-1");
    expect(await left()).toEqual(["Ada lives in Oslo."]);
    await forget("--agent", "support", "--all");
    expect(await left()).toEqual([]);
  });

  it("removes everything of every agent only on request", async () => {
    const { cli, left } = await withEntries();
    for (const argv of [[], ["--agent", "support"]]) {
      const { code, errors } = await cli(["forget", ...argv, "--yes"]);
      expect({ code, errors }).toEqual({
        code: 2,
        errors: expect.stringContaining("Say what to forget"),
      });
    }
    expect(await left()).toHaveLength(5);
    await cli(["forget", "--all", "--yes"]);
    expect(await left()).toEqual([]);
  });

  it("refuses ids with other selections, and ids that are not there", async () => {
    const { cli, ids, left } = await withEntries();
    const both = await cli(["forget", ids[0]!, "--user", "ada", "--yes"]);
    expect(both).toMatchObject({ code: 2, errors: expect.stringContaining("IDs say") as string });
    const unknown = await cli(["forget", ids[0]!, "ffff", "--yes"]);
    expect(unknown).toMatchObject({
      code: 2,
      errors: expect.stringContaining("[unknown_memory]") as string,
    });
    expect(await left()).toHaveLength(5);
  });

  it("counts what it would remove, and removes nothing", async () => {
    const { cli, json, left } = await withEntries();
    const { out } = await cli(["forget", "--user", "ada", "--dry-run"]);
    expect(out).toBe("Would forget 3 memories.\n");
    const counted = await json("forget", "--user", "ada", "--dry-run");
    expect(counted).toEqual({ dry_run: true, entries: 3, archived: 0 });
    expect(await left()).toHaveLength(5);
  });

  it("says without a terminal what it would remove, and removes nothing", async () => {
    const { cli, json, left } = await withEntries();
    const { code, errors } = await cli(["forget", "--user", "ada"]);
    expect(code).toBe(2);
    expect(errors.replaceAll(/\s+/g, " ")).toContain(
      "Forget 3 memories of user ada with every agent? This cannot be undone; confirm with --yes. [not_confirmed]",
    );
    expect(await json("forget", "--user", "ada")).toMatchObject({
      error: { code: "not_confirmed" },
    });
    expect(await left()).toHaveLength(5);
  });

  it("asks on a terminal", async () => {
    const { cli, left } = await withEntries();
    const answered = (line: string | null) =>
      cli(["forget", "--user", "ada"], { isTerminal: true, typed: [line] });
    expect((await answered("n")).out).toContain("Nothing was forgotten.");
    expect((await answered(null)).out).toContain("Nothing was forgotten.");
    expect(await left()).toHaveLength(5);
    expect((await answered("y")).out).toContain("Forgot 3 memories.");
    expect(await left()).toHaveLength(2);
  });

  it("is one JSON document with all counts", async () => {
    const { json } = await withEntries();
    expect(await json("forget", "--agent", "support", "--user", "ada", "--all", "--yes")).toEqual({
      entries: 2,
      archived: 0,
      uses: 1,
      threads: ["t-2"],
    });
  });
});

describe("stratagraph memory consolidate", () => {
  it("consolidates all that is of an agent, with the definition's options under its own", async () => {
    const definition = [
      "name: support",
      "memory_config:",
      "  long_term:",
      "    enabled: true",
      "    consolidation: { strategy: age, max_entries: 5, archive_evicted: false }",
      "",
    ].join("\n");
    const { memory, json } = await setUp({ files: { "agent.yaml": definition } });
    await memory.add([
      { namespace: support("ada"), content: "a" },
      { namespace: support("bob"), content: "b" },
    ]);
    const calls: object[] = [];
    memory.consolidate = async (options) => {
      calls.push({ ...options, signal: undefined });
      return { consolidated: 1, merged: 2, evicted: 3, archived: 4, left: 5, busy: 6 };
    };
    const argv = ["--agent", "agent.yaml", "--max-entries", "7", "--min-age-hours", "0"];
    expect(await json("consolidate", ...argv)).toEqual({
      consolidated: 1,
      merged: 2,
      evicted: 3,
      archived: 4,
      left: 5,
      busy: 6,
    });
    const options = { strategy: "age", maxEntries: 7, minAgeHours: 0, archiveEvicted: false };
    expect(calls).toEqual([{ namespace: support(), ...options }]);
    await memory.add([{ namespace: ["notes"], content: "c" }]);
    expect(await json("consolidate")).toMatchObject({ consolidated: 2, left: 10 });
    expect(calls.slice(1)).toEqual([{ namespace: ["agents"] }, { namespace: ["notes"] }]);
  });

  it("counts candidates by age without changing them", async () => {
    const { memory, cli, json } = await setUp();
    const namespace = support();
    await memory.add([
      { namespace, content: "new", memory_type: "short_term" },
      { namespace, content: "old", memory_type: "short_term", created_at: "2026-01-01T00:00:00Z" },
      { namespace, content: "fact" },
    ]);
    expect(await json("consolidate", "--dry-run")).toEqual({
      dry_run: true,
      short_term: 2,
      old_enough: 1,
    });
    const { out } = await cli(["consolidate", "--agent", "support", "--dry-run"]);
    expect(out).toBe("2 short-term memories, 1 older than 24 hours.\n");
  });
});

describe("stratagraph memory reembed", () => {
  it("adds missing vectors, and shows its progress on a terminal alone", async () => {
    const embeddings = {
      id: "test:letters",
      dimensions: 2,
      embed: async (texts: readonly string[]) => texts.map(() => new Float32Array([1, 0])),
    };
    const { memory, cli, json } = await setUp({ embeddings });
    const namespace = support();
    await memory.store.add([
      { namespace, content: "a" },
      { namespace, content: "b" },
    ]);
    const { code, out, errors } = await cli(["reembed"]);
    expect({ code, out, errors }).toEqual({
      code: 0,
      out: "Embedded 2 memories with test:letters.\n",
      errors: "",
    });
    expect(await memory.list({ namespace })).toMatchObject([
      { embedding_model: "test:letters" },
      { embedding_model: "test:letters" },
    ]);
    expect((await cli(["reembed"])).out).toBe("Every memory has its vector.\n");
    expect(await json("reembed")).toEqual({ embedded: 0, model: "test:letters" });
  });

  it("says how to get an encoder where there is none", async () => {
    const { cli } = await setUp();
    const { code, errors } = await cli(["reembed"]);
    expect(code).toBe(2);
    expect(errors.replaceAll(/\s+/g, " ")).toContain("npm install @lat.md/embed");
  });
});

describe("stratagraph memory sweep", () => {
  it("removes expired entries", async () => {
    const { memory, cli, json } = await setUp();
    const expires_at = "2026-01-01T00:00:00.000Z";
    await memory.add([
      { namespace: support(), content: "a", expires_at },
      { namespace: support(), content: "b" },
    ]);
    expect((await cli(["sweep"])).out).toBe("Removed 1 expired memory.\n");
    expect(await json("sweep")).toEqual({ removed: 0 });
    expect(await memory.store.count({})).toBe(1);
  });
});

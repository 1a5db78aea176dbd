import { describe, expect, it } from "vitest";
import { support, useMemoryCli } from "./memory-cli.ts";

const setUp = useMemoryCli();

const allergy = "Ada is allergic to peanuts.";
const city = "Ada lives in Oslo.";
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const unprintable = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/;
// oxlint-disable-next-line no-control-regex -- as above
const colour = /\u001B\[\d+m/g;

describe("stratagraph memory list", () => {
  it("prints the entries of one user as a table, newest first", async () => {
    const { memory, cli } = await setUp();
    await memory.add([
      { namespace: support("ada"), content: allergy, created_at: "2026-01-01T00:00:00.000Z" },
      { namespace: support("ada"), content: city, memory_type: "episodic", importance: 0.8 },
      { namespace: support("bob"), content: "Bob lives in Rome." },
    ]);
    const { code, out } = await cli(["list", "--agent", "support", "--user", "ada"]);
    expect(code).toBe(0);
    const [heading, first, second, , end] = out.split("\n");
    expect(heading).toMatch(/^id +type +age +imp\. +used +text$/);
    expect(first).toMatch(/^[\da-f-]+ +episodic +\d+ s ago +0\.80 +0 +Ada lives in Oslo\.$/);
    expect(second).toMatch(/^[\da-f-]+ +semantic +\d+ days ago +0\.50 +0 +Ada is allergic/);
    expect(end).toBe("2 of 2 of agent support for user ada");
  });

  it("includes the users of an agent, and shows whose entries they are", async () => {
    const { memory, cli } = await setUp();
    await memory.add([
      { namespace: support("ada"), content: allergy },
      { namespace: support(), content: "Shops close at six." },
      { namespace: ["agents", "support-2"], content: "Another agent." },
    ]);
    const { out } = await cli(["list", "--agent", "support"]);
    expect(out).toMatch(/ agents\/support\/users\/ada +Ada is allergic/);
    expect(out).toMatch(/ agents\/support +Shops close/);
    expect(out).not.toContain("Another agent");
  });

  it("filters by thread, type, tag and time, and pages", async () => {
    const { memory, json } = await setUp();
    await memory.add([
      {
        namespace: support(),
        content: "a",
        thread_id: "t",
        created_at: "2026-01-01T00:00:00.000Z",
      },
      { namespace: support(), content: "b", memory_type: "procedural" },
      { namespace: support(), content: "c", metadata: { tags: ["x", "y"] } },
      { namespace: support(), content: "d", metadata: { tags: ["x"] } },
    ]);
    const found = async (...argv: readonly string[]) => {
      const { memories } = await json("list", ...argv);
      return (memories as { content: string }[]).map(({ content }) => content);
    };
    expect(await found("--thread", "t")).toEqual(["a"]);
    expect(await found("--type", "procedural", "--type", "episodic")).toEqual(["b"]);
    expect(await found("--tag", "x", "--tag", "y")).toEqual(["c"]);
    expect(await found("--until", "2026-01-02")).toEqual(["a"]);
    expect(await found("--since", "1h")).toEqual(["d", "c", "b"]);
    const first = await json("list", "--limit", "2");
    expect(first).toMatchObject({ memories: [{ content: "d" }, { content: "c" }], total: 4 });
    const second = await json("list", "--limit", "2", "--cursor", String(first["next"]));
    expect(second).toMatchObject({ memories: [{ content: "b" }, { content: "a" }] });
  });

  it("neutralises escape sequences, line breaks and invisible characters of texts", async () => {
    const { memory, cli } = await setUp();
    const content = "\u001B]0;owned\u0007one\n\u001B[2Jtwo\u202Ethree\u009B31m";
    const namespace = ["agents", "support", "users", "a\u001B[31m\nb"];
    await memory.add([
      { namespace, content },
      { namespace: support(), content: "other" },
    ]);
    const { out } = await cli(["list"], { isTerminal: true });
    expect(out.replaceAll(colour, "")).not.toMatch(unprintable);
    expect(out.split("\n").filter((line) => line.includes("one"))).toHaveLength(1);
    const shown = await cli(["show", (await memory.list({ namespace }))[0]!.id]);
    expect(shown.out).not.toMatch(unprintable);
    expect(shown.out).toMatch(/^ {2}one\n {2}two.three$/m);
  });

  it("cuts texts to the width of the terminal", async () => {
    const { memory, cli } = await setUp();
    await memory.add([{ namespace: support(), content: "word ".repeat(100) }]);
    const { out } = await cli(["list"], { isTerminal: true, env: { NO_COLOR: "1" } });
    for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    expect(out).toContain("…");
  });

  it("finds nothing of a user whom no agent remembers, and says so", async () => {
    const { memory, cli } = await setUp();
    await memory.add([{ namespace: support("ada"), content: allergy }]);
    for (const [command, text] of [
      [["list"], "No memories of user bob with every agent.\n"],
      [["search", "peanuts"], "Nothing is remembered on that of user bob with every agent.\n"],
      [["namespaces"], "No memories of user bob with every agent.\n"],
    ] as const) {
      const { code, out } = await cli([...command, "--user", "bob"]);
      expect([code, out]).toEqual([0, text]);
    }
    const { code, out } = await cli(["consolidate", "--user", "bob"]);
    expect([code, out]).toEqual([0, expect.stringContaining("consolidated 0")]);
  });

  it("lists archived entries of a user who has no others", async () => {
    const { memory, cli } = await setUp();
    await memory.add([
      {
        namespace: support("ada"),
        content: "old",
        memory_type: "short_term",
        thread_id: "t",
        created_at: "2026-01-01T00:00:00.000Z",
      },
    ]);
    await memory.consolidate({ namespace: support("ada"), importanceThreshold: 1 });
    const { out } = await cli(["list", "--archived", "--user", "ada"]);
    expect(out).toMatch(/ old$/m);
  });

  it("creates no database", async () => {
    const { cli } = await setUp({ hasDatabase: false });
    const { code, out } = await cli(["list", "--agent", "support"]);
    expect({ code, out }).toEqual({
      code: 0,
      out: 'No memories of agent support.\nTo add one:\n  stratagraph memory add --agent NAME "…"\n',
    });
    expect(await cli(["search", "peanuts"])).toMatchObject({ code: 0 });
    expect(await cli(["show", "01a20805"])).toMatchObject({ code: 2 });
  });
});

describe("stratagraph memory search", () => {
  it("prints hits with their scores, best first, and with --why their reasons", async () => {
    const { memory, cli } = await setUp();
    await memory.add([
      { namespace: support("ada"), content: city },
      { namespace: support("ada"), content: allergy },
    ]);
    const argv = ["search", "peanuts allergic", "--agent", "support", "--user", "ada"];
    const plain = await cli(argv);
    expect(plain.out).toMatch(
      /^score +id +type +age +text\n *0\.\d\d .* Ada is allergic to peanuts\.\n/,
    );
    const { out } = await cli([...argv, "--why"]);
    expect(out).toMatch(/\n {7}keyword 1\.00 · neighbours .* · words: peanuts, allergic\n/);
    expect(out).not.toContain("meaning");
  });

  it("is one JSON document where that is asked for", async () => {
    const { memory, json } = await setUp();
    await memory.add([{ namespace: support(), content: allergy }]);
    expect(await json("search", "peanuts", "--agent", "support")).toEqual({
      query: "peanuts",
      embedding_model: null,
      hits: [
        {
          score: expect.any(Number) as number,
          why: expect.objectContaining({ terms: ["peanuts"] }) as object,
          entry: expect.objectContaining({ content: allergy, namespace: support() }) as object,
        },
      ],
    });
  });

  it("counts as no access", async () => {
    const { memory, json } = await setUp();
    await memory.add([{ namespace: support(), content: allergy }]);
    await json("search", "peanuts");
    expect(await memory.list({})).toMatchObject([{ access_count: 0, last_accessed: null }]);
  });

  it("asks which agent is meant where several know a user", async () => {
    const { memory, cli } = await setUp();
    await memory.add([
      { namespace: support("ada"), content: allergy },
      { namespace: ["agents", "cook", "users", "ada"], content: allergy },
      { namespace: ["agents", "zoo", "users", "bob"], content: allergy },
    ]);
    const { code, errors } = await cli(["search", "peanuts", "--user", "ada"]);
    expect(code).toBe(2);
    expect(errors).toContain('Several agents remember user "ada": cook, support. Give --agent.');
    expect(await cli(["search", "peanuts", "--user", "bob"])).toMatchObject({
      code: 0,
      out: expect.stringContaining("Ada is allergic") as string,
    });
  });
});

describe("stratagraph memory show", () => {
  it("prints an entry by its id, its beginning, or its end as tables show it", async () => {
    const { memory, cli, json } = await setUp();
    const [added] = await memory.add([
      {
        namespace: support("ada"),
        content: "Ada is allergic.\nTo peanuts.",
        thread_id: "t-1",
        metadata: { source: "user", tags: ["health"], entities: ["Ada"] },
      },
    ]);
    const id = added!.id;
    const { code, out } = await cli(["show", id.slice(0, 12)]);
    expect(code).toBe(0);
    expect(out).toContain(`Memory ${id}\n\n  Ada is allergic.\n  To peanuts.\n\n`);
    expect(out).toMatch(/\n {2}namespace +agents\/support\/users\/ada\n/);
    expect(out).toMatch(/\n {2}thread +t-1\n/);
    expect(out).toMatch(/\n {2}tags +health\n {2}entities +Ada\n/);
    const { out: table } = await cli(["list"]);
    expect(table).toContain(`\n${id.slice(-8)} `);
    expect(await json("show", id.slice(-8))).toMatchObject({ id, thread_id: "t-1" });
  });

  it("refuses an id that is not there, and a part of several", async () => {
    const { memory, cli } = await setUp();
    const id = "01a20805-6d1e-76f5-b110-07e6077ee04";
    await memory.add([
      { namespace: support(), id: `${id}1`, content: "a" },
      { namespace: support(), id: `${id}2`, content: "b" },
    ]);
    expect(await cli(["show", "ffff"])).toMatchObject({
      code: 2,
      errors: expect.stringContaining("[unknown_memory]") as string,
    });
    const { code, errors } = await cli(["show", "01a2"]);
    expect(code).toBe(2);
    expect(errors).toContain('Several memories have an id with "01a2":');
    expect(errors).toContain("[ambiguous_memory]");
  });
});

describe("stratagraph memory namespaces", () => {
  it("counts the entries of each", async () => {
    const { memory, cli, json } = await setUp();
    await memory.add([
      { namespace: support("ada"), content: allergy },
      { namespace: support("ada"), content: city },
      { namespace: support("a/b"), content: city },
    ]);
    const { out } = await cli(["namespaces"]);
    expect(out).toMatch(/^ *2 {2}agents\/support\/users\/ada$/m);
    expect(out).toMatch(/^ *1 {2}\["agents","support","users","a\/b"\]$/m);
    expect(await json("list", "--namespace", '["agents","support","users","a/b"]')).toMatchObject({
      total: 1,
    });
    expect(await json("namespaces", "--namespace", "agents/support/users/ada")).toEqual({
      namespaces: [{ namespace: support("ada"), entries: 2 }],
    });
  });
});

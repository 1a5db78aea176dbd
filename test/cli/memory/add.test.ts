import { describe, expect, it } from "vitest";
import { instanceIdOf } from "../../../src/memory/namespace.ts";
import { support, useMemoryCli } from "./memory-cli.ts";

const setUp = useMemoryCli();
const ofAda = ["--agent", "support", "--user", "ada"];
const lines = (...entries: readonly object[]) =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");

describe("stratagraph memory add", () => {
  it("stores a text with what the options say of it", async () => {
    const { memory, cli } = await setUp();
    const text = "Ada is allergic to peanuts.";
    const about = ["--thread", "t", "--tag", "health", "--tag", "food", "--entity", "Ada"];
    const details = ["--type", "episodic", "--importance", "0.9", "--expires-in", "30d"];
    const { code, out } = await cli(["add", text, ...ofAda, ...about, ...details]);
    expect(code).toBe(0);
    const [entry] = await memory.list({});
    expect(out).toBe(`Added memory ${entry?.id} of agent support for user ada.\n`);
    expect(entry).toMatchObject({
      namespace: support("ada"),
      thread_id: "t",
      instance_id: instanceIdOf("support", "t"),
      memory_type: "episodic",
      importance: 0.9,
      metadata: { source: "user", tags: ["health", "food"], entities: ["Ada"] },
    });
    const lives = Date.parse(entry?.expires_at ?? "") - Date.parse(entry?.created_at ?? "");
    expect(Math.round(lives / 3_600_000)).toBe(30 * 24);
  });

  it("finds the entities of a text itself, and takes the agent of a definition file", async () => {
    const { memory, json } = await setUp({ files: { "agent.yaml": "name: support\n" } });
    const added = await json("add", "Ada lives in Oslo.", "--agent", "agent.yaml");
    const [entry] = await memory.list({ namespace: support(), exact: true });
    expect(added).toEqual({ added: 1, known: 0, without_vector: 1, ids: [entry?.id] });
    expect(entry).toMatchObject({ metadata: { entities: ["Ada", "Oslo"] }, thread_id: null });
  });

  it.each([
    ["neither a text nor a file", [], "Give TEXT to remember, or --file"],
    ["both", ["x", "--file", "y"], "Give TEXT to remember, or --file"],
    ["no agent and no namespace", ["x"], "Say who remembers"],
    ["a namespace with an agent", ["x", "--agent", "a", "--namespace", "b"], "replaces --agent"],
    ["an empty text", ["", "--agent", "a"], "[invalid_memory]"],
    ["a text that no database stores", ["a\0b", "--agent", "a"], "[invalid_memory]"],
    ["a text that is too long", ["a".repeat(32_769), "--agent", "a"], "[invalid_memory]"],
    ["an unknown type", ["x", "--agent", "a", "--type", "vague"], "Allowed choices"],
    ["an importance over 1", ["x", "--agent", "a", "--importance", "2"], "from 0 to 1"],
    ["an empty namespace", ["x", "--namespace", "a//b"], "labels such as"],
    ["a namespace of numbers", ["x", "--namespace", "[1]"], "labels such as"],
  ])("refuses %s", async (_, argv, message) => {
    const { memory, cli } = await setUp();
    const { code, errors } = await cli(["add", ...argv]);
    expect({ code, errors }).toEqual({ code: 2, errors: expect.stringContaining(message) });
    expect(await memory.list({})).toEqual([]);
  });

  it("adds the lines of a file, each once, however often it is added", async () => {
    const file = lines(
      { content: "Ada lives in Oslo.", metadata: { source: "agent" } },
      { content: "Bob lives in Rome.", namespace: support("bob"), thread_id: "t-2" },
    );
    const { memory, cli, json } = await setUp({ files: { "entries.jsonl": file } });
    const argv = ["add", "--file", "entries.jsonl", ...ofAda, "--tag", "import"];
    expect((await cli(argv)).out).toBe("Added 2 memories of agent support for user ada.\n");
    expect(await memory.list({ namespace: support("ada") })).toMatchObject([
      { content: "Ada lives in Oslo.", metadata: { source: "agent", tags: ["import"] } },
    ]);
    expect(await memory.list({ namespace: support("bob") })).toMatchObject([
      { thread_id: "t-2", instance_id: instanceIdOf("support", "t-2") },
    ]);
    expect(await json(...argv)).toMatchObject({ added: 0, known: 2 });
    expect(await memory.store.count({})).toBe(2);
  });

  it("names the lines that are no entries, and then adds none", async () => {
    const file = [
      JSON.stringify({ content: "fine" }),
      "{",
      "",
      JSON.stringify({ content: "", importance: 2 }),
      JSON.stringify({ content: "x", role: "admin" }),
      '{"content":"x","__proto__":{"a":1}}',
      `{"content":"x","value":${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)}}`,
    ].join("\n");
    const { memory, cli, json } = await setUp({ files: { "entries.jsonl": file } });
    const argv = ["add", "--file", "entries.jsonl", ...ofAda];
    const { code, errors } = await cli(argv);
    expect(code).toBe(2);
    expect(errors).toContain("nothing was written");
    expect(errors).toContain("line 2: expected a JSON object");
    expect(errors).toMatch(/line 4: content: .*; importance: /);
    expect(errors).toMatch(/line 5: .*"role"/);
    expect(errors).toMatch(/line 6: .*"__proto__"/);
    expect(errors).toContain("line 7: value: expected at most 100 levels");
    expect(await json(...argv)).toMatchObject({ error: { code: "memory_file" } });
    expect(await memory.list({})).toEqual([]);
  });

  it("stops at 50,000 lines, whether they are entries or not", async () => {
    const { cli } = await setUp({ files: { "entries.jsonl": "x\n".repeat(50_001) } });
    const { code, errors } = await cli(["add", "--file", "entries.jsonl", ...ofAda]);
    expect([code, errors]).toEqual([2, expect.stringContaining("more than 50,000 entries")]);
  });

  it("asks whose memories the lines of a file are where neither says so", async () => {
    const { cli } = await setUp({ files: { "entries.jsonl": lines({ content: "x" }) } });
    const { code, errors } = await cli(["add", "--file", "entries.jsonl"]);
    expect({ code, errors }).toEqual({
      code: 2,
      errors: expect.stringContaining("line 1: expected a namespace"),
    });
  });

  it("reads standard input, and refuses bytes that are no text", async () => {
    const { memory, cli } = await setUp();
    const argv = ["add", "--file", "-", ...ofAda];
    const stdin = [Buffer.from('{"content":"Ada li'), Buffer.from('ves in Oslo."}')];
    expect(await cli(argv, { stdin })).toMatchObject({ code: 0 });
    expect(await memory.list({})).toMatchObject([{ content: "Ada lives in Oslo." }]);
    const { code, errors } = await cli(argv, { stdin: [Buffer.from([0xff])] });
    expect({ code, errors }).toEqual({ code: 2, errors: expect.stringContaining("not UTF-8") });
  });
});

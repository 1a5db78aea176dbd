import { canonicalHash } from "../../../../src/values/json.ts";
import { randomBytes, randomUUID } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { PostgresCheckpointer } from "../../../../checkpointers/postgres.ts";
import { exportLines } from "../../../../checkpointers/threads/transfer/import-thread.ts";
import { StratagraphError } from "../../../../src/errors.ts";
import { askingGraph } from "../../../contract/transfer-contract.ts";
import { loopGraph } from "../../../contract/time-travel-graph.ts";
import { collect } from "../../../helpers/collect.ts";
import { useDatabase } from "../../../helpers/databases.ts";
import { forged } from "../../../helpers/forged-export.ts";
import { sealed, transferOf } from "../../../helpers/thread-transfer.ts";
import { stockSaver } from "../../../helpers/stock-saver.ts";

const database = useDatabase("pglite");
const topic = "cats ".repeat(60);
/** What the line of an element has that is one unit of a list. */
const unit = `"json":["${topic} 3"]`;
const threadOf = (threadId: string) => ({ configurable: { thread_id: threadId } });
const tables = [
  "checkpoints",
  "checkpoint_elements",
  "checkpoint_log_uses",
  "checkpoint_write_sets",
  "checkpoint_blobs",
  "checkpoint_writes",
];
/** Stands for JSON that cannot be written from a value. */
const raw = { deep: "<deep>", proto: "<proto>", huge: "<huge>" };
const rawJson: Record<string, string> = {
  [raw.deep]: "[".repeat(20_000) + "]".repeat(20_000),
  [raw.proto]: '{"__proto__":{"toString":1,"polluted":true},"constructor":{"prototype":{}}}',
  [raw.huge]: "1e400",
};

const nastyText = [
  "",
  "\0",
  "\uD800",
  "__proto__",
  "langchain",
  "json",
  "bytes",
  "x".repeat(3_000),
];
const nastyNumbers = [-1, -0, 0, 1, 1.5, 2 ** 31, 2 ** 53, 1e308];
const nastyJson: unknown[] = [
  null,
  [],
  {},
  [[]],
  [""],
  ["a", {}],
  ["i", "{"],
  ["b", "ew==", "langchain"],
  ["e", ""],
  ["l", 1e9, "", 1],
  ["m", 0, "", 0],
  { json: {} },
  { json: ["a"] },
  { text: "{" },
  { base64: "/w==" },
  { lc: 1, type: "constructor", id: ["langchain_core", "prompts", "PromptTemplate"] },
];
/** What stands in the place of some value. */
const nasty: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...Object.values(raw)),
  fc.constantFrom(...nastyText),
  fc.constantFrom(...nastyNumbers),
  fc.constantFrom(...nastyJson),
  fc.jsonValue({ maxDepth: 3 }),
);

type Container = Record<string, unknown>;

/** The line with the value at a place within replaced, removed, copied to another key or moved. */
function changed(line: string, steps: readonly number[], how: string, by: unknown): string {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return line;
  }
  let container = json as Container;
  const inner = (one: unknown): one is Container => typeof one === "object" && one !== null;
  for (const step of steps) {
    const children = Object.values(container).filter(inner);
    if (children.length === 0) break;
    container = children[step % children.length]!;
  }
  const keys = Object.keys(container);
  const key = keys[(steps[0] ?? 0) % Math.max(1, keys.length)] ?? "a";
  if (how === "add") Object.assign(container, { [`${key}2`]: by });
  else if (how === "remove") Reflect.deleteProperty(container, key);
  else container[key] = by;
  return withRaw(JSON.stringify(json));
}

function withRaw(text: string): string {
  return Object.entries(rawJson).reduce(
    (all, [mark, json]) => all.replaceAll(`"${mark}"`, json),
    text,
  );
}

const edit = fc.oneof(
  fc.record({
    kind: fc.constantFrom("replace", "replace", "replace", "add", "remove"),
    at: fc.nat(),
    steps: fc.array(fc.nat(11), { maxLength: 8 }),
    by: nasty,
  }),
  fc.record({
    kind: fc.constantFrom("flip", "drop", "repeat", "swap", "cut", "truncate"),
    at: fc.nat(),
    steps: fc.tuple(fc.nat()),
    by: fc.nat(),
  }),
);

type Edit = typeof edit extends fc.Arbitrary<infer One> ? One : never;

function edited(lines: readonly string[], { kind, at, steps, by }: Edit) {
  if (lines.length === 0) return lines;
  const line = at % lines.length;
  const text = lines[line]!;
  const place = Number(by) % (text.length + 1);
  switch (kind) {
    case "drop":
      return lines.toSpliced(line, 1);
    case "repeat":
      return lines.toSpliced(line, 0, text);
    case "swap": {
      const other = (steps[0] ?? 0) % lines.length;
      return lines.with(line, lines[other]!).with(other, text);
    }
    case "cut":
      return lines.with(line, text.slice(0, place));
    case "truncate":
      return lines.slice(0, line);
    case "flip": {
      const code = text.charCodeAt(place) ^ (1 << ((steps[0] ?? 0) % 8));
      return lines.with(
        line,
        text.slice(0, place) + String.fromCharCode(code) + text.slice(place + 1),
      );
    }
    default:
      return lines.with(line, changed(text, steps, kind, by));
  }
}

describe("an export that an attacker has changed", () => {
  const pool = () => database.shared.pool;
  const victim = { name: "victim" };
  let saver: PostgresCheckpointer;
  let exports: string[][];
  /** How many rows there are, apart from those of definitions. */
  const count = async () => {
    const counts = tables.map((table) => `(select count(*) from ${table})`).join(" + ");
    return (await pool().query<{ rows: string }>(`select ${counts} as rows`)).rows[0]!.rows;
  };

  beforeAll(async () => {
    saver = new PostgresCheckpointer(pool(), { cacheBytes: 0 });
    const hash = canonicalHash(victim);
    saver.rememberDefinition(hash, victim);
    const configurable = { thread_id: "loop", __definition_hash: hash };
    await loopGraph(saver).invoke({ topic, left: 6 }, { configurable });
    await askingGraph(saver).invoke({}, threadOf("asking"));
    const stock = stockSaver(pool());
    await loopGraph(stock).invoke({ topic, left: 1 }, threadOf("stock"));
    exports = [];
    for (const id of ["loop", "asking", "stock"]) exports.push(await transferOf(pool()).lines(id));
  });

  /** What becomes of an import: a code where it is refused; the thread is sound otherwise, and is removed again. */
  async function outcomeOf(lines: readonly string[]): Promise<string> {
    const threadId = randomUUID();
    try {
      await transferOf(pool()).import(lines, { threadId });
    } catch (thrown) {
      if (!(thrown instanceof StratagraphError)) throw thrown;
      return thrown.code;
    }
    const { damaged } = await saver.verifyThread(threadId);
    expect(damaged).toEqual([]);
    await saver.getTuple(threadOf(threadId));
    await collect(saver.list(threadOf(threadId)));
    await saver.listSummaries({ threadId });
    await transferOf(pool()).lines(threadId);
    await saver.deleteThread(threadId);
    return "imported";
  }

  it("is imported sound or refused whole with a named error", async () => {
    const before = await count();
    const property = fc.asyncProperty(
      fc.nat(2),
      fc.array(edit, { minLength: 1, maxLength: 2 }),
      fc.constantFrom<"as it is" | "sealed" | "forged">("as it is", "sealed", "forged", "forged"),
      async (which, edits, finish) => {
        const lines = edits.reduce(edited, exports[which]!);
        const end = {
          "as it is": () => lines,
          sealed: () => sealed(lines),
          forged: () => forged(lines),
        };
        const outcome = await outcomeOf(end[finish]());
        expect(["imported", "invalid_export", "checkpoint_config"]).toContain(outcome);
      },
    );
    await fc.assert(property, {
      numRuns: 25,
      endOnFailure: true,
    });
    expect(await count()).toEqual(before);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    for (const id of ["loop", "asking", "stock"])
      expect((await saver.verifyThread(id)).damaged).toEqual([]);
    expect(await saver.definitionOf(canonicalHash(victim))).toEqual(victim);
  });

  type Change = (of: any) => void; // eslint-disable-line
  /** The first line of a kind that fits, changed. */
  const change =
    (kind: string, by: Change, fits = "") =>
    (lines: readonly string[]) => {
      const at = lines.findIndex((line) => line.startsWith(`{"${kind}"`) && line.includes(fits));
      const line = JSON.parse(lines[at]!) as Record<string, unknown>;
      by(line[kind]);
      return lines.with(at, withRaw(JSON.stringify(line)));
    };
  const values = (by: Change) => change("checkpoint", (line) => by(line.body.json.values), '["l"');
  const twice = (kind: string) => (lines: readonly string[]) => {
    const line = lines.find((one) => one.startsWith(`{"${kind}"`))!;
    return lines.toSpliced(1, 0, line);
  };
  const notPart = "an element is not part of a list or an object";
  const unknown = "there is something that no export has";

  it.each<[string, 0 | 1 | 2, (lines: readonly string[]) => readonly string[], string]>([
    [
      "an object that LangChain would construct",
      0,
      change("element", (line) => (line.type = "langchain")),
      "a value is a LangChain object other than a message, which is not imported",
    ],
    [
      "such an object in a checkpoint itself",
      0,
      values((of) => (of.left = ["b", "e30=", "langchain"])),
      "a value is a LangChain object other than a message, which is not imported",
    ],
    [
      "such an object in a pending write",
      1,
      change("checkpoint", (line) => (line.writeSets[0].writes[0].type = "langchain"), "writes"),
      "a value is a LangChain object other than a message, which is not imported",
    ],
    [
      "a value of an unknown type",
      0,
      change("element", (line) => (line.type = "other")),
      "a value is of a type that no export has",
    ],
    [
      "a value that is no JSON",
      0,
      change("element", (line) => (line.value = { text: "{" })),
      "a value is not JSON",
    ],
    [
      "a value nested too deep",
      0,
      change("element", (line) => (line.value = { json: raw.deep })),
      "JSON is nested more than 1,000 levels deep",
    ],
    [
      "text that is JSON nested too deep, with brackets in it",
      0,
      change("element", (line) => {
        line.value = { text: `["]\\"]${"]".repeat(2_000)}",${rawJson[raw.deep]!}]` };
      }),
      "JSON is nested more than 1,000 levels deep",
    ],
    [
      "an element of a list that is none",
      0,
      change("element", put({ value: { json: {} } }), unit),
      notPart,
    ],
    [
      "a longer element",
      0,
      change("element", (line) => line.value.json.push("a", "b"), unit),
      notPart,
    ],
    [
      "a key that sets a prototype",
      1,
      change("element", (line) => (line.value.json[0] = "__proto__"), '"key 0"'),
      notPart,
    ],
    [
      "a key whose value is nowhere",
      1,
      change("element", (line) => line.value.json.pop(), '"key 0"'),
      notPart,
    ],
    [
      "a list whose elements hold nothing",
      0,
      values((of) => (of.lines[3] = 0)),
      "a value is stored in no known way",
    ],
    [
      "a value stored in no known way",
      0,
      values((of) => (of.left = ["x"])),
      "a value is stored in no known way",
    ],
    [
      "a value in the checkpoint that is no JSON",
      0,
      values((of) => (of.left = ["i", "{"])),
      "a value is not JSON",
    ],
    [
      "a checkpoint without values",
      0,
      change("checkpoint", (line) => (line.body.json.values = null)),
      "its content is not that of a checkpoint",
    ],
    [
      "a checkpoint of an unknown type",
      0,
      change("checkpoint", put({ type: "json" })),
      "its content is of a type that no export has",
    ],
    [
      "places that end before they begin",
      0,
      change("checkpoint", (line) => line.segments.push(1, 5, 2)),
      "its places of elements cannot be read",
    ],
    [
      "elements that stand in a checkpoint too often",
      0,
      change(
        "checkpoint",
        ({ body, segments }) => {
          const [log, from, to] = segments;
          body.json.values.many = ["l", 2_000, "", 1];
          for (let time = 0; time < 2_000; time += 1) segments.push(log, from, to);
        },
        '["l"',
      ),
      "it has its elements too often",
    ],
    [
      "delta channels without what they are put together from",
      0,
      change(
        "checkpoint",
        (line) => {
          line.metadata.counters_since_delta_snapshot = { lines: [1, 1] };
          line.body.json.parentWrites = ["0 nobody"];
        },
        '"parentHash":"',
      ),
      "writes to its parent, which its delta channels need, are missing",
    ],
    [
      "metadata that no database holds",
      0,
      change("checkpoint", (line) => (line.metadata.note = "NUL \0")),
      unknown,
    ],
    ["an id that no database holds", 0, change("checkpoint", put({ id: "half \uD800" })), unknown],
    ["an id that no index holds", 0, change("checkpoint", put({ id: "x".repeat(851) })), unknown],
    ["an index beyond its type", 0, change("element", put({ idx: 2 ** 31 })), unknown],
    ["a definition that is none", 0, change("definition", put({ definition: null })), unknown],
    [
      "pending writes twice",
      1,
      change("checkpoint", (line) => line.writeSets.push(line.writeSets[0]), '"taskId"'),
      "are there twice",
    ],
    [
      "a stock checkpoint with another id within",
      2,
      change("stockCheckpoint", (line) => (line.checkpoint.id = "other")),
      "has another id within",
    ],
    [
      "a stock checkpoint without versions",
      2,
      change("stockCheckpoint", (line) => (line.checkpoint.channel_versions = null)),
      unknown,
    ],
    [
      "a stock value that is missing",
      2,
      change("stockBlob", put({ value: null })),
      "a value is missing",
    ],
    [
      "a stock value that is no JSON",
      2,
      change("stockBlob", put({ value: { text: "" } })),
      "a value is not JSON",
    ],
    ["a stock value twice", 2, twice("stockBlob"), "a value is there twice"],
    ["a stock write twice", 2, twice("stockWrite"), "a write is there twice"],
    [
      "a stock write that is no JSON",
      2,
      change("stockWrite", put({ value: { text: "" } })),
      "a value is not JSON",
    ],
    [
      "a channel that stock statements take for bytes",
      2,
      change("stockWrite", put({ channel: "\\x" })),
      unknown,
    ],
    [
      "no checkpoint",
      0,
      (lines) => [lines[0]!.replace(/"checkpoints":\d+/, '"checkpoints":0'), ""],
      "the header is not whole",
    ],
  ])("is refused for %s", async (_what, which, damage, reason) => {
    const before = await count();
    const refused = transferOf(pool()).import(forged(damage(exports[which]!)), {
      threadId: randomUUID(),
    });
    await expect(refused).rejects.toMatchObject({
      code: "invalid_export",
      line: expect.any(Number) as number,
      reason: expect.stringContaining(reason) as string,
    });
    expect(await count()).toEqual(before);
  });

  it("is refused for keys that together are too long for an index", async () => {
    const before = await count();
    const long = change(
      "checkpoint",
      (line) => {
        Object.assign(line, { namespace: noise(800), id: noise(800) });
        for (const set of line.writeSets) set.taskId = noise(800);
      },
      '"taskId"',
    );
    const lines = forged(long(exports[1]!));
    await expect(transferOf(pool()).import(lines, { threadId: noise(800) })).rejects.toMatchObject({
      code: "invalid_export",
      reason: expect.stringContaining("there is what the database cannot hold") as string,
    });
    expect(await count()).toEqual(before);
  });

  it("is refused for a line that is too long, of which no more is read", async () => {
    const [header = ""] = exports[0]!;
    const long = "x".repeat(2 ** 27 + 1);
    await expect(transferOf(pool()).import([header, long])).rejects.toMatchObject({
      line: 2,
      reason: "there are more than 134,217,728 characters",
    });
    let read = 0;
    const chunk = Buffer.alloc(2 ** 24, "x");
    async function* endless() {
      yield Buffer.from(`${header}\n`);
      for (;;) {
        read += 1;
        yield chunk;
      }
    }
    await expect(transferOf(pool()).import(exportLines(endless()))).rejects.toMatchObject({
      line: 2,
      reason: "there are more than 134,217,728 characters",
    });
    expect(read).toBe(9);
  });

  it("is refused for a thread id that nothing could name it by", async () => {
    const renamed = (threadId: string) =>
      forged(
        exports[0]!.with(
          0,
          JSON.stringify({ ...(JSON.parse(exports[0]![0]!) as object), threadId }),
        ),
      );
    const as = (threadId: string, options = {}) =>
      transferOf(pool()).import(renamed(threadId), options);
    await expect(as("x".repeat(851))).rejects.toMatchObject({ code: "invalid_export", line: 1 });
    await expect(as("NUL \0")).rejects.toMatchObject({ code: "invalid_export", line: 1 });
    await expect(as("fine", { threadId: "NUL \0" })).rejects.toMatchObject({
      code: "checkpoint_config",
    });
    const refusal = new Error("not that one");
    const checkThreadId = (id: string) => {
      if (id === "\u001b[2J") throw refusal;
    };
    await expect(as("\u001b[2J", { checkThreadId })).rejects.toBe(refusal);
  });
});

function put(fields: object) {
  return (line: object) => void Object.assign(line, fields);
}

/** Text that does not compress. */
function noise(length: number): string {
  return randomBytes(length).toString("base64").slice(0, length);
}

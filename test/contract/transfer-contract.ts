import { canonicalHash } from "../../src/values/json.ts";
import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  END,
  interrupt,
  START,
  StateGraph,
  type BaseCheckpointSaver,
} from "@langchain/langgraph";
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { beforeAll, describe, expect, it } from "vitest";
import {
  CorruptDefinitionError,
  InvalidExportError,
  NoCheckpointError,
  ThreadExistsError,
} from "../../checkpointers/errors.ts";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { threadTuples } from "../helpers/thread-tuples.ts";
import { sealed, transferOf } from "../helpers/thread-transfer.ts";
import { stockSaver } from "../helpers/stock-saver.ts";
import { loopGraph, stateWhere } from "./time-travel-graph.ts";

const threadOf = (threadId: string) => ({ configurable: { thread_id: threadId } });

/** A person is asked in a subgraph, after some messages and data in the whole graph. */
export function askingGraph(checkpointer: BaseCheckpointSaver) {
  const Inner = Annotation.Root({ asked: Annotation<string>(), heard: Annotation<string>() });
  const inner = new StateGraph(Inner)
    .addNode("prepare", () => ({ asked: "Which? ".repeat(40) }))
    .addNode("ask", ({ asked }) => ({ heard: interrupt<string, string>(asked) }))
    .addEdge(START, "prepare")
    .addEdge("prepare", "ask")
    .addEdge("ask", END)
    .compile();
  const Outer = Annotation.Root({
    messages: Annotation<BaseMessage[]>({
      reducer: (old, more) => [...old, ...more],
      default: () => [],
    }),
    data: Annotation<Record<string, unknown>>(),
    heard: Annotation<string>(),
  });
  return new StateGraph(Outer)
    .addNode("begin", () => ({
      messages: [
        new HumanMessage({ content: "A question. ".repeat(50), id: "m1" }),
        new AIMessage({ content: "An answer. ".repeat(50), id: "m2" }),
      ],
      data: {
        ...Object.fromEntries(
          Array.from({ length: 12 }, (_, at) => [`key ${at}`, "value ".repeat(30)]),
        ),
        odd: "NUL \0, half \uD800, separators \u2028\u2029, quotes \"'\\",
        bytes: new Uint8Array([0, 1, 254, 255]),
        map: new Map([["set", new Set([1, 2])]]),
        nothing: undefined,
        7: "a number",
      },
    }))
    .addNode("sub", inner)
    .addEdge(START, "begin")
    .addEdge("begin", "sub")
    .addEdge("sub", END)
    .compile({ checkpointer });
}

/** Hides what values are. */
class HidingSerializer implements SerializerProtocol {
  readonly #inner: SerializerProtocol;
  constructor(saver: PostgresCheckpointer) {
    this.#inner = saver.serde;
  }
  async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    const [type, bytes] = await this.#inner.dumpsTyped(value);
    return [`hidden ${type}`, bytes.map((byte) => byte ^ 0xa5)];
  }
  async loadsTyped(type: string, bytes: Uint8Array | string): Promise<unknown> {
    const plain = Uint8Array.from(Buffer.from(bytes as Uint8Array), (byte) => byte ^ 0xa5);
    return this.#inner.loadsTyped(type.replace("hidden ", ""), plain);
  }
}

/** What exports and imports keep and refuse, on any database. */
export function transferContract(database: TestDatabase): void {
  describe.skipIf(!database.available)(`threads transferred on ${database.kind}`, () => {
    const pool = () => database.shared.pool;
    let saver: PostgresCheckpointer;
    beforeAll(async () => {
      // Whatever it gives is what is stored.
      saver = new PostgresCheckpointer(pool(), { cacheBytes: 0 });
      await saver.setup();
    });
    const checkpointer = () => saver;
    const transfer = () => transferOf(pool());
    const count = async (table: string) =>
      (await pool().query(`select from ${table}`)).rowCount as number;
    const tables = ["checkpoints", "checkpoint_elements", "checkpoint_log_uses"];
    const counts = () => Promise.all([...tables, "checkpoint_write_sets"].map(count));

    /** A thread of a few long lines, with a branch. */
    async function branchedThread(by = checkpointer()): Promise<string> {
      const id = randomUUID();
      const graph = loopGraph(by);
      const topic = "cats ".repeat(60);
      await graph.invoke({ topic, left: 6 }, threadOf(id));
      const middle = await stateWhere(graph, threadOf(id), ({ left }) => left === 3);
      await graph.invoke(null, await graph.updateState(middle.config, { topic: "dogs" }));
      return id;
    }

    it("gives each element once, readable, between a header and an end", async () => {
      const before = await count("checkpoint_elements");
      const id = await branchedThread();
      const elements = (await count("checkpoint_elements")) - before;

      const lines = await transfer().lines(id);

      const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(parsed[0]).toEqual({
        format: "stratagraph-thread",
        version: 1,
        threadId: id,
        exportedAt: "2026-01-01T00:00:00.000Z",
        checkpoints: 12,
      });
      const of = (key: string) => parsed.filter((line) => Object.hasOwn(line, key));
      expect(of("checkpoint")).toHaveLength(12);
      expect(of("element")).toHaveLength(elements);
      expect(elements).toBeGreaterThan(6);
      expect(parsed.length).toBe(1 + 12 + elements + 1);
      expect(lines.join("\n")).toContain(`"json":["${"cats ".repeat(60)} 6"]`);
      expect(lines).toEqual(sealed(lines));
    });

    it("makes a thread of its own beside the one that was exported", async () => {
      const id = await branchedThread();
      const expected = await threadTuples(checkpointer(), id);
      const copy = randomUUID();

      const imported = await transfer().import(transfer().stream(id), { threadId: copy });

      expect(imported).toEqual({ threadId: copy, checkpoints: 12 });
      expect(await threadTuples(checkpointer(), copy)).toEqual(expected);
      expect(await checkpointer().verifyThread(copy)).toEqual({ checked: 12, damaged: [] });
      await checkpointer().deleteThread(id);
      expect(await threadTuples(checkpointer(), copy)).toEqual(expected);
      const { values } = await loopGraph(checkpointer()).getState(threadOf(copy));
      const next = await loopGraph(checkpointer()).invoke({ left: 1 }, threadOf(copy));
      expect(next.lines).toEqual([...(values as { lines: string[] }).lines, "dogs 1"]);
      expect(await checkpointer().verifyThread(copy)).toMatchObject({ damaged: [] });
    });

    it("gives a thread back under its own id after it was deleted, line for line", async () => {
      const id = await branchedThread();
      const lines = await transfer().lines(id);
      await checkpointer().deleteThread(id);
      expect(await transfer().import(lines.map((line) => `${line}\n`))).toEqual({
        threadId: id,
        checkpoints: 12,
      });
      const again = await transfer().lines(id);
      const logs = (all: string[]) => [...new Set(all.join().match(/"log":\d+/g))];
      expect(logs(again).some((log) => logs(lines).includes(log))).toBe(false);
      expect(again).toHaveLength(lines.length);
    });

    it("keeps any value, and interrupts in subgraphs that can still be answered", async () => {
      const id = randomUUID();
      const graph = askingGraph(checkpointer());
      await graph.invoke({}, threadOf(id));
      const expected = await threadTuples(checkpointer(), id);
      const copy = randomUUID();

      const lines = await transfer().lines(id);
      expect(lines.join("")).not.toMatch(/[\n\u2028\u2029]/);
      await transfer().import([...lines, ""], { threadId: copy });

      expect(await threadTuples(checkpointer(), copy)).toEqual(expected);
      const state = await graph.getState(threadOf(copy), { subgraphs: true });
      expect(state.tasks[0]!.interrupts).toHaveLength(1);
      const answer = new Command({ resume: "this one" });
      expect(await graph.invoke(answer as never, threadOf(copy))).toMatchObject({
        heard: "this one",
      });
    });

    it("keeps what was pruned pruned", async () => {
      const id = await branchedThread();
      await checkpointer().prune({ threadId: id, keep: "latest" });
      const expected = await threadTuples(checkpointer(), id);
      const copy = randomUUID();
      await transfer().import(await transfer().lines(id), { threadId: copy });
      expect(await threadTuples(checkpointer(), copy)).toEqual(expected);
      expect(expected).toHaveLength(1);
      expect(await checkpointer().verifyThread(copy)).toEqual({ checked: 1, damaged: [] });
    });

    it("leaves what is encrypted so", async () => {
      const hiding = new HidingSerializer(checkpointer());
      const hider = new PostgresCheckpointer(pool(), { serde: hiding });
      const id = await branchedThread(hider);
      const copy = randomUUID();
      const lines = await transferOf(pool(), hiding).lines(id);
      expect(lines.join("")).not.toContain("cats");
      await transferOf(pool(), hiding).import(lines, { threadId: copy });
      expect(await threadTuples(hider, copy)).toEqual(await threadTuples(hider, id));
    });

    it("takes threads of the stock saver, and those that went on from it", async () => {
      const stock = stockSaver(pool());
      const id = randomUUID();
      await loopGraph(stock).invoke({ topic: "cats", left: 3 }, threadOf(id));
      await askingGraph(stock).invoke({}, threadOf(id));
      const copies = [randomUUID(), randomUUID()];
      await transfer().import(await transfer().lines(id), { threadId: copies[0]! });
      expect(await threadTuples(checkpointer(), copies[0]!)).toEqual(
        await threadTuples(checkpointer(), id),
      );
      const graph = askingGraph(checkpointer());
      const answer = new Command({ resume: "this one" });
      expect(await graph.invoke(answer as never, threadOf(copies[0]!))).toMatchObject({
        heard: "this one",
      });
      await transfer().import(await transfer().lines(copies[0]!), { threadId: copies[1]! });
      expect(await threadTuples(checkpointer(), copies[1]!)).toEqual(
        await threadTuples(checkpointer(), copies[0]!),
      );
    });

    describe("of a definition that checkpoints were made under", () => {
      const keeper = { name: "keeper", 10: 1, 9: [{ b: 1e21, a: -0.5 }] };
      const hash = canonicalHash(keeper);
      let id: string;
      let lines: string[];
      const plant = (definition: object) =>
        pool().query("update checkpoint_definitions set definition = $2 where hash = $1", [
          hash,
          JSON.stringify(definition),
        ]);
      const put = async (threadId: string) => {
        const by = new PostgresCheckpointer(pool());
        by.rememberDefinition(hash, keeper);
        const configurable = { thread_id: threadId, __definition_hash: hash };
        await loopGraph(by).invoke({ topic: "cats", left: 1 }, { configurable });
      };
      beforeAll(async () => {
        await put((id = randomUUID()));
        lines = await transfer().lines(id);
      });

      it("brings it along", async () => {
        expect(JSON.parse(lines[1]!)).toEqual({ definition: { hash, definition: keeper } });
        await pool().query("delete from checkpoint_definitions where hash = $1", [hash]);
        await transfer().import(lines, { threadId: randomUUID() });
        expect(await checkpointer().definitionOf(hash)).toEqual(keeper);
      });

      it("refuses another one under its hash, and one that is there twice", async () => {
        await pool().query("delete from checkpoint_definitions where hash = $1", [hash]);
        const planted = lines.with(1, lines[1]!.replace("keeper", "thief"));
        await expect(
          transfer().import(sealed(planted), { threadId: randomUUID() }),
        ).rejects.toMatchObject({
          code: "invalid_export",
          line: 2,
          reason: `the definition under ${hash} does not have that hash`,
        });
        expect(await checkpointer().definitionOf(hash)).toBeUndefined();
        const twice = sealed(lines.toSpliced(1, 0, lines[1]!));
        await expect(transfer().import(twice, { threadId: randomUUID() })).rejects.toMatchObject({
          line: 3,
          reason: `definition ${hash} is there twice`,
        });
      });

      it("neither reads nor exports one that was planted, until the honest one is stored again", async () => {
        await put(randomUUID());
        await plant({ name: "thief" });
        await expect(checkpointer().definitionOf(hash)).rejects.toThrow(CorruptDefinitionError);
        await expect(transfer().lines(id)).rejects.toMatchObject({
          code: "corrupt_definition",
          hash,
        });
        await put(randomUUID());
        expect(await checkpointer().definitionOf(hash)).toEqual(keeper);
        await plant({ name: "thief" });
        await transfer().import(lines, { threadId: randomUUID() });
        expect(await transfer().lines(id)).toHaveLength(lines.length);
      });
    });

    it("refuses an id that is taken, and threads that are not there", async () => {
      const id = await branchedThread();
      const lines = await transfer().lines(id);
      await expect(transfer().import(lines)).rejects.toThrow(ThreadExistsError);
      await expect(transfer().import(lines)).rejects.toMatchObject({
        code: "thread_exists",
        threadId: id,
      });
      await expect(transfer().lines(randomUUID())).rejects.toThrow(NoCheckpointError);
      const copy = randomUUID();
      const both = await Promise.allSettled([
        transfer().import(lines, { threadId: copy }),
        transfer().import(lines, { threadId: copy }),
      ]);
      expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      expect(await checkpointer().verifyThread(copy)).toEqual({ checked: 12, damaged: [] });
    });

    it("exports no checkpoint that was damaged, saying which", async () => {
      const id = await branchedThread();
      const uses = "select log_id from checkpoint_log_uses where thread_id = $1";
      const damage = `update checkpoint_elements set blob = 'x' where (log_id, idx) in (
        select log_id, max(idx) from checkpoint_elements where log_id in (${uses}) group by log_id)`;
      await pool().query(damage, [id]);
      await expect(transfer().lines(id)).rejects.toMatchObject({
        code: "corrupt_checkpoint",
        threadId: id,
        namespace: "",
      });
      await pool().query(`delete from checkpoint_elements where log_id in (${uses})`, [id]);
      await expect(transfer().lines(id)).rejects.toThrow(/element \d+ of log \d+ is missing/);
    });

    describe("refuses damaged lines whole", () => {
      let original: string[];
      beforeAll(async () => {
        original = await transfer().lines(await branchedThread());
      });
      const changed = (lines: string[], find: string | RegExp, by: string) => {
        const at = lines.findIndex((line) => line.match(find) !== null);
        return { line: at + 1, lines: lines.with(at, lines[at]!.replace(find, by)) };
      };
      /** Number of the first line with a checkpoint that needs the element at an index. */
      const userOf = (lines: string[], at: number) => {
        const { element } = JSON.parse(lines[at]!) as { element: { log: number; idx: number } };
        const uses = (segments: number[]) =>
          segments.some(
            (log, place) =>
              place % 3 === 0 &&
              log === element.log &&
              segments[place + 1]! <= element.idx &&
              element.idx < segments[place + 2]!,
          );
        const user = lines.findIndex((text) =>
          uses(
            (JSON.parse(text) as { checkpoint?: { segments: number[] } }).checkpoint?.segments ??
              [],
          ),
        );
        return user + 1;
      };
      const cases: Record<
        string,
        (lines: string[]) => { lines: string[]; line: number; reason: string }
      > = {
        nothing: () => ({ lines: [], line: 1, reason: "nothing" }),
        "something else": () => ({ lines: ["a,b,c"], line: 1, reason: "no JSON" }),
        "another format": () => ({ lines: [`{"format":"other"}`], line: 1, reason: "no header" }),
        "a newer format": (lines) => ({
          ...changed(lines, `"version":1`, `"version":2`),
          reason: "the header has version 2 of the format",
        }),
        "half a header": (lines) => ({
          ...changed(lines, `"exportedAt"`, `"at"`),
          reason: "the header is not whole",
        }),
        "a missing end": (lines) => ({
          lines: lines.slice(0, -1),
          line: lines.length,
          reason: "cut off",
        }),
        "a missing line": (lines) => ({
          lines: lines.toSpliced(5, 1),
          line: lines.length - 1,
          reason: `the end counts ${lines.length - 1} lines before it, and there are ${lines.length - 2}`,
        }),
        "a changed line": (lines) => ({
          ...changed(lines, "cats", "rats"),
          line: lines.length,
          reason: "SHA-256",
        }),
        "lines after the end": (lines) => ({
          lines: [...lines, "{}"],
          line: lines.length + 1,
          reason: "more after",
        }),
      };
      const sealedCases: typeof cases = {
        "a changed element": (lines) => {
          const { lines: after, line } = changed(lines, /(?<=json":\[")cats/, "rats");
          return { lines: after, line: userOf(after, line - 1), reason: "changed" };
        },
        "changed metadata": (lines) => ({
          ...changed(lines, `"step":2`, `"step":3`),
          reason: "hash",
        }),
        "a changed body": (lines) => ({ ...changed(lines, `"v":4`, `"v":5`), reason: "hash" }),
        "a missing element": (lines) => {
          const at = lines.findIndex((text) => text.startsWith(`{"element"`));
          const line = userOf(lines, at) - 1;
          return { lines: lines.toSpliced(at, 1), line, reason: "is missing" };
        },
        "an element twice": (lines) => {
          const at = lines.findIndex((text) => text.startsWith(`{"element"`));
          return { lines: lines.toSpliced(at, 0, lines[at]!), line: at + 2, reason: "twice" };
        },
        "a missing checkpoint": (lines) => ({
          lines: lines.toSpliced(-2, 1),
          line: lines.length - 1,
          reason: "the content ends with 11 checkpoints, and the header counts 12",
        }),
        "a checkpoint twice": (lines) => ({
          lines: lines.toSpliced(-1, 0, lines.at(-2)!),
          line: lines.length,
          reason: "twice",
        }),
        "children before parents": (lines) => {
          const at = lines.findIndex((text) => text.startsWith(`{"checkpoint"`));
          const swapped = lines.with(at, lines[at + 1]!).with(at + 1, lines[at]!);
          return { lines: swapped, line: at + 2, reason: "comes after a child" };
        },
        "something unknown": (lines) => ({
          lines: lines.toSpliced(3, 0, `{"surprise":{}}`),
          line: 4,
          reason: "something that no export has",
        }),
      };

      it.each([...Object.keys(cases), ...Object.keys(sealedCases)])("%s", async (name) => {
        const before = await counts();
        const of =
          cases[name] ??
          ((lines) => {
            const damaged = sealedCases[name]!(lines);
            return { ...damaged, lines: sealed(damaged.lines) };
          });
        const { lines, line, reason } = of(original);
        const refused = await transfer()
          .import(lines, { threadId: randomUUID() })
          .then(
            () => "imported",
            (error: unknown) => error as InvalidExportError,
          );
        expect(refused).toBeInstanceOf(InvalidExportError);
        expect(refused).toMatchObject({
          code: "invalid_export",
          line,
          reason: expect.stringContaining(reason) as string,
        });
        expect(await counts()).toEqual(before);
      });
    });
  });
}

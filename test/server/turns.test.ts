import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/index.ts";
import { stepRoutes } from "../../src/server/checkpoints/step-routes.ts";
import { turnRoutes } from "../../src/server/checkpoints/turn-routes.ts";
import type { ApiBase } from "../../src/server/ports.ts";
import { startApi } from "../helpers/api-server.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { calculates, useRunServers } from "../helpers/run-server.ts";
import { stepRecord } from "../helpers/step-record.ts";

interface Turn {
  readonly turn: number;
  readonly answer: string | null;
  readonly [name: string]: unknown;
}

/** A server with a thread `t` in a state. */
async function serve(values: object) {
  const threads = { stateAt: async () => ({ id: "c", namespace: "", values }) };
  const base = {
    platform: { instances: { onThread: async () => ({}) } },
    runtimes: { use: (_: string, read: (of: object) => unknown) => read({ runtime: { threads } }) },
  } as unknown as ApiBase;
  const { send } = await startApi({ routes: [...turnRoutes(base), ...stepRoutes(base)] });
  const read = (list: string, query = "", key = "sg_a_*") =>
    send("GET", `/v1/threads/t/${list}?${query}`, { key });
  return {
    read,
    /** The numbers of the turns of a page, then its cursor. */
    async turns(query = "") {
      const { json } = await read("turns", query);
      return [...(json["turns"] as Turn[]).map(({ turn }) => turn), json["next_cursor"]];
    },
  };
}

/** A conversation with these answers. */
const answered = (...answers: readonly string[]) =>
  answers.flatMap((text) => [new HumanMessage("Go."), new AIMessage(text)]);
const pageBytes = 4_194_304;

describe("a page of turns", () => {
  const stateOf = (...answers: readonly string[]) => ({
    messages: answered(...answers),
    turn_number: answers.length - 1,
  });

  it("ends before the turn that exceeds 4 MiB of JSON, and has at least one", async () => {
    const one = await (await serve(stateOf(""))).read("turns");
    const [empty] = one.json["turns"] as Turn[];
    const half = "x".repeat(pageBytes / 2 - JSON.stringify(empty).length);
    const full = await serve(stateOf("", half, half));
    expect(await full.turns()).toEqual([2, 1, "1"]);
    const over = await serve(stateOf("", half, `${half}x`));
    expect(await over.turns()).toEqual([2, "2"]);
    const large = await serve(stateOf("", "x".repeat(pageBytes)));
    expect(await large.turns()).toEqual([1, "1"]);
    expect(await large.turns("cursor=1")).toEqual([0, null]);
  });

  it("has 20 turns by default and 100 at most, and those before turn 0", async () => {
    const messages = answered(...Array.from({ length: 22 }, () => ""));
    const thread = await serve({ messages, turn_number: 20 });
    const [newest, ...older] = await thread.turns();
    expect([newest, older.length, older.at(-1)]).toEqual([20, 20, "1"]);
    expect(await thread.turns("cursor=1&limit=100")).toEqual([0, -1, null]);
    expect(await thread.turns("cursor=-1")).toEqual([null]);
    expect(await thread.turns("cursor=999999999&limit=1")).toEqual([20, "20"]);
    for (const query of ["limit=101", "cursor=-", "cursor=1.0", "cursor=1e3", "cursor=1234567890"])
      expect([query, (await thread.read("turns", query)).status]).toEqual([query, 400]);
  });

  it("has records up to 256 KiB, and hides what rails redacted before texts are cut", async () => {
    const email = "ada@example.org";
    const recordOf = (step_index: number, bytes: number) => {
      const record = stepRecord({ step_index, thought: `${"x".repeat(150)}${email} ` });
      const missing = bytes - JSON.stringify(record).length;
      return { ...record, thought: record.thought + "x".repeat(missing) };
    };
    const state = {
      ...stateOf(`I am ${email}.`),
      steps: [recordOf(0, 262_144), recordOf(1, 262_145)],
      redactions: { "<EMAIL_1>": { label: "EMAIL", value: email } },
    };
    const { read } = await serve(state);
    const open = await read("turns");
    const [turn] = open.json["turns"] as (Turn & { steps: { thought: string }[] })[];
    expect(turn?.steps.map((step) => "record" in step)).toEqual([true, false]);
    const hidden = await read("turns", "", "sg_a_checkpoints:read");
    expect(hidden.json["turns"]).toMatchObject([
      {
        answer: "I am <EMAIL_1>.",
        steps: Array.from({ length: 2 }, () => ({ thought: `${"x".repeat(150)}<EMAIL_1> ` })),
      },
    ]);
    expect(turn?.steps[0]?.thought).toBe(`${"x".repeat(150)}ada@exampl`);
    expect(hidden.text).not.toContain(email);
  });
});

it("a page of steps ends before the one that exceeds 4 MiB of JSON, and has at least one", async () => {
  const pageOf = async (...plans: readonly string[]) => {
    const steps = plans.map((planning, step_index) => stepRecord({ step_index, planning }));
    const { read } = await serve({ steps });
    const { json } = await read("steps");
    return { steps: json["steps"] as object[], next: json["next_cursor"] };
  };
  const [empty] = (await pageOf("")).steps;
  const half = "x".repeat(pageBytes / 2 - JSON.stringify(empty).length);
  const full = await pageOf(half, half, "");
  expect([full.steps.length, full.next]).toEqual([2, "0.1"]);
  const over = await pageOf(half, `${half}x`);
  expect([over.steps.length, over.next]).toEqual([1, "0.0"]);
  const large = await pageOf("x".repeat(pageBytes), "");
  expect([large.steps.length, large.next]).toEqual([1, "0.0"]);
});

describe.each(drawDatabases(import.meta.url))("on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  describe.skipIf(!database.available)("turns of a thread", () => {
    it("are listed newest first, with what was asked, the answers and the steps", async () => {
      const server = await start([calculates, "It is 42.", "Two.", "Three.", "Four."]);
      const runs = await server.agent({ name: "counting", tools: ["calculator"] });
      const file = { name: "a.txt", mime_type: "text/plain", data: btoa("a text") };
      const { json } = await server.post(runs, {
        input: { message: "What is 6 * 7?", attachments: [file] },
      });
      const run = `${runs}/${String(json["run_id"])}`;
      await server.until(run, "complete");
      for (const message of ["two", "three", "four"])
        await server.post(`${run}/turns`, { input: { message } });
      const path = `/v1/threads/${String(json["thread_id"])}/turns`;
      const { status, json: page, headers } = await server.send("GET", `${path}?limit=2`);
      expect(status).toBe(200);
      const { json: last } = await server.send("GET", run);
      expect(page).toMatchObject({
        turns: [
          {
            turn: 3,
            turn_id: last["turn_id"],
            asked: [{ text: "four", attachments: [] }],
            added: [],
            answer: "Four.",
          },
          {
            turn: 2,
            turn_id: null,
            asked: [{ text: "three" }],
            answer: "Three.",
            steps: [{ id: "2.0" }],
          },
        ],
        next_cursor: "2",
      });
      const next = /<([^>]+)>/.exec(headers.get("link") ?? "")?.[1] ?? "";
      const { json: rest } = await server.send("GET", next);
      const [second, first] = rest["turns"] as Turn[];
      expect(rest["next_cursor"]).toBeNull();
      expect(second).toMatchObject({ turn: 1, answer: "Two." });
      expect(first).toMatchObject({
        turn: 0,
        asked: [{ attachments: [{ name: "a.txt", mime_type: "text/plain", bytes: 6 }] }],
        answer: "It is 42.",
        steps: [
          {
            id: "0.0",
            calls: [{ tool: "calculator", outcome: "success" }],
            record: { tool_results: [{ args: { expression: "6 * 7" } }] },
          },
          { id: "0.1", calls: [] },
        ],
      });
      expect((await server.send("GET", `${path}?cursor=x`)).status).toBe(400);
    });

    it("come in pages that are bounded in bytes, as steps do, without records that are too large", async () => {
      const large = defineTool({
        name: "large",
        description: "Returns a large text.",
        input_schema: z.object({}),
        execution: { max_result_bytes: 2_000_000 },
        handler: () => "x".repeat(1_500_000),
      });
      const calls = { calls: [{ name: "large", args: {} }] };
      const server = await start([calls, "One.", calls, "Two.", calls, "Three.", calls, "Four."], {
        tools: [large],
      });
      const runs = await server.agent({ name: "large", tools: ["large"] });
      let thread_id: string | undefined;
      for (let turn = 0; turn < 4; turn += 1) {
        const { json } = await server.post(runs, { input: { message: "Go." }, thread_id });
        thread_id = String(json["thread_id"]);
        await server.until(`${runs}/${String(json["run_id"])}`, "complete");
      }
      const thread = `/v1/threads/${thread_id}`;
      const { json: steps, text } = await server.send("GET", `${thread}/steps`);
      expect(text.length).toBeLessThan(4_194_304);
      expect(steps["next_cursor"]).toBe("1.1");
      expect(
        (await server.send("GET", `${thread}/steps?brief=true`)).json["next_cursor"],
      ).toBeNull();
      const { json: page } = await server.send("GET", `${thread}/turns`);
      const turns = page["turns"] as { steps: { record?: object }[] }[];
      expect(turns.map((one) => one.steps.map(({ record }) => record !== undefined))).toEqual(
        Array.from({ length: 4 }, () => [false, true]),
      );
    });

    it("belong to the tenant, and are none before the first run", async () => {
      const server = await start([]);
      const other = await server.join(["*"]);
      const made = await server.post("/threads", {});
      const path = `/v1/threads/${String(made.json["thread_id"])}/turns`;
      expect((await server.send("GET", path)).json).toEqual({ turns: [], next_cursor: null });
      expect((await server.send("GET", path, { key: other.key })).status).toBe(404);
    });
  });
});

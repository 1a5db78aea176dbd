import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { useDatabase } from "../helpers/databases.ts";
import { madeLog, message, write } from "../helpers/experiment-logs.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { startTenantApi } from "../helpers/tenant-api.ts";

const database = useDatabase("pglite");

const logOf = (run_id: string, seed: number, cycles = 2) =>
  madeLog({
    run_id,
    seed,
    usage: { tokens_in: 100, tokens_out: 10, cost_usd: 0.01 },
    cycles: Array.from({ length: cycles }, (_none, index) => ({
      calls: [write("plan", "x".repeat(index + 1)), message("hi")],
      reflection: `Thought ${index + 1} of ${run_id}.`,
    })),
  });

const files = {
  "logs/drift.seed-1.jsonl": logOf("drift.seed-1", 1),
  "logs/drift.seed-2.jsonl": logOf("drift.seed-2", 2, 3),
  "logs/drift.seed-3.jsonl": "?\n",
  "logs/drift.seed-4.jsonl": "",
  "old/runs/diary.jsonl": logOf("diary", 1),
  "data/questions.jsonl": '{"question":"What is 2 + 3?"}\n',
  ".hidden/secret.jsonl": logOf("secret", 1),
  "node_modules/a/b.jsonl": logOf("b", 1),
};

/** A server on a folder, with a key of the scope of experiments. */
async function start(experiments?: string) {
  const api = await startTenantApi(database.shared, { experiments });
  const { key } = await api.newKey(["experiments:read"]);
  const get = (path: string, as: string | null = key) =>
    api.send("GET", `/v1/experiments${path}`, { key: as });
  const ids = async () => {
    const { json } = await get("");
    const listed = json["experiments"] as readonly { id: string; folder: string }[];
    return Object.fromEntries(listed.map(({ id, folder }) => [folder, id]));
  };
  return { ...api, get, ids };
}

describe("experiments over HTTP", () => {
  let folder = "";
  let api: Awaited<ReturnType<typeof start>>;
  const open = async () => (api = await start(folder));
  beforeAll(() => {
    folder = tempFolder(files);
    const at = (name: string, seconds: number) => utimesSync(join(folder, name), seconds, seconds);
    for (const name of Object.keys(files)) at(name, name.startsWith("old") ? 1e9 : 1.7e9);
  });

  it("are those of the folder and below it, the last written first", async () => {
    await open();
    const { status, json } = await api.get("");
    expect(status).toBe(200);
    expect(json).toEqual({
      is_served: true,
      experiments: [
        {
          id: expect.stringMatching(/^[\w-]{22}$/),
          title: "drift",
          folder: "logs",
          logs: 4,
          bytes: Buffer.byteLength(Object.values(files).slice(0, 4).join("")),
          updated_at: "2023-11-14T22:13:20.000Z",
        },
        expect.objectContaining({ title: "diary", folder: "old/runs", logs: 1 }),
      ],
      next_cursor: null,
    });
    const first = await api.get("?limit=1");
    expect(first.json["experiments"]).toHaveLength(1);
    expect(first.headers.get("link")).toContain('rel="next"');
    const rest = await api.get(`?limit=1&cursor=${String(first.json["next_cursor"])}`);
    expect(rest.json).toMatchObject({ experiments: [{ folder: "old/runs" }], next_cursor: null });
    expect((await api.get("?cursor=none")).json["type"]).toBe("/problems/invalid_cursor");
  });

  it("have the figures of the report, and say which logs they leave out", async () => {
    await open();
    const { logs = "" } = await api.ids();
    const { json } = await api.get(`/${logs}`);
    expect(json).toMatchObject({ title: "drift", next_cursor: null });
    const [first, second] = json["runs"] as readonly Record<string, unknown>[];
    expect(first).toMatchObject({
      run_id: "drift.seed-1",
      seed: 1,
      model_options: { seed: 1 },
      cycles_done: 2,
      reflections: ["Thought 1 of drift.seed-1.", "Thought 2 of drift.seed-1."],
      memory_chars: [1, 2],
      messages_to_operator: [1, 1],
      tokens_in: [200, 200],
      cost_usd: [0.02, 0.02],
    });
    expect(second).toMatchObject({ run_id: "drift.seed-2", cycles_done: 3 });
    expect(json["left_out"]).toEqual([
      {
        file: "drift.seed-3.jsonl",
        reason: "broken",
        problem_count: 1,
        first_problem: "line 1: not JSON",
      },
      { file: "drift.seed-4.jsonl", reason: "empty", problem_count: 0, first_problem: null },
    ]);
    expect(JSON.stringify(json)).not.toContain(folder);
  });

  it("are read page by page, in the order of their logs", async () => {
    await open();
    const { logs = "" } = await api.ids();
    const seen: unknown[] = [];
    for (let cursor = ""; ;) {
      const { json } = await api.get(`/${logs}?limit=1${cursor}`);
      const { runs, left_out: left, next_cursor: next } = json as Record<string, unknown[]>;
      seen.push([runs?.length, left?.length]);
      if (next === null) break;
      cursor = `&cursor=${String(next)}`;
    }
    expect(seen).toEqual([
      [1, 0],
      [1, 0],
      [0, 1],
      [0, 1],
    ]);
    const cursorOf = (name: string) => Buffer.from(name).toString("base64url");
    for (const cursor of ["none", cursorOf("../../etc/passwd"), `${cursorOf("drift.seed-1")}=`])
      expect([cursor, (await api.get(`/${logs}?cursor=${cursor}`)).status]).toEqual([cursor, 400]);
  });

  it("show what a run logged in one cycle", async () => {
    await open();
    const { logs = "" } = await api.ids();
    const path = `/${logs}/runs/drift.seed-2/cycles/2`;
    const { json } = await api.get(path);
    const entries = json["entries"] as readonly Record<string, unknown>[];
    expect(entries.map(({ event_type: type }) => type)).toEqual([
      "CYCLE_START",
      "LLM_INVOCATION",
      "TOOL_CALL",
      "TOOL_CALL",
      "LLM_INVOCATION",
      "CYCLE_END",
    ]);
    expect(entries.every(({ cycle_number: number }) => number === 2)).toBe(true);
    const first = await api.get(`${path}?limit=4`);
    const rest = await api.get(`${path}?limit=4&cursor=${String(first.json["next_cursor"])}`);
    expect(rest.json["next_cursor"]).toBeNull();
    const of = (answer: typeof first) => answer.json["entries"] as unknown[];
    expect([...of(first), ...of(rest)]).toEqual(entries);
    for (const cursor of ["x", "1x", "-1", "1e2", "1234567890"]) {
      const refused = await api.get(`${path}?cursor=${cursor}`);
      expect([cursor, refused.json["type"]]).toEqual([cursor, "/problems/invalid_cursor"]);
    }
    for (const missing of ["/cycles/4", "/cycles/22"])
      expect((await api.get(`/${logs}/runs/drift.seed-2${missing}`)).status).toBe(404);
  });

  it("are not for keys of a tenant, which its scope `*` does not make", async () => {
    await open();
    const { logs = "" } = await api.ids();
    for (const path of ["", `/${logs}`, `/${logs}/runs/drift.seed-1/cycles/1`]) {
      const { status, json } = await api.get(path, api.key);
      expect([status, json["missing_scopes"]]).toEqual([403, ["experiments:read"]]);
      expect((await api.get(path, null)).status).toBe(401);
    }
  });

  it("never have ids that become paths", async () => {
    await open();
    const { logs = "" } = await api.ids();
    const outside = ["..", "../old", "%2e%2e%2fold", "logs", ".", encodeURIComponent("../../etc")];
    for (const id of outside) {
      const { status } = await api.get(`/${id}`);
      expect([id, [200, 404].includes(status)]).toEqual([id, true]);
    }
    expect((await api.get(`/${encodeURIComponent("../old")}`)).status).toBe(404);
    for (const run of ["..%2f..%2fold%2fruns%2fdiary", "%2fetc%2fpasswd", "a%00"])
      expect((await api.get(`/${logs}/runs/${run}/cycles/1`)).status).toBe(400);
    expect((await api.get(`/${logs}/runs/diary/cycles/1`)).status).toBe(404);
  });

  it("are not there without a folder, nor in one that is gone", async () => {
    const none = await start();
    expect((await none.get("")).json).toEqual({
      is_served: false,
      experiments: [],
      next_cursor: null,
    });
    expect((await none.get("/abc")).status).toBe(404);
    expect((await none.get("/abc/runs/a/cycles/1")).status).toBe(404);
    const gone = await start(join(folder, "gone"));
    expect((await gone.get("")).json).toMatchObject({ is_served: true, experiments: [] });
  });
});

describe("logs of experiments that are links, large or hostile", () => {
  const put = (folder: string, name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };

  it("are left alone where they are symbolic links, also after they were listed", async () => {
    const outside = tempFolder({ "runs/secret.jsonl": logOf("secret", 1) });
    const folder = tempFolder({ "logs/a.jsonl": logOf("a", 1), "moved/b.jsonl": logOf("b", 1) });
    symlinkSync(join(outside, "runs"), join(folder, "linked"));
    symlinkSync(join(outside, "runs/secret.jsonl"), join(folder, "logs/secret.jsonl"));
    const api = await start(folder);
    const ids = await api.ids();
    expect(Object.keys(ids).toSorted()).toEqual(["logs", "moved"]);
    const { json } = await api.get(`/${ids["logs"]}`);
    expect(json["runs"]).toMatchObject([{ run_id: "a" }]);
    expect((await api.get(`/${ids["logs"]}/runs/secret/cycles/1`)).status).toBe(404);
    rmSync(join(folder, "moved"), { recursive: true });
    symlinkSync(join(outside, "runs"), join(folder, "moved"));
    expect((await api.get(`/${ids["moved"]}`)).status).toBe(404);
  });

  it("are read anew once they have changed", async () => {
    const folder = tempFolder({ "logs/a.jsonl": logOf("a", 1) });
    const api = await start(folder);
    const { logs = "" } = await api.ids();
    const cycles = async () => {
      const { json } = await api.get(`/${logs}`);
      return (json["runs"] as { cycles_done: number }[]).map(({ cycles_done: done }) => done);
    };
    expect(await cycles()).toEqual([2]);
    expect(await cycles()).toEqual([2]);
    put(folder, "logs/a.jsonl", logOf("a", 1, 5));
    expect(await cycles()).toEqual([5]);
  });

  it("have bounded texts, cycles and nesting", async () => {
    const deep = `${"[".repeat(60_000)}${"]".repeat(60_000)}`;
    const long = "y".repeat(150_000);
    const lines = madeLog({
      run_id: "deep",
      cycles: [{ calls: [{ tool: "echo", parameters: { value: "DEEP" } }], reflection: long }],
    });
    const folder = tempFolder({
      "logs/deep.jsonl": lines.replaceAll('"DEEP"', deep),
      "logs/long.jsonl": madeLog({
        run_id: "long",
        cycles: [
          {
            calls: [{ tool: "echo", parameters: { text: long, list: [[[1]]] } }],
            reflection: long,
          },
        ],
      }),
      "logs/many.jsonl": madeLog({
        run_id: "many",
        cycles: Array.from({ length: 10_005 }, () => ({ reflection: "So." })),
      }),
    });
    const api = await start(folder);
    const { logs = "" } = await api.ids();
    const { status, json } = await api.get(`/${logs}`);
    expect(status).toBe(200);
    expect(json["left_out"]).toMatchObject([{ file: "deep.jsonl", reason: "unreadable" }]);
    const [shown, many] = json["runs"] as readonly { reflections: string[]; cycles_done: number }[];
    expect(shown?.reflections[0]).toHaveLength(2001);
    expect([many?.reflections.length, many?.cycles_done]).toEqual([10_000, 10_005]);
    const cycle = await api.get(`/${logs}/runs/long/cycles/1`);
    expect(cycle.text.length).toBeLessThan(600_000);
    expect(cycle.text).toContain("[cut: 50,000 more characters]");
    const nested = await api.get(`/${logs}/runs/deep/cycles/1`);
    expect([nested.status, nested.text.includes("[too deep]")]).toEqual([200, true]);
  });
});

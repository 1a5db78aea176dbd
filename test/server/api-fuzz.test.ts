import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineRoute } from "../../src/server/route.ts";
import { coverageText, fuzzApi, type FuzzOptions } from "../helpers/api-fuzz/fuzz.ts";
import { unscopedDatabase, withoutTenant } from "../helpers/api-fuzz/unscoped-database.ts";
import { useDatabase } from "../helpers/databases.ts";

/** `npm run fuzz:api` asks for many, on both databases. */
const asked = process.env["REQUESTS"];
const requests = Number(asked ?? 200);
/** Part of the paths that get requests; none for all. */
const paths = new RegExp(process.env["ROUTES"] ?? ".");
const timeout = 120_000 + requests * 200;

async function trial(options: Omit<FuzzOptions, "requests">): Promise<readonly string[]> {
  const onProgress = (count: number) => console.log(`${count} of ${requests} requests`);
  const report = await fuzzApi({ ...options, requests, paths, onProgress });
  if (asked !== undefined) console.log(coverageText(report));
  return report.failures.map((failure) => failure.shown);
}

describe.each(["pglite", "postgres"] as const)("requests of two tenants on %s", (kind) => {
  const database = useDatabase(kind);

  it.skipIf(!database.available || (kind === "postgres" && asked === undefined))(
    "never meet the other's data, fail or hang",
    async () => expect(await trial({ database: database.shared })).toEqual([]),
    timeout,
  );
});

describe.each(["pglite", "postgres"] as const)("requests of two tenants on %s", (kind) => {
  const database = useDatabase(kind);

  it.skipIf(!database.available || (kind === "pglite" && asked === undefined))(
    "never meet the other's data where no statement has a condition on the tenant",
    async () => {
      const unscoped = unscopedDatabase(database.shared);
      const observed = database.shared;
      expect(await trial({ database: unscoped, observed, isSealed: true })).toEqual([]);
      // Those of agents, keys, idempotency, limits and usage.
      expect(unscoped.rewritten.size).toBeGreaterThanOrEqual(10);
    },
    timeout,
  );
});

describe("the trial of two tenants", () => {
  const database = useDatabase("pglite");

  it("finds what row-level security and conditions keep apart, once both are gone", async () => {
    const { failures } = await fuzzApi({
      database: unscopedDatabase(database.shared, { rowSecurity: false }),
      observed: database.shared,
      requests: 240,
      seed: 1,
      paths: /^\/v1\/agents(?:\/\{agent_id\})?$/,
      maxFailures: Infinity,
    });
    const leaks = failures.filter(({ kind }) => kind === "leak").map(({ reason }) => reason);
    expect(leaks.join("\n")).toMatch(/the answer has the id/);
    expect(leaks.join("\n")).toMatch(/the answer has the text/);
    expect(leaks.join("\n")).toMatch(/in the path/);
    expect(leaks.join("\n")).toMatch(/rows of the idle tenant changed/);
  });

  it("finds routes that fail, hang, or differ from their document", async () => {
    const common = {
      method: "get",
      summary: "Fails.",
      tag: "test",
      scopes: ["usage:read"],
    } as const;
    const answers = { 200: { description: "A number.", schema: z.strictObject({ at: z.int() }) } };
    const wrong = async () => ({ status: 200, body: { at: "x" } });
    const routes = [
      defineRoute({
        ...common,
        path: "/v1/broken",
        operationId: "broken",
        answers,
        handle: () => Promise.reject(new Error("broken")),
      }),
      defineRoute({
        ...common,
        path: "/v1/slow",
        operationId: "slow",
        answers,
        timeoutMs: 1,
        handle: () => new Promise(() => {}),
      }),
      defineRoute({ ...common, path: "/v1/wrong", operationId: "wrong", answers, handle: wrong }),
    ];
    const { failures } = await fuzzApi({
      database: database.shared,
      requests: 60,
      seed: 1,
      paths: /broken|slow|wrong/,
      maxFailures: Infinity,
      server: { routes: () => routes },
    });
    const found = failures.map(({ kind, shown }) => `${kind} ${/GET \S+/.exec(shown)?.[0]}`);
    expect(found.map((one) => one.split("?")[0])).toEqual(
      expect.arrayContaining([
        "error GET /v1/broken",
        "hang GET /v1/slow",
        "document GET /v1/wrong",
      ]),
    );
    expect(failures[0]?.shown).toMatch(/TEST_SEED=\d+ draws it again/);
  });

  it("knows every form of a condition on the tenant in the sources", () => {
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const files = ["src/storage", "src/experiment/memory", "checkpointers"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts"))
        .map((file) => join(folder, file)),
    );
    const kept = files.flatMap((file) => {
      // What a builder of statements adds is a number there.
      const source = readFileSync(join(root, file), "utf8").replaceAll(/\$\{[^{}]*\}/g, "$1");
      return withoutTenant(source)
        .split("\n")
        .filter((line) => /\btenant_id"?\s*(?:=|<>|!=|is\b|in\b)/.test(line))
        .map((line) => `${file}: ${line.trim()}`);
    });
    expect(kept).toEqual([]);
  });
});

import { randomBytes } from "node:crypto";
import { systemIds } from "../../../src/clock.ts";
import { createServer, type ServerOptions } from "../../../src/create-server.ts";
import type { Database } from "../../../src/storage/database.ts";
import { openPlatform, type Platform } from "../../../src/storage/platform/open-platform.ts";
import { withAllTenants } from "../../../src/storage/tenant.ts";
import { answerCheck, documentOf } from "../api-server.ts";
import { testSeed } from "../random.ts";
import { type Operation, operationsOf } from "./document.ts";
import { type Failure, judge } from "./judge.ts";
import { Knowledge, type TenantName, uuidsIn } from "./knowledge.ts";
import {
  drawRequest,
  type FuzzKeys,
  type FuzzRequest,
  type RequestDraw,
  requestText,
} from "./requests.ts";
import { readRows, type StoredRows } from "./rows.ts";
import { createSender, type FuzzAnswer } from "./send.ts";

export interface FuzzOptions {
  /** What the server works on. */
  readonly database: Database;
  /** The same one, for keys and for the comparison of rows. Default `database`. */
  readonly observed?: Database;
  /** Requests of tenants A and B. Tenant C sends a tenth of that first, at least 40. */
  readonly requests: number;
  /** Default {@link testSeed}. */
  readonly seed?: number;
  /** Requests at a time. Default 8. */
  readonly concurrency?: number;
  /** Failures after which the trial ends. Default 20. */
  readonly maxFailures?: number;
  /** Paths as the document has them. Default: all. */
  readonly paths?: RegExp;
  readonly server?: Partial<ServerOptions>;
  /** Whether values are sealed, which hides texts from the comparison of rows. Secrets need it. Default false. */
  readonly isSealed?: boolean;
  /** Called now and then with the requests so far. */
  readonly onProgress?: (requests: number) => void;
}

export interface FuzzReport {
  /** Each with its request and its answer, as text. */
  readonly failures: readonly (Failure & { readonly shown: string })[];
  readonly requests: number;
  /** Rows that were compared at the end. */
  readonly rows: number;
  /** Answers by operation and status. */
  readonly coverage: ReadonlyMap<string, ReadonlyMap<number, number>>;
  /** Milliseconds of all answers by operation. */
  readonly times: ReadonlyMap<string, number>;
  /** The body of the newest request that was refused for what it says, by operation, with the answer. */
  readonly refusals: ReadonlyMap<string, string>;
}

/** The longest body of the trial's server, in bytes: what is larger costs little to make. */
const maxBodyBytes = 65_536;

/**
 * Sends requests that are drawn from the OpenAPI document of a server with three tenants, and judges each answer and
 * the rows that are there in the end.
 */
export async function fuzzApi(options: FuzzOptions): Promise<FuzzReport> {
  const { database, observed = database, requests, seed = testSeed, concurrency = 8 } = options;
  const { maxFailures = 20 } = options;
  const trial = await openPlatform(observed);
  const { tenants, keys } = await makeTenants(trial, systemIds().slice(0, 13));
  const server = await createServer({
    database,
    env: {
      STRATAGRAPH_MODEL: "offline:rules",
      STRATAGRAPH_EMBEDDINGS: "none",
      ...(options.isSealed && {
        STRATAGRAPH_ENCRYPTION_KEYS: `fuzz:${randomBytes(32).toString("base64")}`,
      }),
    },
    limits: { maxBodyBytes },
    rates: { perKey: null, perTenant: null, refusedKeys: null },
    ...options.server,
  });
  const failures: (Failure & { shown: string })[] = [];
  const coverage = new Map<string, Map<number, number>>();
  const times = new Map<string, number>();
  const refusals = new Map<string, string>();
  const knowledge = new Knowledge();
  for (const [id, name] of tenants) knowledge.own(name, id);
  const history: FuzzRequest[] = [];
  try {
    const { port } = await server.listen({ port: 0 });
    const document = await documentOf(server);
    const { paths = /./ } = options;
    const operations = operationsOf(document).filter(({ path }) => paths.test(path));
    const check = answerCheck(document);
    const sender = createSender(port);

    const settle = (request: FuzzRequest, answer: FuzzAnswer | Error): void => {
      const { operation, tenant } = request;
      const name = `${operation.method.toUpperCase()} ${operation.path}`;
      const found =
        answer instanceof Error
          ? [{ kind: "hang" as const, reason: answer.message }]
          : judge(request, answer, { knowledge, check });
      if (found[0] !== undefined) {
        const reason = found
          .map((failure) => failure.reason)
          .join("; ")
          .slice(0, 2000);
        const failure = { kind: found[0].kind, reason };
        failures.push({ ...failure, shown: describe(request, answer, seed, failure) });
      }
      if (answer instanceof Error) return;
      const statuses = coverage.get(name) ?? new Map<number, number>();
      coverage.set(name, statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1));
      times.set(name, (times.get(name) ?? 0) + answer.ms);
      if ([400, 409, 422].includes(answer.status)) {
        const body = request.body?.toString().slice(0, 600) ?? request.path;
        refusals.set(name, `${body}\n    ${answer.text.slice(0, 600)}`);
      }
      if (answer.status >= 300 || tenant === null || operation.isPublic || found.length > 0) return;
      if (request.body !== null || operation.method === "put")
        knowledge.adopt(tenant, request.sent);
      for (const value of [...valuesIn(answer), locationOf(answer, operations)])
        knowledge.learn(tenant, request, value);
      if (tenant === "c") return;
      history.push(request);
      if (history.length > 200) history.shift();
    };

    /** Rounds, so that what is drawn does not depend on which answer comes first. */
    const run = async (only: TenantName | null, count: number): Promise<void> => {
      const draw: RequestDraw = { document, operations, knowledge, keys, seed, history, only };
      for (let index = 0; index < count && failures.length < maxFailures; index += concurrency) {
        const size = Math.min(concurrency, count - index);
        const round = Array.from({ length: size }, (_none, at) => drawRequest(draw, index + at));
        const answers = await Promise.all(
          round.map((request) =>
            sender.send(request).catch((thrown: unknown) => {
              return thrown instanceof Error ? thrown : new Error(String(thrown));
            }),
          ),
        );
        for (const [at, request] of round.entries())
          settle(request, answers[at] ?? new Error("no answer"));
        if (only === null && Math.floor(index / 1000) < Math.floor((index + size) / 1000))
          options.onProgress?.(index + size);
      }
    };

    // What a tenant without rows reads is the same for all.
    for (const { path, pathParameters, method } of operations) {
      if (method !== "get" || pathParameters.length > 0) continue;
      const headers = { authorization: `Bearer ${keys.all.c}` };
      const { text } = await sender.send({ method: "GET", path, headers, body: null });
      for (const id of uuidsIn(text)) if (!tenants.has(id)) knowledge.shared.add(id);
    }
    await run("c", Math.max(40, Math.ceil(requests / 10)));
    const before = await settledRows(observed, tenants, knowledge);
    await run(null, requests);
    sender.close();
    await server.close();
    const after = await readRows(observed, tenants, knowledge);
    for (const row of [...before.misplaced, ...after.misplaced].slice(0, 10))
      failures.push({
        kind: "leak",
        reason: "a row has texts or ids of another tenant",
        shown: row,
      });
    const was = before.rowsOf("c");
    const is = after.rowsOf("c");
    for (const table of new Set([...Object.keys(was), ...Object.keys(is)])) {
      if (JSON.stringify(was[table]) === JSON.stringify(is[table])) continue;
      const reason = `rows of the idle tenant changed in ${table}: ${was[table]?.length ?? 0} before, ${is[table]?.length ?? 0} after`;
      failures.push({ kind: "leak", reason, shown: `${reason}. TEST_SEED=${seed}` });
    }
    return { failures, requests, rows: after.count, coverage, times, refusals };
  } finally {
    await server.close(0);
  }
}

/** Rows of tenant C once its work has ended: no run is left to execute, and two readings are the same. */
async function settledRows(
  database: Database,
  tenants: ReadonlyMap<string, TenantName>,
  knowledge: Knowledge,
) {
  const idle = [...tenants].find(([, name]) => name === "c")?.[0];
  let before: StoredRows | undefined;
  for (let reading = 0; reading < 1200; reading += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { rows } = await withAllTenants(database.pool, (client) =>
      client.query(
        "select from stratagraph.run where tenant_id = $1::uuid and state in ('queued', 'running') limit 1",
        [idle],
      ),
    );
    if (rows.length > 0) continue;
    // Upkeep deletes the threads of stateless runs a minute after their end.
    await withAllTenants(database.pool, (client) =>
      client.query(
        "update stratagraph.agent_instance set is_ephemeral = false where tenant_id = $1::uuid",
        [idle],
      ),
    );
    const after = await readRows(database, tenants, knowledge);
    if (before && JSON.stringify(before.rowsOf("c")) === JSON.stringify(after.rowsOf("c")))
      return after;
    before = after;
  }
  throw new Error("The runs of tenant C do not end, or its rows change all the time.");
}

async function makeTenants(
  { tenants, apiKeys }: Platform,
  suffix: string,
): Promise<{ readonly tenants: ReadonlyMap<string, TenantName>; readonly keys: FuzzKeys }> {
  const ids = new Map<string, TenantName>();
  const make = async (name: TenantName) => {
    const { id } = await tenants.create({ name: `fuzz ${name} ${suffix}` });
    ids.set(id, name);
    const secretOf = async (scopes: readonly string[]) => {
      const { key, secret } = await apiKeys.create({ tenantId: id, name: scopes.join(), scopes });
      return { id: key.id, secret };
    };
    const [all, limited, revoked] = [
      await secretOf(["*"]),
      await secretOf(["agents:read"]),
      await secretOf(["*"]),
    ];
    await apiKeys.revoke(id, revoked.id);
    return { all: all.secret, limited: limited.secret, revoked: revoked.secret };
  };
  const [a, b, c] = [await make("a"), await make("b"), await make("c")];
  const [idPart, secretPart] = [a.all.slice(0, 26), b.all.slice(26)];
  return {
    tenants: ids,
    keys: {
      all: { a: a.all, b: b.all, c: c.all },
      limited: { a: a.limited, b: b.limited },
      refused: [
        a.revoked,
        b.revoked,
        idPart + secretPart,
        `${a.all}x`,
        a.all.slice(0, -1),
        "sg_",
        `sg_${"0".repeat(22)}_${"z".repeat(43)}`,
        `sg_${"z".repeat(22)}_${"z".repeat(43)}`,
      ],
    },
  };
}

/** Returns the value of an answer, or those of the events of a stream. */
function valuesIn({ text, isStream }: FuzzAnswer): unknown[] {
  const texts = isStream
    ? [...text.matchAll(/^data: ?(.*)$/gm)].map(([, data = ""]) => data)
    : [text];
  return texts.flatMap((one) => {
    try {
      return [JSON.parse(one) as unknown];
    } catch {
      // No JSON, or an event whose end was not awaited.
      return [];
    }
  });
}

/** Returns the parameters of the path that an answer names as its location. */
function locationOf({ headers }: FuzzAnswer, operations: readonly Operation[]): object {
  const location = headers.get("location") ?? "";
  const found = operations
    .map(({ path }) =>
      new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/?]+)")}$`).exec(location),
    )
    .find((match) => match !== null);
  return { ...found?.groups };
}

function describe(
  request: FuzzRequest,
  answer: FuzzAnswer | Error,
  seed: number,
  { kind, reason }: Failure,
): string {
  const came =
    answer instanceof Error
      ? answer.message
      : `${answer.status} in ${Math.round(answer.ms)} ms\n${answer.text.slice(0, 3000)}`;
  return [
    `${kind}: ${reason}`,
    `Request ${request.index} of tenant ${request.tenant ?? "none"}; TEST_SEED=${seed} draws it again.`,
    requestText(request),
    "--- answer",
    came,
  ].join("\n");
}

/** Returns a table of routes and the statuses that they answered with, and a refusal of each that had no success. */
export function coverageText({ coverage, times, refusals }: FuzzReport): string {
  const lines = [...coverage]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .flatMap(([name, statuses]) => {
      const isReached = [...statuses.keys()].some((status) => status < 300);
      const count = [...statuses.values()].reduce((sum, each) => sum + each, 0);
      const mean = ((times.get(name) ?? 0) / count).toFixed(1);
      const counts = [...statuses]
        .toSorted(([one], [other]) => one - other)
        .map(([status, each]) => `${status}:${each}`);
      const line = `${isReached ? " " : "!"} ${name.padEnd(64)} ${mean.padStart(8)} ms  ${counts.join(" ")}`;
      const refusal = refusals.get(name);
      return isReached || refusal === undefined ? [line] : [line, `    ${refusal}`];
    });
  return ["! marks routes without success. Mean time, then answers by status.", ...lines].join(
    "\n",
  );
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { z } from "zod";
import type { UseThreadServices } from "../../src/engine/retention/archive-threads.ts";
import { runRetention, type RetentionOptions } from "../../src/engine/retention/retention-round.ts";
import { createRuntime, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { type Clock, systemClock, systemIds } from "../../src/clock.ts";
import { createValueCipher, type ValueCipher } from "../../src/storage/encryption/value-cipher.ts";
import { timeOfId } from "../../src/storage/platform/checks.ts";
import { openPlatform } from "../../src/storage/platform/open-platform.ts";
import type { DatabasePool } from "../../src/storage/pool.ts";
import type { ArchiveTarget } from "../../src/storage/retention/archive-target.ts";
import { FolderTarget } from "../../src/storage/retention/folder-target.ts";
import type { RetentionSettings } from "../../src/storage/retention/policy.ts";
import { withTenant } from "../../src/storage/tenant.ts";
import { collect } from "./collect.ts";
import type { TestDatabase } from "./databases.ts";
import { ScriptedModel } from "./scripted-model.ts";

/** A tool whose calls the journal has. */
const send = defineTool({
  name: "send",
  description: "Sends a mail.",
  input_schema: z.object({ to: z.string() }),
  handler: ({ to }) => `sent to ${to}`,
});
const agent = defineAgent({ name: "keeper", tools: [send] });
const waiting = defineAgent({
  name: "waits",
  tools: [send],
  guardrail_config: { tool_rails: { require_approval: ["send"] } },
});
const dayMs = 86_400_000;
let tenants = 0;

export type RetentionSubject = Awaited<ReturnType<typeof setUpRetention>>;

/** Texts of a table's rows as the database writes them, in order. */
const rowsSql = (table: string) =>
  `select t::text as row from stratagraph.${table} t order by t::text collate "C"`;

/** A tenant with retention into a folder, whose clock a test advances; removed after the test. */
export async function setUpRetention(
  database: TestDatabase,
  given: {
    readonly retention?: RetentionSettings;
    readonly cipher?: ValueCipher;
    readonly encryptionKeys?: string;
    /** Default: that of the database. */
    readonly pool?: DatabasePool;
    readonly target?: (folder: ArchiveTarget) => ArchiveTarget | null;
  } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "stratagraph-archive-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // Waits take their time, as for locks that a lost session still holds.
  let ahead = 0;
  const clock: Clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + ahead) };
  const { shared } = database;
  const used = given.pool === undefined ? shared : { ...shared, pool: given.pool };
  const plain = new FolderTarget(join(folder, "archive"));
  const archive = given.target === undefined ? plain : given.target(plain);
  const { cipher = createValueCipher([]) } = given;
  const open = (pool: DatabasePool) => openPlatform({ pool }, { clock, archive, cipher });
  const platform = await open(used.pool);
  const { id: tenantId } = await platform.tenants.create({
    name: `kept ${process.pid} ${(tenants += 1)} ${database.kind}`,
    ...(given.retention && { settings: { retention: given.retention } }),
  });
  onTestFinished(async () => void (await (await open(shared.pool)).tenantRows.delete(tenantId)));
  const env = { STRATAGRAPH_ENCRYPTION_KEYS: given.encryptionKeys ?? "" };
  const useRuntime = async <T>(
    work: (runtime: Awaited<ReturnType<typeof createRuntime>>) => Promise<T>,
    script: ConstructorParameters<typeof ScriptedModel>[0] = [],
    ofTenant = tenantId,
  ): Promise<T> => {
    const models = new ScriptedModel(script);
    const of = { database: used, tenantId: ofTenant, models, env, memoryEmbeddings: null };
    const runtime = await createRuntime(of);
    try {
      return await work(runtime);
    } finally {
      await runtime.close();
    }
  };
  const useServices: UseThreadServices = (ofTenant, work) => useRuntime(work, [], ofTenant);
  const errors: unknown[] = [];
  const options = (more: Partial<RetentionOptions> = {}): RetentionOptions => ({
    platform,
    useServices,
    clock,
    tenantId,
    onError: (error) => void errors.push(error),
    ...more,
  });
  const inTenant = <Row>(sql: string, values: readonly unknown[] = []) =>
    withTenant(
      { ...platform.tables.tenants, pool: shared.pool },
      tenantId,
      async (client) => (await client.query<Row>(sql, values)).rows,
    );
  return {
    folder: join(folder, "archive"),
    clock,
    platform,
    tenantId,
    errors,
    useServices,
    useRuntime,
    options,
    inTenant,
    advanceDays: (days: number) => void (ahead += days * dayMs),
    round: async (more: Partial<RetentionOptions> = {}) => {
      const round = await runRetention(options(more));
      return round?.tenants[0]?.moves;
    },
    /** Has a turn on a thread, with a call of a tool. */
    talk: (threadId: string, text = "Send it.") =>
      useRuntime(
        (runtime) => executeAgent(agent, { message: text }, { runtime, threadId }),
        [{ calls: [{ name: "send", args: { to: text } }] }, `Sent: ${text}`],
      ),
    /** Has a turn that waits for a person. */
    ask: (threadId: string) =>
      useRuntime(
        (runtime) => executeAgent(waiting, { message: "Ask." }, { runtime, threadId }),
        [{ calls: [{ name: "send", args: { to: "ada" } }] }],
      ),
    checkpoints: async (threadId: string) =>
      (
        await inTenant<{ id: string }>(
          "select checkpoint_id as id from stratagraph.checkpoints where thread_id = $1 order by 1",
          [threadId],
        )
      ).map(({ id }) => id),
    rows: async (table: string) =>
      (await inTenant<{ row: string }>(rowsSql(table))).map(({ row }) => row),
    exported: (threadId: string) =>
      useRuntime((runtime) => collect(runtime.threads.export(threadId))),
    verified: (threadId: string) => useRuntime((runtime) => runtime.threads.verify(threadId)),
    /** Inserts a row of each table of days, with `text` wherever a text can be. */
    plant: async (text: string, id = systemIds()) => {
      const at = timeOfId(id);
      const json = JSON.stringify({ text, nul: "\0", lines: "a\nb" }).replace(
        '"text":',
        '"text" :\n ',
      );
      const values = [at, id, tenantId, text, json];
      await platform.partitions.withDays([id], async () => {
        await inTenant(
          `with t as (insert into stratagraph.turn (at, id, tenant_id, instance_id, turn_number, status, input, output, cost_usd)
            values ($1, $2, $3, $2, 1, $4, $5::json, $5::json, 0.1::double precision + 0.2)),
          c as (insert into stratagraph.tool_call (at, id, tenant_id, turn_id, agent, step, call_id, tool_name, status, input, output)
            values ($1, $2, $3, $2, $4, 0, $4, $4, 's', $5::json, null)),
          l as (insert into stratagraph.llm_call (at, id, tenant_id, purpose, model, provider, attempt, finish_reason, latency_ms, messages, response)
            values ($1, $2, $3, 'p', $4, 'p', 1, 'stop', 1, $5::json, $5::json)),
          e as (insert into stratagraph.run_event (at, id, tenant_id, run_id, seq, event, data) values ($1, $2, $3, $2, 1, 'e', $5::json))
          insert into stratagraph.audit_log (at, id, tenant_id, actor, action, subject, after_hash)
          values ($1, $2, $3, 'operator', $4, $4, decode('00ff0a', 'hex'))`,
          values,
        );
      });
      return id;
    },
  };
}

/** A version 7 UUID of a time, unlike the others. */
export function idAt(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}${systemIds().slice(13)}`;
}

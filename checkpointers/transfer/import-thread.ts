import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { errorMessage } from "../../src/errors.ts";
import type { Queryable } from "../../src/storage/pool.ts";
import { sqlStateOf } from "../../src/storage/to-database-error.ts";
import { DamagedValue } from "../elements/load-value.ts";
import { keepData } from "../elements/revive.ts";
import { checkName } from "../place.ts";
import type { CheckpointTables } from "../retention/tables.ts";
import { transaction } from "../retention/transaction.ts";
import { InvalidExportError, ThreadExistsError } from "./errors.ts";
import { contentLine, type ContentLine } from "./lines.ts";
import { parseLine, withSpooledExport, type SpooledExport } from "./spooled-export.ts";
import { ThreadCopy } from "./thread-copy.ts";

export interface ImportParts extends CheckpointTables {
  readonly serde: SerializerProtocol;
  /** Ids for new logs, asked for within a transaction. */
  readonly logIds: (client: Queryable) => { take(): Promise<number> };
}

export interface ImportOptions {
  /** Id of the thread to be made. Default: that of the thread that was exported. */
  readonly threadId?: string;
  /** Called with that id before anything is stored; refuses it by throwing. */
  readonly checkThreadId?: (threadId: string) => unknown;
}

/** Any number; keeps these locks apart from others that hash texts. */
const LOCK_SEED = 4_117_290_337;

/**
 * Makes a thread of the lines that `exportThread` gave, with line feeds or without. Everything is checked, and all of it
 * is stored or nothing. The lines are received into a temporary file first, whatever their size; the memory it takes is
 * a small part of that.
 *
 * @throws {InvalidExportError} when the lines were damaged, cut off, or come from a newer version
 * @throws {ThreadExistsError} when there is a thread of that id
 */
export async function importThread(
  parts: ImportParts,
  lines: AsyncIterable<string> | Iterable<string>,
  options: ImportOptions = {},
): Promise<{ threadId: string; checkpoints: number }> {
  return withSpooledExport(lines, (spooled) => {
    const threadId = checkName("thread_id", options.threadId ?? spooled.header.threadId);
    options.checkThreadId?.(threadId);
    return transaction(parts.pool, async (client) => {
      await expectNoThread(client, parts.schema, threadId);
      const logIds = parts.logIds(client);
      const copy = new ThreadCopy({
        client,
        schema: parts.schema,
        serde: keepData(parts.serde),
        from: spooled.header.threadId,
        to: threadId,
        newLogId: () => logIds.take(),
      });
      await addContent(spooled, copy);
      return { threadId, checkpoints: copy.checkpoints };
    });
  });
}

/** Two imports under one id run one after the other. */
async function expectNoThread(client: Queryable, schema: string, threadId: string): Promise<void> {
  await client.query("select pg_advisory_xact_lock(hashtextextended($1, $2))", [
    `${schema} ${threadId}`,
    LOCK_SEED,
  ]);
  const { rows } = await client.query<{ taken: boolean }>(
    `select exists (select from ${schema}.checkpoints where thread_id = $1) as taken`,
    [threadId],
  );
  if (rows[0]!.taken) throw new ThreadExistsError(threadId);
}

async function addContent(spooled: SpooledExport, copy: ThreadCopy): Promise<void> {
  let last = 1;
  try {
    for await (const { number, text } of spooled.content()) {
      last = number;
      await copy.add(toContentLine(text, number));
    }
    await copy.end();
  } catch (thrown) {
    throw invalidAt(last, thrown);
  }
  const { checkpoints } = spooled.header;
  if (copy.checkpoints === checkpoints) return;
  throw new InvalidExportError(
    last + 1,
    `the content ends with ${copy.checkpoints} checkpoints, and the header counts ${checkpoints}`,
  );
}

function toContentLine(text: string, number: number): ContentLine {
  const line = contentLine.safeParse(parseLine(text, number));
  if (line.success) return line.data;
  throw new InvalidExportError(number, "there is something that no export has", {
    cause: line.error,
  });
}

/** SQLSTATEs of values that a type or an index cannot hold. */
const UNSTORABLE = /^(?:22|54)/;

/** Rows are sent some lines later, so the line of one that the database refuses may be an earlier one. */
function invalidAt(line: number, thrown: unknown): unknown {
  if (thrown instanceof DamagedValue) {
    return new InvalidExportError(line, thrown.message, { cause: thrown });
  }
  if (!UNSTORABLE.test(sqlStateOf(thrown) ?? "")) return thrown;
  const reason = `or before it there is what the database cannot hold: ${errorMessage(thrown)}`;
  return new InvalidExportError(line, reason, { cause: thrown });
}

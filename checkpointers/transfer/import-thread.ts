import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { Queryable } from "../../src/storage/pool.ts";
import { DamagedValue } from "../elements/load-value.ts";
import type { CheckpointTables } from "../retention/tables.ts";
import { transaction } from "../retention/transaction.ts";
import { CheckedThread } from "./checked-thread.ts";
import { InvalidExportError, ThreadExistsError } from "./errors.ts";
import { contentLine } from "./lines.ts";
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
    const threadId = options.threadId ?? spooled.header.threadId;
    return transaction(parts.pool, async (client) => {
      await expectNoThread(client, parts.schema, threadId);
      const logIds = parts.logIds(client);
      const copy = new ThreadCopy({
        client,
        schema: parts.schema,
        thread: new CheckedThread(parts.serde),
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
  for await (const { number, text } of spooled.content()) {
    last = number;
    const line = contentLine.safeParse(parseLine(text, number));
    if (!line.success) {
      throw new InvalidExportError(number, "there is something that no export has", {
        cause: line.error,
      });
    }
    try {
      await copy.add(line.data);
    } catch (thrown) {
      if (!(thrown instanceof DamagedValue)) throw thrown;
      throw new InvalidExportError(number, thrown.message);
    }
  }
  await copy.end();
  const { checkpoints } = spooled.header;
  if (copy.checkpoints === checkpoints) return;
  throw new InvalidExportError(
    last + 1,
    `the content ends with ${copy.checkpoints} checkpoints, and the header counts ${checkpoints}`,
  );
}

import type { SealedTable } from "../../src/storage/encryption/reseal.ts";
import { sealContext, writesHash } from "../integrity.ts";

type Row = Readonly<Record<string, unknown>>;

/**
 * The tables whose values a checkpointer seals. Hashes of checkpoints cover what is within the seal and stay; the hash of
 * a set of pending writes covers the sealed bytes, stands in the same row and in no other, and changes with them. The
 * tables of the stock saver are only read.
 */
export function sealedTables(schema: string): readonly SealedTable[] {
  return [
    {
      name: "checkpoint_elements",
      table: `${schema}.checkpoint_elements`,
      key: { log_id: "bigint", idx: "integer" },
      column: "blob",
      context: (row) => sealContext.element(Number(row["log_id"]), Number(row["idx"])),
    },
    {
      name: "checkpoints",
      table: `${schema}.checkpoints`,
      key: { thread_id: "text", checkpoint_ns: "text", checkpoint_id: "text" },
      column: "body",
      context: (row) => {
        const { threadId, namespace, checkpointId: id } = namesOf(row);
        return sealContext.checkpoint({ threadId, namespace, id });
      },
    },
    {
      name: "checkpoint_write_sets",
      table: `${schema}.checkpoint_write_sets`,
      key: {
        thread_id: "text",
        checkpoint_ns: "text",
        checkpoint_id: "text",
        task_id: "text",
        idx: "integer",
      },
      column: "body",
      context: (row) => sealContext.writes(writesOf(row)),
      hash: { column: "hash", of: (row, body) => writesHash({ ...writesOf(row), body }) },
    },
    {
      name: "attachments",
      table: `${schema}.attachments`,
      key: { sha256: "text" },
      column: "body",
      context: (row) => sealContext.attachment(String(row["sha256"])),
    },
  ];
}

function namesOf(row: Row) {
  return {
    threadId: String(row["thread_id"]),
    namespace: String(row["checkpoint_ns"]),
    checkpointId: String(row["checkpoint_id"]),
  };
}

function writesOf(row: Row) {
  return { ...namesOf(row), taskId: String(row["task_id"]), idx: Number(row["idx"]) };
}

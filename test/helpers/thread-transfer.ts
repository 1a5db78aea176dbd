import { createHash } from "node:crypto";
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { LogIds } from "../../checkpointers/writing/log-positions.ts";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { exportThread } from "../../checkpointers/threads/transfer/export-thread.ts";
import {
  importThread,
  type ImportOptions,
} from "../../checkpointers/threads/transfer/import-thread.ts";
import { createValueCipher } from "../../src/storage/encryption/value-cipher.ts";
import type { DatabasePool, Queryable } from "../../src/storage/pool.ts";
import { collect } from "./collect.ts";
import { ManualClock } from "./manual-clock.ts";

type Lines = AsyncIterable<string> | Iterable<string>;

/** Exports and imports in the default schema of a database whose tables are there. */
export function transferOf(pool: DatabasePool, serde?: SerializerProtocol) {
  const parts = {
    pool,
    schema: `"public"`,
    cipher: createValueCipher([]),
    serde: serde ?? new PostgresCheckpointer(pool).serde,
    logIds: (client: Queryable) => new LogIds(client, "public"),
    clock: new ManualClock(),
  };
  return {
    stream: (threadId: string) => exportThread(parts, threadId),
    lines: (threadId: string) => collect(exportThread(parts, threadId)),
    import: (lines: Lines, options?: ImportOptions) => importThread(parts, lines, options),
  };
}

/** Lines that were changed with an end that fits them, as somebody would make who means to deceive. */
export function sealed(lines: readonly string[]): string[] {
  const content = lines.slice(0, -1);
  const sha256 = createHash("sha256").update(content.map((line) => `${line}\n`).join(""));
  return [
    ...content,
    JSON.stringify({ end: { lines: content.length, sha256: sha256.digest("hex") } }),
  ];
}

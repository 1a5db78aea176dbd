import { createHash } from "node:crypto";

/** The key of a row as it is stored: thread, run, step, id of the call. */
export type RowKey = readonly [threadId: string, run: string, step: number, callId: string];

/** What is stored of a call's beginning. */
export interface StoredBeginning {
  readonly tool: string;
  readonly input_hash: Uint8Array;
}

/** What is stored of a call's end. */
export interface StoredEnd {
  readonly end_type: string;
  readonly end_body: Uint8Array;
}

/** SHA-256 over the beginning of a call, 32 bytes. */
export function beginHash(key: RowKey, { tool, input_hash }: StoredBeginning): Buffer {
  return sha256([1, "begin", ...key, tool], input_hash);
}

/** SHA-256 over the end of a call, 32 bytes. */
export function endHash(key: RowKey, { end_type, end_body }: StoredEnd): Buffer {
  return sha256([1, "end", ...key, end_type], end_body);
}

function sha256(head: readonly unknown[], body: Uint8Array): Buffer {
  return createHash("sha256")
    .update(`${JSON.stringify(head)}\n`)
    .update(body)
    .digest();
}

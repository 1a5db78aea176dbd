import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";

/** The most bytes one message of a server may have. */
export const maxMessageBytes = 64 * 1024 * 1024;

/**
 * Codes of errors that a transport puts in the place of an answer, since the SDK's client would wait for that answer for
 * ever. They lie outside of what JSON-RPC keeps for itself.
 */
export const brokenAnswerCodes = {
  /** The connection ended before the answer came. */
  lost: -31_001,
  /** The answer cannot be read. */
  unreadable: -31_002,
} as const;

export function brokenAnswer(
  id: RequestId,
  kind: keyof typeof brokenAnswerCodes,
  message: string,
): JSONRPCMessage {
  return { jsonrpc: "2.0", id, error: { code: brokenAnswerCodes[kind], message } };
}

/**
 * Which request a line that cannot be read was meant to answer: by the id at its start or end, where servers write it,
 * or else the only request under way. Undefined for lines that are no messages, such as logs.
 */
export function answeredRequest(
  { head, tail }: { readonly head: string; readonly tail: string },
  pending: ReadonlySet<RequestId>,
): RequestId | undefined {
  if (!/"jsonrpc"/.test(head) && !/"jsonrpc"/.test(tail)) return undefined;
  const id = /^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*"?(\d+)/.exec(head)?.[1];
  const lastId = /"id"\s*:\s*"?(\d+)"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}?\s*$/.exec(tail)?.[1];
  const found = [id, lastId].map(Number).find((one) => pending.has(one));
  if (found !== undefined) return found;
  const [only, ...others] = pending;
  return others.length === 0 ? only : undefined;
}

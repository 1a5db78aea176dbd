import { type AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { isRecord } from "../../values/json.ts";
import { headOf } from "../../values/text.ts";

/** A call of a reply, with its arguments as the model wrote them. */
export interface WrittenCall {
  readonly id: string | undefined;
  /** Empty if the model wrote none. */
  readonly name: string;
  /** The parsed arguments if they are an object; else their text. */
  readonly written: unknown;
  /** Whether the arguments were complete JSON. */
  readonly isValid: boolean;
}

/**
 * Returns the calls of a reply in the model's order, or the valid ones first where the message does not show it. Where
 * chunks were merged, LangChain completes cut arguments (`{"path": "/tm` becomes `{path: "/tm"}`) and lists the call as
 * valid, so the text of the chunks is checked instead.
 */
export function callsIn(message: AIMessage): readonly WrittenCall[] {
  return orderedCalls(message).map(boundedCall);
}

/** Characters of a call's id; a longer one counts as none. */
const longestId = 256;
/** Characters of a tool's name; no tool has a longer one. */
const longestName = 256;

/** Servers are not bound by LangChain's types: an id or name may be any value. */
function boundedCall(call: WrittenCall): WrittenCall {
  const { id, name } = call as { readonly id: unknown; readonly name: unknown };
  const isKnown = typeof id === "string" && id.length <= longestId;
  return {
    ...call,
    id: isKnown ? id : undefined,
    name: typeof name === "string" ? headOf(name, longestName) : "",
  };
}

function orderedCalls(message: AIMessage): readonly WrittenCall[] {
  const valid = (message.tool_calls ?? []).map(({ id, name, args }): WrittenCall => ({
    id,
    name,
    written: asObject(args),
    isValid: true,
  }));
  const invalid = (message.invalid_tool_calls ?? []).map(
    ({ id, name = "", args = "" }): WrittenCall => ({ id, name, written: args, isValid: false }),
  );
  const chunks = AIMessageChunk.isInstance(message) ? groupChunks(message.tool_call_chunks) : [];
  if (chunks.length > 0) return fromChunks(chunks, valid, invalid) ?? [...valid, ...invalid];
  const raw = message.additional_kwargs.tool_calls ?? [];
  const order = new Map(raw.map(({ id }, index) => [id, index]));
  const all = [...valid, ...invalid];
  if (!all.every(({ id }) => id !== undefined && order.has(id))) return all;
  const place = ({ id = "" }: WrittenCall) => order.get(id) ?? 0;
  return all.toSorted((a, b) => place(a) - place(b));
}

/** Some servers encode arguments twice: what LangChain parsed is a string. */
function asObject(args: unknown): unknown {
  return isRecord(args) ? args : (JSON.stringify(args) ?? "");
}

type Chunk = NonNullable<AIMessageChunk["tool_call_chunks"]>[number];

/** Null if the chunks are not those that the calls were merged from. */
function fromChunks(
  groups: readonly (readonly Chunk[])[],
  valid: readonly WrittenCall[],
  invalid: readonly WrittenCall[],
): readonly WrittenCall[] | null {
  if (groups.length !== valid.length + invalid.length) return null;
  const queues = { valid: [...valid], invalid: [...invalid] };
  const calls: WrittenCall[] = [];
  for (const group of groups) {
    const id = group.find((chunk) => chunk.id)?.id ?? group[0]?.id;
    const text = group.map(({ args }) => args ?? "").join("");
    const broken = queues.invalid[0];
    const isBroken = broken?.id === id && broken?.written === (text.trim() || "{}");
    const call = isBroken ? queues.invalid.shift() : queues.valid.shift();
    if (call?.id !== id || call === undefined) return null;
    // The input of OpenAI's custom tools is text, not JSON.
    const isRaw = group.some((chunk) => "isCustomTool" in chunk && chunk.isCustomTool === true);
    const isWhole = isRaw || isJson(text);
    const isKept = call.isValid && (isWhole || (text.trim() === "" && hasKeys(call.written)));
    calls.push(isKept ? call : { ...call, written: text, isValid: isWhole });
  }
  return calls;
}

/** Groups chunks by call, as LangChain does: by id and index, or by the one of the two that they have. */
function groupChunks(chunks: readonly Chunk[] = []): readonly (readonly Chunk[])[] {
  const groups: (readonly [Chunk, ...Chunk[]])[] = [];
  for (const chunk of chunks) {
    const at = groups.findIndex(([first]) => {
      if (!chunk.id) return chunk.index !== undefined && chunk.index === first.index;
      return chunk.id === first.id && (chunk.index === undefined || chunk.index === first.index);
    });
    const group = groups[at];
    if (group === undefined) groups.push([chunk]);
    else groups[at] = [...group, chunk];
  }
  return groups;
}

/** Whether a text is one whole JSON value. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function hasKeys(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length > 0;
}

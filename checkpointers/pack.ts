import { deflateRawSync, inflateRawSync } from "node:zlib";

/** Below that there is little to gain. */
const MIN_BYTES = 256;
const PLAIN = 0;
const DEFLATED = 1;

/** What messages have in common as JSON. Part of the format: bytes that were packed with it need it, letter by letter. */
const DICTIONARY = Buffer.from(
  '"branch:to:"__pregel_tasks"__interrupt__"__resume__"{"lc":2,"type":"undefined"}"reasoning_tokens":"cached_tokens":' +
    '"finish_reason":"stop","model_name":"tool_call_chunks":[],"usage_metadata":{"input_tokens":,"output_tokens":,"total_tokens":,' +
    '"input_token_details":{},"output_token_details":{}}"status":"success","artifact":"name":"type":"text","text":"' +
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"","additional_kwargs":{},"response_metadata":{},"id":"' +
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"id":"","tool_call_id":"call_","content":"","additional_kwargs":{},"response_metadata":{}}}' +
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"id":"","content":"","tool_calls":[{"id":"call_","name":"","args":{"type":"tool_call"}}],' +
    '"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{}}}[[0,"messages",null,',
);
/** Small, since what is packed is short: making a larger window takes longer than using it. */
const OPTIONS = { dictionary: DICTIONARY, level: 1, windowBits: 13, memLevel: 6 };

/**
 * Bytes for the database, deflated where they are text and that makes them shorter: rows of one to two kilobytes are
 * too short for the database to compress them.
 */
export function pack(bytes: Buffer, { text }: { readonly text: boolean }): Buffer {
  if (text && bytes.byteLength >= MIN_BYTES) {
    const deflated = deflateRawSync(bytes, OPTIONS);
    if (deflated.byteLength < bytes.byteLength) return Buffer.concat([kind(DEFLATED), deflated]);
  }
  return Buffer.concat([kind(PLAIN), bytes]);
}

/** What {@link pack} was given. */
export function unpack(packed: Buffer): Buffer {
  const bytes = packed.subarray(1);
  return packed[0] === DEFLATED ? inflateRawSync(bytes, OPTIONS) : bytes;
}

function kind(of: number): Buffer {
  return Buffer.of(of);
}

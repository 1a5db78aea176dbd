import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
  type BaseMessage,
} from "@langchain/core/messages";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { Send } from "@langchain/langgraph";
import fc from "fast-check";
import { anyCharacter } from "./any-character.ts";

/** Keys that mean something to a serializer, among others. */
const key = fc.oneof(
  { weight: 3, arbitrary: fc.string({ maxLength: 4 }) },
  { weight: 3, arbitrary: fc.constantFrom("a", "b", "1", "0", "some_name", "someName") },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "lc",
      "type",
      "id",
      "kwargs",
      "args",
      "method",
      "value",
      "name",
      "content",
      "__proto__",
      "__lc_escaped__",
      "constructor",
      "toString",
      "lc_kwargs",
      "lg_name",
    ),
  },
);

const primitive = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.constantFrom("constructor", "undefined", '"lc":1', "\\u006cc", "\u001b[0m", "\ud800"),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
);

function objectOf(value: fc.Arbitrary<unknown>): fc.Arbitrary<Record<string, unknown>> {
  // From entries, so that `__proto__` becomes a key like any other.
  return fc
    .array(fc.tuple(key, value), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries));
}

/** JSON data and `undefined`, without keys that mean something. */
const anyPlain = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.oneof(primitive, fc.constant(undefined)),
    fc.array(tie("value"), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.stringMatching(/^[a-z]{3,9}$/), tie("value")), { maxLength: 3 })
      .map((entries) => Object.fromEntries(entries) as unknown),
  ),
})).value;

function messageOf(inside: fc.Arbitrary<unknown>): fc.Arbitrary<BaseMessage> {
  const data = fc.dictionary(fc.stringMatching(/^[a-z_]{1,9}$/), inside, { maxKeys: 3 });
  const id = fc.option(fc.string(), { nil: undefined });
  const name = fc.option(fc.string({ minLength: 1 }), { nil: undefined });
  const block = fc.oneof(
    fc.record({ type: fc.constant("text"), text: fc.string() }),
    fc.record({ type: fc.constant("image_url"), image_url: fc.record({ url: fc.webUrl() }) }),
    fc.record({ type: fc.constant("tool_call"), id: fc.string(), name: fc.string(), args: data }),
    fc.record({ type: fc.constant("reasoning"), reasoning: fc.string(), extras: data }),
  );
  const content = fc.oneof(fc.string({ unit: anyCharacter }), fc.array(block, { maxLength: 3 }));
  const toolCall = fc.record(
    { id, name: fc.string(), args: data, type: fc.constant("tool_call" as const) },
    { requiredKeys: ["name", "args"] },
  );
  const invalid = fc.record({ id, name, args: fc.string(), error: fc.string() });
  const chunk = fc.record({
    id,
    name,
    args: fc.string(),
    index: fc.nat(),
    type: fc.constant("tool_call_chunk" as const),
  });
  const usage = fc.record({
    input_tokens: fc.nat(),
    output_tokens: fc.nat(),
    total_tokens: fc.nat(),
    input_token_details: data,
  });
  const metadata = fc.oneof(
    data,
    fc.constant({ output_version: "v1" }),
    fc
      .constantFrom("openai", "anthropic", "other")
      .map((provider) => ({ model_provider: provider })),
  );
  const shared = { id, name, content, additional_kwargs: data, response_metadata: metadata };
  const some: { requiredKeys: ["content"] } = { requiredKeys: ["content"] };
  const raw = fc.record({
    tool_calls: fc.array(
      fc.record({
        id: fc.string(),
        function: fc.record({ name: fc.string(), arguments: fc.json() }),
      }),
      { maxLength: 2 },
    ),
  });
  const answer = {
    ...shared,
    additional_kwargs: fc.oneof(data, raw),
    tool_calls: fc.array(toolCall, { maxLength: 2 }),
    invalid_tool_calls: fc.array(invalid, { maxLength: 2 }),
    usage_metadata: fc.option(usage, { nil: undefined }),
  };
  const result = {
    ...shared,
    tool_call_id: fc.string(),
    status: fc.constantFrom("success", "error", undefined),
    artifact: inside,
    metadata: data,
  };

  function made<Fields>(fields: fc.Arbitrary<Fields>, classes: readonly unknown[]) {
    return fc
      .tuple(fields, fc.constantFrom(...classes))
      .map(([all, of]) => new (of as new (fields: Fields) => BaseMessage)(all));
  }

  return fc.oneof(
    made(fc.record(shared, some), [
      HumanMessage,
      HumanMessageChunk,
      SystemMessage,
      SystemMessageChunk,
    ]),
    made(fc.record(answer, some), [AIMessage]),
    made(fc.record({ contentBlocks: fc.array(block, { maxLength: 3 }), id }), [
      AIMessage,
      HumanMessage,
    ]),
    made(fc.record({ ...answer, tool_call_chunks: fc.array(chunk, { maxLength: 2 }) }, some), [
      AIMessageChunk,
    ]),
    made(fc.record(result, { requiredKeys: ["content", "tool_call_id"] }), [
      ToolMessage,
      ToolMessageChunk,
    ]),
    made(fc.record(shared, { requiredKeys: ["content", "name"] }), [
      FunctionMessage,
      FunctionMessageChunk,
    ]),
    made(fc.record({ ...shared, role: fc.string() }, { requiredKeys: ["content", "role"] }), [
      ChatMessage,
      ChatMessageChunk,
    ]),
    fc.string().map((of) => new RemoveMessage({ id: of })),
    content.map((of) => new HumanMessage(of as string)),
  );
}

/** Messages of LangChain's classes with nothing but data in them. */
export const anyPlainMessage = messageOf(anyPlain);

/** Messages of LangChain's classes with anything at all in them. */
export const anyMessage = fc.letrec<{ message: BaseMessage; inside: unknown }>((tie) => ({
  message: messageOf(tie("inside")),
  inside: fc.oneof(
    { depthSize: "small" },
    anyPlain,
    objectOf(tie("inside")),
    fc.array(tie("inside"), { maxLength: 2 }),
    tie("message"),
  ),
})).message;

/** JSON of what looks much like the records that a serializer writes. */
export const anyRecordLike: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => {
  const inside = tie("value");
  const list = fc.array(inside, { maxLength: 2 });
  const kwargs = fc.oneof(
    objectOf(inside),
    fc.record(
      {
        content: fc.oneof(fc.string(), list),
        additional_kwargs: inside,
        response_metadata: inside,
        tool_calls: list,
        tool_call_id: inside,
        artifact: inside,
        content_blocks: inside,
        id: inside,
        lc: inside,
      },
      { requiredKeys: [] },
    ),
    inside,
  );
  const name = fc.constantFrom(
    "AIMessage",
    "HumanMessage",
    "ToolMessage",
    "ToolMessageChunk",
    "AIMessageChunk",
    "RemoveMessage",
    "ChatMessage",
    "BaseMessage",
    "NoMessage",
    "constructor",
  );
  const fields = {
    lc: fc.constantFrom<unknown>(1, 1, 2, 2, 3, "1", null),
    type: fc.constantFrom("constructor", "constructor", "undefined", "delta_snapshot", "secret"),
    id: fc.oneof(
      name.map((of) => ["langchain_core", "messages", of]),
      fc.constantFrom("Set", "Map", "Error", "RegExp", "Uint8Array", "Date").map((of) => [of]),
      list,
      inside,
    ),
    method: fc.constantFrom<unknown>(null, "from", "of", 1),
    args: fc.oneof(
      list,
      list.map((items) => [items]),
      fc.array(fc.tuple(inside, inside), { maxLength: 2 }).map((entries) => [entries]),
      fc.array(fc.nat(300), { maxLength: 2 }).map((bytes) => [bytes]),
      fc.constantFrom<unknown[]>(["a"], ["a", "g"], ["(", ""]),
    ),
    kwargs,
    value: inside,
    other: inside,
  };
  const message = fc.record({
    lc: fc.constant(1),
    type: fc.constant("constructor"),
    id: name.map((of) => ["langchain_core", "messages", of]),
    kwargs,
  });
  return {
    value: fc.oneof(
      { depthSize: "small" },
      primitive,
      list,
      objectOf(inside),
      fc.constant({ lc: 2, type: "undefined" }),
      fc.record(fields, { requiredKeys: [] }),
      fc.record(fields, { requiredKeys: ["lc", "type", "id", "args"] }),
      message,
      inside.map((of) => ({ __lc_escaped__: of })),
    ),
  };
}).value;

/**
 * Whether a `Send` makes an object of a class, such as a map, the prototype of another: it copies its arguments by
 * assignment, their key `__proto__` as well. LangGraph's serializer does not take the copy.
 */
function givesPrototype(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const own: unknown = Object.getOwnPropertyDescriptor(value, "__proto__")?.value;
  const isOfClass =
    typeof own === "object" && own !== null && Object.getPrototypeOf(own) !== Object.prototype;
  return isOfClass || Object.values(value).some(givesPrototype);
}

/** Everything that LangGraph's serializer takes, without circles. */
export const anyStorable = fc.letrec<{ value: unknown }>((tie) => {
  const value = tie("value");
  const list = fc.array(value, { maxLength: 3 });
  return {
    value: fc.oneof(
      { depthSize: "small" },
      fc.oneof(primitive, fc.constant(undefined)),
      list,
      objectOf(value),
      list.map((items) => new Set(items)),
      fc.array(fc.tuple(value, value), { maxLength: 3 }).map((entries) => new Map(entries)),
      fc.uint8Array({ maxLength: 4 }),
      fc.string().map((text) => new RangeError(text)),
      fc.constantFrom(/a+/u, /(?<b>\/)/gi),
      fc.date({ noInvalidDate: true }),
      value.map((of) => new DeltaSnapshot(of)),
      value.filter((of) => !givesPrototype(of)).map((of) => new Send("node", of)),
      messageOf(value),
      anyPlainMessage,
      anyRecordLike,
    ),
  };
}).value;

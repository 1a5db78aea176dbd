import type { AIMessage } from "@langchain/core/messages";
import { checkFromJsonSchema, type SchemaCheck } from "../definition/json-schema.ts";
import { isRecord } from "../state/is-record.ts";
import type { StructuredAnswer } from "./agent-model.ts";
import { parseJsonAnswer, type JsonAnswer } from "./json-answer.ts";

export type StructuredReply =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      /** What was wrong, so that it can be told back to the model. */
      readonly problem: string;
      /** What came instead; undefined where there was no JSON. */
      readonly value: unknown;
    };

/**
 * The value of a reply to a request for an `answer`: the arguments of the function that stands for it, else the JSON in
 * the text, checked against the schema. A call that is written as text is read too. Never throws on a reply.
 *
 * @throws Error of zod when the schema uses a keyword that cannot be checked
 */
export function readStructured(message: AIMessage, answer: StructuredAnswer): StructuredReply {
  const read = valueIn(message, answer);
  if (!read.ok) return { ...read, value: undefined };
  const schema = checkOf(answer);
  const checked = schema.check(read.value);
  if (checked.ok) return checked;
  const inner = argumentsIn(read.value, answer.name);
  if (inner !== undefined) {
    const innerChecked = schema.check(inner);
    if (innerChecked.ok) return innerChecked;
    return { ok: false, problem: innerChecked.issues.join("; "), value: inner };
  }
  return { ok: false, problem: checked.issues.join("; "), value: read.value };
}

function valueIn(message: AIMessage, { name }: StructuredAnswer): JsonAnswer {
  const call = message.tool_calls?.find((one) => one.name === name);
  if (call !== undefined) return { ok: true, value: call.args };
  const broken = message.invalid_tool_calls?.find((one) => one.name === name);
  return parseJsonAnswer(broken?.args ?? message.text);
}

/** Of a call in text: `{"name": "choose", "arguments": {…}}`, as models write it whose server knows no tools. */
function argumentsIn(value: unknown, name: string): unknown {
  if (!isRecord(value) || value["name"] !== name) return undefined;
  return value["arguments"] ?? value["parameters"] ?? value["args"] ?? value["input"];
}

const checks = new WeakMap<StructuredAnswer, SchemaCheck>();

function checkOf(answer: StructuredAnswer): SchemaCheck {
  const known = checks.get(answer);
  if (known !== undefined) return known;
  const made = checkFromJsonSchema(answer.schema);
  checks.set(answer, made);
  return made;
}

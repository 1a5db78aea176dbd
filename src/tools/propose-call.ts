import type { AgentTool } from "../definition/tool.ts";
import { hashCall } from "../state/approval-hash.ts";
import type { ProposedCall } from "../state/human-request.ts";
import { isRecord } from "../state/is-record.ts";
import { jsonHead } from "../state/json-head.ts";
import type { ArgumentRule } from "./argument-rules.ts";

/** Characters of an argument's JSON past which it is long. */
const longValue = 200;

/** A call as a person is asked about it, with its hash, and the order in which to read its arguments. */
export function proposeCall(
  call: Pick<ProposedCall, "id" | "name" | "args" | "reason">,
  tool: Pick<AgentTool, "input">,
  rules: readonly ArgumentRule[] = [],
): ProposedCall {
  const { id, name, args, reason } = call;
  return { id, name, args, reason, hash: hashCall(call), order: readingOrder(call, tool, rules) };
}

/**
 * The names of a call's arguments, those that decide first: what an argument rule reads, then numbers, booleans and what
 * the schema gives a choice of, then what it requires, then the rest. What is long comes last, unless a rule reads it.
 */
function readingOrder(
  { name, args }: Pick<ProposedCall, "name" | "args">,
  { input: { jsonSchema } }: Pick<AgentTool, "input">,
  rules: readonly ArgumentRule[],
): readonly string[] {
  const ruled = new Set(
    rules
      .filter(({ tool }) => tool === name)
      .flatMap(({ condition }) => condition.references)
      .flatMap(([variable, argument]) => (variable === "args" ? (argument ?? []) : [])),
  );
  const { properties, required } = jsonSchema;
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  const isChoice = (key: string) => {
    const schema =
      isRecord(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
    return isRecord(schema) && ("enum" in schema || "const" in schema);
  };
  const rank = (key: string, value: unknown): number => {
    if (ruled.has(key)) return 0;
    if (!jsonHead(value, longValue).whole) return 4;
    if (typeof value === "number" || typeof value === "boolean" || isChoice(key)) return 1;
    return needed.has(key) ? 2 : 3;
  };
  return Object.entries(args)
    .map(([key, value]) => ({ key, rank: rank(key, value) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ key }) => key);
}

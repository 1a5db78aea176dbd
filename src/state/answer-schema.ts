import { hashOfCalls } from "./approval-hash.ts";
import { bareDecisionSchema } from "./decision.ts";
import type { HumanRequest, ProposedCall } from "./human-request.ts";
import { isRecord } from "./is-record.ts";

type Schema = Readonly<Record<string, unknown>>;

/** What is asked, as far as the form of an answer depends on it. */
export type Asked =
  | {
      readonly kind: "approval" | "input" | "edit";
      /** JSON Schema of a new value; null for any text where something is asked for, else for any value. */
      readonly schema: Schema | null;
      /** Of what is approved; left out, an answer may name any. */
      readonly hash?: string;
    }
  | { readonly kind: "tool_approval"; readonly calls: Calls };

type Calls = readonly Pick<ProposedCall, "id" | "hash">[];

/** JSON Schema of an answer: it accepts what `checkHumanAnswer` accepts, and stands in the request for UIs. */
export function answerSchema(asked: Asked): Schema {
  return asked.kind === "tool_approval" ? callAnswerSchema(asked.calls) : nodeAnswerSchema(asked);
}

/** The schema of the value that a request's answer may bring; null when it brings none. */
export function valueSchemaOf({ schema }: Pick<HumanRequest, "schema">): Schema | null {
  const key = definitionsKey(schema);
  const definitions = schema[key];
  if (!isRecord(definitions) || !Object.hasOwn(definitions, valueName)) return null;
  const { $schema } = schema;
  return {
    ...($schema !== undefined && { $schema }),
    [key]: definitions,
    $ref: `#/${key}/${valueName}`,
  };
}

/** Whether the value that a request's answer may bring has a schema that does not take just anything. */
export function takesCertainValues({ schema }: Pick<HumanRequest, "schema">): boolean {
  const definitions = schema[definitionsKey(schema)];
  const value = isRecord(definitions) ? definitions[valueName] : undefined;
  return isRecord(value) && Object.keys(value).length > 0;
}

/** Name of the definition in which an answer's schema has that of its value. */
const valueName = "value";

function nodeAnswerSchema({
  kind,
  schema: given,
  hash,
}: Exclude<Asked, { readonly kind: "tool_approval" }>): Schema {
  const schema = given ?? (kind === "input" ? { type: "string" } : {});
  const key = definitionsKey(schema);
  const value = { $ref: `#/${key}/${valueName}` };
  const bare = mayBeDecision(schema) ? { allOf: [value, notDecision] } : value;
  const named: Properties = kind === "input" ? {} : { hash: hashSchema(hash) };
  const decides = kind === "input" ? [] : [bareDecisionSchema, approve(named)];
  const edits = kind === "input" ? ["answer", "edit"] : ["edit"];
  const { $schema } = schema;
  return {
    ...($schema !== undefined && { $schema }),
    anyOf: [
      ...(kind === "input" ? [bare] : []),
      ...decides,
      reject(named),
      decisionSchema({ enum: edits }, { value, ...named }, ["value"]),
      ...(kind === "edit" ? [bare] : []),
    ],
    [key]: definitionsOf(schema, key),
  };
}

function callAnswerSchema(calls: Calls): Schema {
  const ids = calls.map(({ id }) => id);
  const whole = { hash: hashSchema(hashOfAll(calls)) };
  return {
    anyOf: [
      bareDecisionSchema,
      approve(whole),
      reject(whole),
      ...(ids.length === 1 ? [edit(whole)] : []),
      closed(
        {
          decisions: closed(Object.fromEntries(calls.map((one) => [one.id, callSchema(one)])), ids),
        },
        ["decisions"],
      ),
      {
        type: "array",
        minItems: ids.length,
        maxItems: ids.length,
        items: {
          anyOf: [approve, reject, edit].map((decision) =>
            decision({ hash: text, id: text }, ["id"]),
          ),
        },
        allOf: calls.map(({ id, hash }) => {
          const properties = { id: { const: id }, hash: hashSchema(hash) };
          return { type: "array", contains: { type: "object", properties, required: ["id"] } };
        }),
      },
    ],
  };
}

/** One decision for all calls may name the hash of the request. */
function hashOfAll(calls: Calls): string | undefined {
  const hashes = calls.flatMap(({ hash }) => hash ?? []);
  return hashes.length < calls.length ? undefined : hashOfCalls(hashes);
}

function callSchema({ hash }: Calls[number]): Schema {
  const named = { hash: hashSchema(hash) };
  return { anyOf: [bareDecisionSchema, ...[approve, reject, edit].map((one) => one(named))] };
}

const text: Schema = { type: "string" };

function hashSchema(hash: string | undefined): Schema {
  return hash === undefined ? text : { const: hash };
}

type Properties = Readonly<Record<string, Schema>>;

function approve(also: Properties, required: readonly string[] = []): Schema {
  return decisionSchema({ const: "approve" }, also, required);
}

function reject(also: Properties, required: readonly string[] = []): Schema {
  return decisionSchema({ const: "reject" }, { reason: text, ...also }, required);
}

/** An edit of a call. */
function edit(also: Properties, required: readonly string[] = []): Schema {
  return decisionSchema({ const: "edit" }, { args: { type: "object" }, ...also }, [
    "args",
    ...required,
  ]);
}

function decisionSchema(
  decision: Schema,
  properties: Readonly<Record<string, Schema>> = {},
  required: readonly string[] = [],
): Schema {
  return closed({ decision, ...properties }, ["decision", ...required]);
}

function closed(properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  return { type: "object", properties, required, additionalProperties: false };
}

/** An object with the key `decision` is always read as a decision. */
const notDecision: Schema = {
  anyOf: [
    { type: ["string", "number", "boolean", "null", "array"] },
    { type: "object", properties: { decision: false } },
  ],
};

function mayBeDecision({ type }: Schema): boolean {
  const types = [type ?? "object"].flat();
  return types.includes("object");
}

function definitionsKey({ $schema }: Schema): "$defs" | "definitions" {
  return String($schema).includes("draft-07") ? "definitions" : "$defs";
}

/** A schema as a definition named `value`, beside its own definitions under names that begin with it. */
function definitionsOf(schema: Schema, key: "$defs" | "definitions"): Schema {
  const { $schema: _draft, $id: _id, default: _default, [key]: own, ...rest } = schema;
  const named = isRecord(own) ? Object.entries(own) : [];
  const move = (part: unknown) => moveReferences(part, key);
  return {
    [valueName]: move(rest),
    ...Object.fromEntries(named.map(([name, one]) => [`${valueName}.${name}`, move(one)])),
  };
}

/** Keywords whose values are names or plain values, in which `$ref` is a word like any other. */
const plain = new Set(["const", "enum", "default", "examples", "example", "required"]);
const namedSchemas = new Set(["properties", "patternProperties", "$defs", "definitions"]);

/** Lets references lead to where {@link definitionsOf} puts what they are about. */
function moveReferences(schema: unknown, key: string): unknown {
  if (Array.isArray(schema)) return schema.map((one: unknown) => moveReferences(one, key));
  if (!isRecord(schema)) return schema;
  const moved = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (keyword === "$ref" && typeof value === "string") return [keyword, movedTo(value, key)];
    if (plain.has(keyword)) return [keyword, value];
    if (!namedSchemas.has(keyword) || !isRecord(value))
      return [keyword, moveReferences(value, key)];
    const each = Object.entries(value).map(([name, one]) => [name, moveReferences(one, key)]);
    return [keyword, Object.fromEntries(each)];
  });
  return Object.fromEntries(moved);
}

function movedTo(reference: string, key: string): string {
  const own = `#/${key}/`;
  if (reference === "#") return `${own}${valueName}`;
  return reference.startsWith(own)
    ? `${own}${valueName}.${reference.slice(own.length)}`
    : reference;
}

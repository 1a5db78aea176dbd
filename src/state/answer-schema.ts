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
    }
  | { readonly kind: "tool_approval"; readonly calls: readonly Pick<ProposedCall, "id">[] };

/** JSON Schema of an answer: it accepts what `checkHumanAnswer` accepts, and stands in the request for UIs. */
export function answerSchema(asked: Asked): Schema {
  return asked.kind === "tool_approval"
    ? callAnswerSchema(asked.calls.map(({ id }) => id))
    : nodeAnswerSchema(asked.kind, asked.schema);
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

function nodeAnswerSchema(kind: "approval" | "input" | "edit", given: Schema | null): Schema {
  const schema = given ?? (kind === "input" ? { type: "string" } : {});
  const key = definitionsKey(schema);
  const value = { $ref: `#/${key}/${valueName}` };
  const bare = mayBeDecision(schema) ? { allOf: [value, notDecision] } : value;
  const decides = kind === "input" ? [] : [bareDecisionSchema, approve];
  const edits = kind === "input" ? ["answer", "edit"] : ["edit"];
  const { $schema } = schema;
  return {
    ...($schema !== undefined && { $schema }),
    anyOf: [
      ...(kind === "input" ? [bare] : []),
      ...decides,
      reject,
      decisionSchema({ enum: edits }, { value }, ["value"]),
      ...(kind === "edit" ? [bare] : []),
    ],
    [key]: definitionsOf(schema, key),
  };
}

function callAnswerSchema(ids: readonly string[]): Schema {
  const args = { args: { type: "object" } };
  const edit = decisionSchema({ const: "edit" }, args, ["args"]);
  const listed = { id: { enum: ids } };
  return {
    anyOf: [
      bareDecisionSchema,
      approve,
      reject,
      ...(ids.length === 1 ? [edit] : []),
      closed(
        { decisions: closed(Object.fromEntries(ids.map((id) => [id, { $ref: call }])), ids) },
        ["decisions"],
      ),
      {
        type: "array",
        minItems: ids.length,
        maxItems: ids.length,
        items: {
          anyOf: [
            decisionSchema({ const: "approve" }, listed, ["id"]),
            decisionSchema({ const: "reject" }, { ...listed, reason: text }, ["id"]),
            decisionSchema({ const: "edit" }, { ...listed, ...args }, ["id", "args"]),
          ],
        },
        allOf: ids.map((id) => {
          const has = { type: "object", properties: { id: { const: id } }, required: ["id"] };
          return { type: "array", contains: has };
        }),
      },
    ],
    $defs: { call: { anyOf: [bareDecisionSchema, approve, reject, edit] } },
  };
}

const call = "#/$defs/call";
const text: Schema = { type: "string" };
const approve = decisionSchema({ const: "approve" });
const reject = decisionSchema({ const: "reject" }, { reason: text });

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

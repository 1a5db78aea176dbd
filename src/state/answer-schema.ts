import { isRecord } from "../values/json.ts";
import { headOf } from "../values/text.ts";
import { hashOfCalls, type HumanRequest, type ProposedCall } from "./human-request.ts";

type Schema = Readonly<Record<string, unknown>>;

/** The parts of a request that determine the form of its answer. */
export type Asked =
  | {
      readonly kind: "approval" | "input" | "edit";
      /** JSON Schema of a new value. Null allows any text for an input request, any value otherwise. */
      readonly schema: Schema | null;
      /** Hash of what is approved; if left out, an answer may name any hash. */
      readonly hash?: string;
    }
  | { readonly kind: "tool_approval"; readonly calls: Calls };

type Calls = readonly Pick<ProposedCall, "id" | "hash">[];

/** Returns the JSON Schema of an answer, for UIs. It accepts what `checkHumanAnswer` accepts. */
export function answerSchema(asked: Asked): Schema {
  return asked.kind === "tool_approval" ? callAnswerSchema(asked.calls) : nodeAnswerSchema(asked);
}

/** Returns the schema of the value in an answer; null if the answer has none. */
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

/** Returns whether the schema of the answer's value rejects any value. */
export function takesCertainValues({ schema }: Pick<HumanRequest, "schema">): boolean {
  const definitions = schema[definitionsKey(schema)];
  const value = isRecord(definitions) ? definitions[valueName] : undefined;
  return isRecord(value) && Object.keys(value).length > 0;
}

/** Name of the definition that holds the value's schema within an answer's schema. */
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

/** Returns the JSON Schema of an answer with the results of calls that the caller makes, in full or in part. */
export function resultsSchema(ids: readonly string[]): Schema {
  const call = { call_id: { enum: ids } };
  const results = {
    type: "array",
    minItems: 1,
    maxItems: ids.length,
    items: {
      anyOf: [
        closed({ ...call, output: {} }, ["call_id", "output"]),
        closed({ ...call, error: { type: "string" } }, ["call_id", "error"]),
      ],
    },
  };
  return { anyOf: [results, closed({ tool_results: results }, ["tool_results"])] };
}

function callAnswerSchema(calls: Calls): Schema {
  const ids = calls.map(({ id }) => id);
  const whole = { hash: hashSchema(hashOfAll(calls)) };
  return {
    anyOf: [
      bareDecisionSchema,
      approve(whole),
      reject(whole),
      ...(ids.length === 1 ? [editSchema(whole)] : []),
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
          anyOf: [approve, reject, editSchema].map((decision) =>
            decision({ hash: textSchema, id: textSchema }, ["id"]),
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

/** Returns the request's hash, which a single decision for all calls may name. */
function hashOfAll(calls: Calls): string | undefined {
  const hashes = calls.flatMap(({ hash }) => hash ?? []);
  return hashes.length < calls.length ? undefined : hashOfCalls(hashes);
}

function callSchema({ hash }: Calls[number]): Schema {
  const named = { hash: hashSchema(hash) };
  return { anyOf: [bareDecisionSchema, ...[approve, reject, editSchema].map((one) => one(named))] };
}

const textSchema: Schema = { type: "string" };

function hashSchema(hash: string | undefined): Schema {
  return hash === undefined ? textSchema : { const: hash };
}

type Properties = Readonly<Record<string, Schema>>;

function approve(also: Properties, required: readonly string[] = []): Schema {
  return decisionSchema({ const: "approve" }, also, required);
}

function reject(also: Properties, required: readonly string[] = []): Schema {
  return decisionSchema({ const: "reject" }, { reason: textSchema, ...also }, required);
}

/** Returns the schema of an edit of a call. */
function editSchema(also: Properties, required: readonly string[] = []): Schema {
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

/** Returns a schema as a definition named `value`, with its own definitions under names that begin with `value`. */
function definitionsOf(schema: Schema, key: "$defs" | "definitions"): Schema {
  const { $schema: _draft, $id: _id, default: _default, [key]: own, ...rest } = schema;
  const named = isRecord(own) ? Object.entries(own) : [];
  const move = (part: unknown) => moveReferences(part, key);
  return {
    [valueName]: move(rest),
    ...Object.fromEntries(named.map(([name, one]) => [`${valueName}.${name}`, move(one)])),
  };
}

/** Keywords whose values are names or plain values, in which `$ref` has no special meaning. */
const plain = new Set(["const", "enum", "default", "examples", "example", "required"]);
const namedSchemas = new Set(["properties", "patternProperties", "$defs", "definitions"]);

/** Rewrites references to the new names of {@link definitionsOf}. */
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

/** A person's decision. `value` of an edit is the new value, or the new arguments of a tool call. */
export type Decision =
  | { readonly decision: "approve" }
  | { readonly decision: "edit"; readonly value: unknown }
  | { readonly decision: "reject"; readonly reason: string };

export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly problem: string;
      /** Set if the answer names another hash than that of the pending request. */
      readonly mismatch?: true;
    };

/** The decisions that are possible, and their syntax. */
export interface DecisionForms {
  /** Whether there is something to approve; then `true`, `false` and the bare words are decisions too. */
  readonly approves: boolean;
  /** The words for an edit; empty if nothing can be edited. */
  readonly edits: readonly string[];
  /** The key of an edit's new value. */
  readonly key: "value" | "args";
  /** The hash of the subject of the decision, which a decision may name; left out if there is none. */
  readonly hash?: () => string | null;
  /** Returns the checked new value, or why it is refused. */
  check(value: unknown): Read<unknown>;
}

/** Returns whether an answer is always read as a decision, never as a value. */
export function isDecisionRecord(answer: unknown): answer is Record<string, unknown> {
  return isRecord(answer) && Object.hasOwn(answer, "decision");
}

/** The decision words, matched case-insensitively; the first of each is the documented one. */
const decisionWords = {
  approve: ["approve", "yes", "y"],
  reject: ["reject", "no", "n"],
} as const;

/** Returns the decision that a bare word stands for, ignoring case; null for other answers. */
export function wordDecision(answer: unknown): "approve" | "reject" | null {
  if (typeof answer !== "string") return null;
  const word = answer.toLowerCase();
  if (decisionWords.approve.some((one) => one === word)) return "approve";
  return decisionWords.reject.some((one) => one === word) ? "reject" : null;
}

/** JSON Schema of decisions that are not records. */
const bareDecisionSchema: Readonly<Record<string, unknown>> = {
  anyOf: [{ type: "boolean" }, { type: "string", pattern: `^(?:${anyCase(decisionWords)})$` }],
};

/** Reads `true`, `"yes"`, `{ decision: "reject", reason }` and similar decisions; null for any other answer. */
export function readDecision(answer: unknown, forms: DecisionForms): Read<Decision> | null {
  if (forms.approves) {
    const word =
      typeof answer === "boolean" ? (answer ? "approve" : "reject") : wordDecision(answer);
    if (word !== null) return word === "approve" ? approved : rejected("");
  }
  return isDecisionRecord(answer) ? readRecord(answer, forms) : null;
}

function readRecord(answer: Record<string, unknown>, forms: DecisionForms): Read<Decision> {
  const { decision } = answer;
  const words = [...(forms.approves ? ["approve"] : []), ...forms.edits, "reject"];
  if (typeof decision !== "string" || !words.includes(decision)) {
    return problem(`Expected the decision ${anyOf(words)}; got ${shown(decision)}.`);
  }
  const isEdit = forms.edits.includes(decision);
  const takes = isEdit ? forms.key : decision === "reject" ? "reason" : null;
  const known = ["decision", takes, ...(forms.hash === undefined ? [] : ["hash"])];
  const other = Object.keys(answer).find((key) => !known.includes(key));
  if (other !== undefined) {
    const allowed = takes === null ? "nothing else" : `"${takes}" alone`;
    return problem(`Beside the decision "${decision}" there may be ${allowed}; got "${other}".`);
  }
  const hash = answer["hash"] === undefined ? null : (forms.hash?.() ?? null);
  if (hash !== null && answer["hash"] !== hash) {
    const text = `The answer is not for the pending request: expected the hash ${hash}, got ${shown(answer["hash"])}.`;
    return { ...problem(text), mismatch: true };
  }
  if (decision === "approve") return approved;
  if (isEdit) return readEdit(decision, answer, forms);
  const { reason = "" } = answer;
  if (typeof reason === "string") return rejected(reason);
  return problem(`Expected a text as the reason; got ${shown(reason)}.`);
}

function readEdit(
  word: string,
  answer: Record<string, unknown>,
  forms: DecisionForms,
): Read<Decision> {
  const { key } = forms;
  if (answer[key] === undefined) {
    return problem(`Expected { decision: "${word}", ${key} }; got no ${key}.`);
  }
  const checked = forms.check(answer[key]);
  return checked.ok ? { ok: true, value: { decision: "edit", value: checked.value } } : checked;
}

/** Lists the accepted forms of an answer, for messages. `others` are added to those of a decision. */
export function expectedForms(forms: DecisionForms, others: readonly string[] = []): string {
  const [edit] = forms.edits;
  return anyOf([
    ...(forms.approves ? ['true or "approve"', 'false or "reject"'] : []),
    ...others,
    '{ decision: "reject", reason }',
    ...(edit === undefined ? [] : [`{ decision: "${edit}", ${forms.key} }`]),
  ]);
}

export function problem(text: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: text };
}

/** Renders an answer, short enough for a message. */
export function shown(value: unknown): string {
  const json = JSON.stringify(value) ?? "nothing";
  return json.length > 80 ? `${headOf(json, 80)}…` : json;
}

function anyOf(words: readonly string[]): string {
  const last = words.at(-1) ?? "nothing";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}

const approved: Read<Decision> = { ok: true, value: { decision: "approve" } };

function rejected(reason: string): Read<Decision> {
  return { ok: true, value: { decision: "reject", reason } };
}

/** Returns a case-insensitive pattern for words; patterns of JSON Schema have no flags. */
function anyCase(words: Readonly<Record<string, readonly string[]>>): string {
  const letters = (word: string) =>
    word.replaceAll(/[a-z]/g, (one) => `[${one}${one.toUpperCase()}]`);
  return Object.values(words).flat().map(letters).join("|");
}

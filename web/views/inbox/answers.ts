import { memberOf, type Schema } from "../../components/schema/fields.ts";

/** A request to a person, as runs and the list of requests have it. */
export interface HumanRequest {
  readonly id: string;
  readonly kind: string;
  readonly prompt: string;
  readonly proposed?: unknown;
  readonly schema: Schema;
  readonly expires_at: string | null;
  readonly [more: string]: unknown;
}

/** A tool call that waits for approval. */
export interface ProposedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly reason: string;
  readonly hash: string | null;
}

/** What a person decides about a call or a value. */
export type Decision =
  | { readonly decision: "approve" }
  | { readonly decision: "reject"; readonly reason: string }
  | { readonly decision: "edit"; readonly value: unknown };

/** Returns the calls that a request proposes, the decisive arguments first. */
export function proposedCalls({ kind, proposed }: HumanRequest): readonly ProposedCall[] {
  if (kind !== "tool_approval" || !Array.isArray(proposed)) return [];
  return proposed.flatMap((call: unknown) => {
    const [id, name, args] = ["id", "name", "args"].map((key) => memberOf(call, key));
    if (typeof id !== "string" || typeof name !== "string") return [];
    const [reason, hash, order] = ["reason", "hash", "order"].map((key) => memberOf(call, key));
    return [
      {
        id,
        name,
        args: inOrder(args, Array.isArray(order) ? order : []),
        reason: typeof reason === "string" ? reason : "",
        hash: typeof hash === "string" ? hash : null,
      },
    ];
  });
}

function inOrder(args: unknown, order: readonly unknown[]): Readonly<Record<string, unknown>> {
  const entries = Object.entries(Object(args) as Record<string, unknown>);
  const rank = (name: string) => {
    const at = order.indexOf(name);
    return at < 0 ? order.length : at;
  };
  return Object.fromEntries(entries.toSorted(([a], [b]) => rank(a) - rank(b)));
}

/** Returns the answer that a decision on the whole request is. It names what it is about, so that it holds for nothing else. */
export function answerOf(request: HumanRequest, decision: Decision): unknown {
  const about = typeof request["hash"] === "string" ? { hash: request["hash"] } : {};
  const [only, ...others] = proposedCalls(request);
  if (decision.decision === "edit" && only !== undefined && others.length === 0)
    return answerOfCalls([{ call: only, decision }]);
  return { ...decision, ...about };
}

/** Returns the answer of one decision for each call. */
export function answerOfCalls(
  decided: readonly { readonly call: ProposedCall; readonly decision: Decision }[],
): unknown {
  const decisions = decided.map(({ call: { id, hash }, decision }) => {
    const { decision: name } = decision;
    const about = hash === null ? {} : { hash };
    if (name === "edit") return [id, { decision: name, args: decision.value, ...about }] as const;
    return [id, { ...decision, ...about }] as const;
  });
  return { decisions: Object.fromEntries(decisions) };
}

/** Returns the schema of the value that a request asks for, or may be edited to. */
export function valueSchema({ kind, proposed, schema }: HumanRequest): Schema {
  const definitions = memberOf(schema, "$defs");
  const value = Object(memberOf(definitions, "value")) as Schema;
  if (Object.keys(value).length > 0) {
    const isText = value["type"] === "string" && value["format"] === undefined;
    const form = isText && value["enum"] === undefined ? { format: "textarea" } : {};
    return { title: "Answer", ...form, ...value, $defs: definitions };
  }
  return kind === "input" ? textOrJson : schemaOfValue(proposed);
}

/** Where nothing says what an answer is. */
export const textOrJson: Schema = {
  title: "Answer",
  anyOf: [{ title: "Text", type: "string", format: "textarea" }, { title: "JSON" }],
};

/** Returns a schema by which a value can be edited: its members keep their types. */
export function schemaOfValue(value: unknown, depth = 0): Schema {
  if (depth > 6) return {};
  switch (typeof value) {
    case "string":
      return { type: "string", ...(value.includes("\n") && { format: "textarea" }) };
    case "number":
      return { type: "number" };
    case "boolean":
      return { type: "boolean" };
    case "object": {
      if (value === null) return {};
      if (Array.isArray(value)) {
        const [first] = value as readonly unknown[];
        const isPlain = value.every((item) => typeof item === typeof first);
        const isScalar = ["string", "number", "boolean"].includes(typeof first);
        return isPlain && isScalar ? { type: "array", items: schemaOfValue(first, depth + 1) } : {};
      }
      const members = Object.entries(value).map(
        ([name, member]) => [name, schemaOfValue(member, depth + 1)] as const,
      );
      return members.length === 0
        ? {}
        : {
            type: "object",
            properties: Object.fromEntries(members),
            required: members.map(([name]) => name),
          };
    }
    default:
      return {};
  }
}

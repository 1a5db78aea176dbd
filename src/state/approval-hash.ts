import { canonicalHash } from "./canonical-json.ts";
import type { HumanRequest, ProposedCall } from "./human-request.ts";
import { isRecord } from "./is-record.ts";

/** The SHA-256 of a tool call: its name and its arguments as canonical JSON. */
export function hashCall({
  name,
  args,
}: {
  readonly name: unknown;
  readonly args: unknown;
}): string {
  return canonicalHash({ name, args });
}

/**
 * The SHA-256 of what an answer to a request approves: its only call, the hashes of its calls in order, or its prompt and
 * what it proposes. Null where nothing is approved. Computed from the request, so that those of earlier versions have one.
 */
export function hashRequest({
  kind,
  prompt = "",
  proposed,
}: Pick<HumanRequest, "kind" | "proposed"> & Partial<Pick<HumanRequest, "prompt">>): string | null {
  switch (kind) {
    case "input":
      return null;
    case "approval":
    case "edit":
      return canonicalHash({ prompt, proposed });
    case "tool_approval":
      return hashOfCalls(proposedCalls(proposed).map(hashCall));
  }
}

/** The hash of several calls together, which for one is its own. */
export function hashOfCalls(hashes: readonly string[]): string {
  const [only, ...others] = hashes;
  return only === undefined || others.length > 0 ? canonicalHash(hashes) : only;
}

/** The calls that a request proposes, as far as it has any: requests are stored, and anybody may have written them. */
export function proposedCalls(
  proposed: unknown,
): readonly (Pick<ProposedCall, "id"> & { readonly name: unknown; readonly args: unknown })[] {
  const list: readonly unknown[] = Array.isArray(proposed) ? proposed : [];
  return list.flatMap((call) => {
    if (!isRecord(call) || typeof call["id"] !== "string") return [];
    return [{ id: call["id"], name: call["name"], args: call["args"] }];
  });
}

import { isRecord } from "../state/is-record.ts";
import type { DefinitionPath, DefinitionProblem } from "./problems.ts";
import { hasBrokenReference, secretsIn } from "./secret-reference.ts";
import { valueAt } from "./value-at.ts";

/** Servers of one name, and references to secrets that would not be replaced. */
export function serverProblems(written: unknown): readonly DefinitionProblem[] {
  const tools = valueAt(written, ["tools"]);
  const entries: readonly unknown[] = Array.isArray(tools) ? tools : [];
  return [...sameNames(entries), ...entries.flatMap(misplacedSecrets), ...brokenSecrets(written)];
}

function sameNames(entries: readonly unknown[]): readonly DefinitionProblem[] {
  const first = new Map<string, number>();
  return entries.flatMap((entry, index) => {
    const name = valueAt(entry, ["mcp", "name"]);
    if (typeof name !== "string") return [];
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      return [];
    }
    const message = `"${name}" is already the name of the server in tools[${earlier}]`;
    return [{ path: ["tools", index, "mcp", "name"], message }];
  });
}

/** What says how a server is started, in which no secret is put. */
const plainKeys = ["command", "cwd"] as const;

function misplacedSecrets(entry: unknown, index: number): readonly DefinitionProblem[] {
  return plainKeys.flatMap((key) => {
    const text = valueAt(entry, ["mcp", key]);
    if (typeof text !== "string" || secretsIn(text).length === 0) return [];
    const message = "a reference to a secret is not replaced here";
    return [{ path: ["tools", index, "mcp", key], message, allowed: ["args", "env"] }];
  });
}

/** What is shown of texts with secrets is where they stand, since what is written may be a secret itself. */
function brokenSecrets(written: unknown): readonly DefinitionProblem[] {
  const rails = valueAt(written, ["guardrail_config", "output_rails"]);
  const tools = valueAt(written, ["tools"]);
  return [
    ...(Array.isArray(tools) ? tools : []).flatMap((entry: unknown, index) =>
      isRecord(entry) ? brokenReferences(entry, ["tools", index]) : [],
    ),
    ...(Array.isArray(rails) ? rails : []).flatMap((rail: unknown, index) =>
      brokenReferences(valueAt(rail, ["config", "moderation"]), [
        "guardrail_config",
        "output_rails",
        index,
        "config",
        "moderation",
      ]),
    ),
  ];
}

/** References to secrets that would not be replaced, in all texts of a value. */
export function brokenReferences(
  value: unknown,
  path: DefinitionPath,
): readonly DefinitionProblem[] {
  if (typeof value === "string") {
    if (!hasBrokenReference(value)) return [];
    const message =
      "expected references to secrets such as {{secret:NAME}}, of letters, digits and _";
    return [{ path, message }];
  }
  if (Array.isArray(value)) {
    return value.flatMap((one: unknown, index) => brokenReferences(one, [...path, index]));
  }
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, one]) => brokenReferences(one, [...path, key]));
}

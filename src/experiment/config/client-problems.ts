import type { DefinitionProblem } from "../../definition/problems.ts";
import { brokenReferences } from "../../definition/server-problems.ts";
import { valueAt } from "../../definition/value-at.ts";
import { isRecord } from "../../state/is-record.ts";

/** Headers that no request can have. Their values are not shown, which may be secrets. */
export function clientProblems(written: unknown): readonly DefinitionProblem[] {
  const path = ["ollama_client_config", "headers"];
  const headers = valueAt(written, path);
  if (!isRecord(headers)) return [];
  return [
    ...Object.entries(headers).flatMap(([name, value]): DefinitionProblem[] => {
      const message = problemOf(name, value);
      return message === null ? [] : [{ path: [...path, name], message }];
    }),
    ...brokenReferences(headers, path),
  ];
}

/** Names are tokens (RFC 9110, 5.1); values are text of one line in Latin-1, as `fetch` takes it. */
function problemOf(name: string, value: unknown): string | null {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return "not a name that a header can have";
  const isFine = typeof value !== "string" || /^[\t\u0020-\u007E\u0080-\u00FF]*$/.test(value);
  return isFine ? null : "a header's value is one line of Latin letters, digits and signs";
}

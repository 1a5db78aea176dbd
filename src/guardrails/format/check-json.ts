import { checkFromJsonSchema, type SchemaCheck } from "../../definition/json-schema.ts";
import { jsonSyntaxProblem } from "../../definition/json-text.ts";
import { errorMessage } from "../../errors.ts";
import { isRecord } from "../../state/is-record.ts";
import { FormatRailError } from "./errors.ts";
import type { Answer, FormatCheck } from "./format-check.ts";

/** So that the reasons stay shorter than the text they are about. */
const mostIssues = 10;

/**
 * The whole text has to be JSON, of the schema where there is one. An answer of the agent's own output schema is JSON
 * already; what it holds has to be of the schema.
 * @throws FormatRailError
 */
export function checkJson(schema: Readonly<Record<string, unknown>> | undefined): FormatCheck {
  const check = schema === undefined ? undefined : compile(schema);
  const names = namesIn(schema);
  return (answer) => {
    const parsed = isText(answer) ? parse(answer.text) : answer;
    if ("problem" in parsed) return [parsed.problem];
    const checked = check?.check(parsed.value);
    if (checked === undefined || checked.ok) return [];
    const told = new Set(checked.issues.map((issue) => describeIssue(issue, names)));
    return [...told].slice(0, mostIssues);
  };
}

/** `{ message }` is how an agent without an output schema of its own answers in text. */
function isText({ value }: Answer): boolean {
  if (!isRecord(value)) return typeof value === "string";
  return Object.keys(value).length === 1 && typeof value["message"] === "string";
}

function compile(schema: Readonly<Record<string, unknown>>): SchemaCheck {
  try {
    return checkFromJsonSchema({ ...schema });
  } catch (thrown) {
    throw new FormatRailError("schema", `it cannot be checked (${errorMessage(thrown)})`, {
      cause: thrown,
    });
  }
}

function parse(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { problem: syntaxProblem(text) };
  }
}

/** Only the place: what Node says of it may hold parts of the text. */
function syntaxProblem(text: string): string {
  if (text.trim() === "") return "The text is empty; write JSON.";
  if (/^\s*(?:```|~~~)/.test(text))
    return "The JSON is in a code block; write the JSON alone, without the fences.";
  if (!/^\s*[[{"\d-]/.test(text))
    return "The text does not begin as JSON; write the JSON alone, without words around it.";
  const { line, column } = jsonSyntaxProblem(text) ?? {};
  return `The text is not valid JSON from line ${line}, column ${column} on; mend it there.`;
}

/**
 * Paths are told where the schema names all of their keys: other keys are the text's own. So are those that should not be
 * there.
 */
function describeIssue(issue: string, names: ReadonlySet<string>): string {
  const [, path = "", message = ""] = /^(.*?): (.*)$/s.exec(issue) ?? [];
  const isNamed = path.split(".").every((key) => /^\d+$/.test(key) || names.has(key));
  if (path !== "value" && !isNamed)
    return "A value under a key that the schema does not name is not as the schema wants it.";
  const where = path === "value" ? "The JSON" : `"${path}" of the JSON`;
  if (message.startsWith("Unrecognized key"))
    return `${where} has keys that the schema does not allow; leave them out.`;
  return `${where} is not as the schema wants it: ${message}.`;
}

/** All keys of objects in the schema's document, and texts in its lists: property names are among them. */
function namesIn(schema: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (typeof schema === "string") names.add(schema);
  else if (Array.isArray(schema)) for (const item of schema) namesIn(item, names);
  else if (isRecord(schema)) {
    for (const [key, item] of Object.entries(schema)) {
      names.add(key);
      if (typeof item === "object") namesIn(item, names);
    }
  }
  return names;
}

import { SandboxError } from "./errors.ts";

/** Levels of lists and objects within each other that are taken; code that walks results calls itself for each. */
const maxDepth = 500;

/**
 * The value of JSON text that sandboxed code has made.
 * @throws SandboxError for the key `__proto__`, which is harmless here and becomes a prototype where others copy the
 * value key by key; and for what is nested so deeply that others cannot walk it
 */
export function readOutput(name: string, json: string): unknown {
  const problem = outputProblem(json);
  if (problem !== undefined) throw new SandboxError(name, { reason: "output", detail: problem });
  return JSON.parse(json) as unknown;
}

/** Found in the text, so that nothing of it is built before it is known to be good. */
function outputProblem(json: string): string | undefined {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    switch (json[at]) {
      case '"': {
        const end = endOfText(json, at);
        // JSON.stringify escapes no letter of it, so there is one form only.
        if (json[end] === ":" && json.startsWith('"__proto__"', at)) {
          return 'it has the key "__proto__"';
        }
        at = end - 1;
        break;
      }
      case "[":
      case "{":
        depth += 1;
        if (depth > maxDepth) return `it is nested more than ${maxDepth} levels deep`;
        break;
      case "]":
      case "}":
        depth -= 1;
        break;
      default:
    }
  }
  return undefined;
}

/** The place after the closing quote of the text that begins at `start`. */
function endOfText(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(json: string, at: number): boolean {
  let slashes = 0;
  while (json[at - 1 - slashes] === "\\") slashes += 1;
  return slashes % 2 === 1;
}

import { Script } from "node:vm";

export type FunctionSource =
  | { readonly ok: true; readonly source: string }
  /** The problem continues a sentence that begins with "the handler". */
  | { readonly ok: false; readonly problem: string };

/**
 * Returns the source text of a function as an expression that evaluates to it, so that it can run without its module.
 * Accepts functions of at most one argument: arrow functions, function expressions and declarations, and methods, async
 * or not.
 */
export function functionSource(handler: (...args: never[]) => unknown): FunctionSource {
  const text = Function.prototype.toString.call(handler);
  const problem = kindProblem(handler, text);
  if (problem !== undefined) return { ok: false, problem };
  const source = [text, `Object.values({ ${text} })[0]`].find(isExpression);
  if (source === undefined) {
    return {
      ok: false,
      problem: "cannot be read alone; write it as a function or an arrow function",
    };
  }
  return { ok: true, source: withNaming(source) };
}

function kindProblem(handler: (...args: never[]) => unknown, text: string): string | undefined {
  if (/\{\s*\[native code\]\s*\}$/.test(text)) {
    return "has no source text, as bound and built-in functions have none; pass a function as it is";
  }
  if (/^class\b/.test(text)) return "is a class; pass a function";
  if (/Generator/.test(Object.prototype.toString.call(handler))) {
    return "is a generator; return all of the result at once";
  }
  if (/^[gs]et\b(?!\s*\()/.test(text)) return "is a getter or a setter; pass a function";
  if (/^(?:async\b\s*)?\[/.test(text)) {
    return "is a method whose name is computed; write it as a function or an arrow function";
  }
  if (handler.length > 1) {
    return "takes more than its input, and in a sandbox there is nothing more to be given";
  }
  return undefined;
}

/** Only parses the text: the compiled script is never run. */
function isExpression(text: string): boolean {
  try {
    return new Script(`(${text}\n)`) instanceof Script;
  } catch {
    return false;
  }
}

/** Defines the `__name` helper, calls of which esbuild (and so tsx) inserts with `keepNames`. */
function withNaming(source: string): string {
  if (!/\b__name\(/.test(source)) return source;
  return `((__name) => (${source}\n))((named) => named)`;
}

import type { compile } from "@jmespath-community/jmespath";
import { errorMessage } from "../../../errors.ts";
import { ToolFailure } from "../../tool-failure.ts";

/** What is used of the library, which is loaded with the first query. */
export type JmesPath = typeof import("@jmespath-community/jmespath");

export type QueryNode = ReturnType<typeof compile>;

/** @throws ToolFailure that says where the query goes wrong */
export function parseQuery(library: JmesPath, query: string): QueryNode {
  const tree = attempt(() => library.compile(query));
  if (tree.ok) return tree.value;
  if (tree.thrown instanceof RangeError) throw new ToolFailure("The query is nested too deeply.");
  const at = errorPosition(library, query);
  const where =
    at >= query.length
      ? "it ends too early"
      : `at character ${at + 1}, before ${JSON.stringify(query.slice(at, at + 20))}`;
  throw new ToolFailure(
    `The query is no JMESPath, ${where} (${reasonOf(tree.thrown)}). Examples: people[?age > \`30\`].name, sort_by(items, &price)[0], {total: sum(items[].price)}.`,
    { cause: tree.thrown },
  );
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof TypeError) return "something is missing";
  return errorMessage(thrown)
    .replace(/^Syntax error[:,]? |^syntax: /, "")
    .slice(0, 200);
}

/** The library does not tell it. 0-based; the query's length where only something is missing at the end. */
function errorPosition(library: JmesPath, query: string): number {
  const tokens = attempt(() => library.tokenize(query));
  if (!tokens.ok) return lexerPosition(library, query);
  const starts = tokens.value.map(({ start }) => start);
  const endOf = (count: number) => starts[count] ?? query.length;
  // Of all beginnings, the shortest that fails for another reason than that it ends.
  let [fine, wrong] = [0, starts.length + 1];
  while (wrong - fine > 1) {
    const middle = Math.floor((fine + wrong) / 2);
    if (failsBeforeEnd(library, query.slice(0, endOf(middle)))) wrong = middle;
    else fine = middle;
  }
  return starts[wrong - 1] ?? query.length;
}

function failsBeforeEnd(library: JmesPath, beginning: string): boolean {
  const tree = attempt(() => library.compile(beginning));
  if (tree.ok || tree.thrown instanceof TypeError) return false;
  return !/\bEOF\b/.test(errorMessage(tree.thrown));
}

/** Where the last beginning ends that can be split into tokens. */
function lexerPosition(library: JmesPath, query: string): number {
  for (let end = query.length - 1; end > 0; end -= 1) {
    if (attempt(() => library.tokenize(query.slice(0, end))).ok) {
      return end + (/^\s*/.exec(query.slice(end))?.[0].length ?? 0);
    }
  }
  return 0;
}

type Attempt<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly thrown: unknown };

function attempt<T>(act: () => T): Attempt<T> {
  try {
    return { ok: true, value: act() };
  } catch (thrown) {
    return { ok: false, thrown };
  }
}

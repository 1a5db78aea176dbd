import type { compile, JSONObject, JSONValue, TreeInterpreter } from "@jmespath-community/jmespath";
import { errorMessage, StratagraphError } from "../../../errors.ts";
import { nearestName } from "../../../nearest-name.ts";
import { ToolFailure } from "../../tool-result.ts";
import { costOfCall, replaceFunctions, sameJson, sizeOf, WorkMeter } from "./query-functions.ts";

type Interpreter = typeof TreeInterpreter;

/** Units of work that one query may take: a fraction of a second. */
const workBudget = 5_000_000;

/** A scope of `let` has functions of its own; units of work that creating them costs. */
const scopeCost = 500;

/** Values and characters of a result, shared parts counted each time. */
const maxResultSize = 1_000_000;

let loading: Promise<JmesPath> | undefined;

/**
 * What a JMESPath query selects of JSON data.
 * @throws ToolFailure for a query that does not parse, does not suit the data, or takes too much work
 */
export async function searchJson(data: unknown, query: string): Promise<unknown> {
  loading ??= import("@jmespath-community/jmespath");
  const library = await loading;
  const tree = parseQuery(library, query);
  const meter = new WorkMeter(workBudget);
  const parts = surveyOf(tree);
  const interpreter = boundedInterpreter(library, meter, parts.conditions);
  checkFunctions(interpreter, parts.functions);
  let found: unknown;
  try {
    found = interpreter.search(tree, data as JSONValue);
  } catch (thrown) {
    if (thrown instanceof StratagraphError) throw thrown;
    const reason =
      thrown instanceof RangeError
        ? "it works on texts or lists that are too large"
        : errorMessage(thrown);
    throw new ToolFailure(`The query failed: ${reason}.`.replace(/\.\.$/, "."), { cause: thrown });
  }
  if (sizeOf(found, maxResultSize) > maxResultSize) {
    throw new ToolFailure("The query's result is too large. Select less of the data.");
  }
  return found;
}

/**
 * Checks that a text is a JMESPath query.
 * @throws ToolFailure that says where the query goes wrong
 */
export async function checkQuery(query: string): Promise<void> {
  loading ??= import("@jmespath-community/jmespath");
  const library = await loading;
  const { functions } = surveyOf(parseQuery(library, query));
  checkFunctions(boundedInterpreter(library, new WorkMeter(workBudget), new Set()), functions);
}

interface Survey {
  /** Nodes whose values are asked whether they are true. */
  readonly conditions: ReadonlySet<unknown>;
  readonly functions: ReadonlySet<string>;
}

function surveyOf(tree: QueryNode): Survey {
  const conditions = new Set<unknown>();
  const functions = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    if (Array.isArray(node)) return node.forEach(visit);
    const { type, condition, left, child, name } = node as Readonly<Record<string, unknown>>;
    if (type === "Literal") return;
    if (type === "Function") functions.add(String(name));
    if (condition !== undefined) conditions.add(condition);
    if (type === "OrExpression" || type === "AndExpression") conditions.add(left);
    if (type === "NotExpression") conditions.add(child);
    Object.values(node).forEach(visit);
  };
  visit(tree);
  return { conditions, functions };
}

function checkFunctions(interpreter: Interpreter, used: ReadonlySet<string>): void {
  const known = interpreter.runtime.getRegistered();
  for (const name of used) {
    if (known.includes(name)) continue;
    const near = nearestName(name, known);
    const hint = near === undefined ? `There are: ${known.join(", ")}.` : `Did you mean ${near}()?`;
    throw new ToolFailure(`JMESPath has no function ${name}(). ${hint}`);
  }
}

/** The library's interpreter, charged for each step before it is taken, and blind to what objects inherit. */
function boundedInterpreter(
  { TreeInterpreter }: JmesPath,
  meter: WorkMeter,
  conditions: ReadonlySet<unknown>,
): Interpreter {
  const Base = TreeInterpreter.constructor as new () => Interpreter;
  class BoundedInterpreter extends Base {
    constructor() {
      super();
      replaceFunctions(this, meter);
      const call = this.runtime.callFunction.bind(this.runtime);
      this.runtime.callFunction = (name, args) => {
        meter.charge(costOfCall(name, args));
        if (name === "to_string") meter.charge(sizeOf(args[0], workBudget));
        return call(name, args);
      };
    }

    override withScope(scope: JSONObject): Interpreter {
      meter.charge(scopeCost);
      const inner = new BoundedInterpreter();
      // The library's own gives the functions the outer scope.
      for (const key of ["_rootValue", "_scope"]) {
        Reflect.set(inner, key, Reflect.get(super.withScope(scope), key));
      }
      return inner;
    }

    override visit(node: QueryNode, value: JSONValue): JSONValue {
      meter.charge(1);
      const found = this.#visit(node, value);
      if (conditions.has(node) && typeof found === "object" && found !== null) {
        // Counting the keys of a wide object is slow, and the library counts them again.
        meter.charge(40 * Object.keys(found).length);
      }
      return found;
    }

    #visit(node: QueryNode, value: JSONValue): JSONValue {
      switch (node.type) {
        case "Field":
          return isObject(value) && Object.hasOwn(value, node.name)
            ? (value[node.name] ?? null)
            : null;
        case "Slice":
          if (typeof value === "string" || Array.isArray(value)) meter.charge(value.length);
          break;
        case "Flatten":
          return this.#flatten(this.visit(node.child, value));
        case "MultiSelectHash":
          // Not by assignment, which a key "__proto__" would turn into something else.
          return Object.fromEntries(
            node.children.map(({ name, value: inner }) => [name, this.visit(inner, value)]),
          );
        case "Comparator":
          if (node.name === "EQ" || node.name === "NE") {
            const isSame = sameJson(
              this.visit(node.left, value),
              this.visit(node.right, value),
              meter,
            );
            return isSame === (node.name === "EQ");
          }
          break;
        default:
      }
      return super.visit(node, value) as JSONValue;
    }

    #flatten(found: JSONValue): JSONValue {
      if (!Array.isArray(found)) return null;
      for (const item of found) meter.charge(Array.isArray(item) ? item.length : 1);
      return found.flat();
    }
  }
  return new BoundedInterpreter();
}

function isObject(value: JSONValue): value is JSONObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What is used of the library, which is loaded with the first query. */
type JmesPath = typeof import("@jmespath-community/jmespath");

type QueryNode = ReturnType<typeof compile>;

/** @throws ToolFailure that says where the query goes wrong */
function parseQuery(library: JmesPath, query: string): QueryNode {
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

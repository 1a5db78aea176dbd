import type { JSONObject, JSONValue, TreeInterpreter } from "@jmespath-community/jmespath";
import { errorMessage, StratagraphError } from "../../../errors.ts";
import { nearestName } from "../../../nearest-name.ts";
import { ToolFailure } from "../../tool-failure.ts";
import { type JmesPath, parseQuery, type QueryNode } from "./parse-query.ts";
import { costOfCall, replaceFunctions } from "./query-functions.ts";
import { sameJson, sizeOf, WorkMeter } from "./work-meter.ts";

type Interpreter = typeof TreeInterpreter;

/** Units of work that one query may take: a fraction of a second. */
const workBudget = 5_000_000;

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

import { nearestName } from "../nearest-name.ts";
import { checkCall, type CheckContext, type Scope } from "./check-call.ts";
import { type ExpressionProblem, listNames } from "./problem.ts";
import { literalString, getLiteralPath } from "./references.ts";
import { type Expr, type Syntax, treeProblem } from "./syntax.ts";
import {
  anyType,
  boolType,
  doubleType,
  getFamily,
  intType,
  mayBe,
  describeType,
  stringType,
  commonType,
  type ValueType,
} from "./types.ts";

/** CEL's type names, which are valid operands as in `type(x) == string`. */
const typeNames = new Set("int uint double bool string bytes list map null_type type".split(" "));

/**
 * Checks an expression's names, fields and types against the variables in scope. Returns the problems and the type of
 * the result.
 */
export function checkExpression(
  { root, offsetOf }: Syntax,
  scope: Scope,
): { readonly type: ValueType; readonly problems: readonly ExpressionProblem[] } {
  const problems: ExpressionProblem[] = [];
  const report: CheckContext["report"] = (expr, message, suggestion) => {
    const offset = offsetOf(expr.id);
    if (problems.some((problem) => problem.offset === offset && problem.message === message))
      return;
    problems.push({ message, offset, ...(suggestion !== undefined && { suggestion }) });
  };
  const tooLarge = treeProblem(root);
  if (tooLarge !== undefined) report(tooLarge.expr, tooLarge.message);
  const type = tooLarge === undefined ? new Checker(scope, report).typeOf(root) : anyType;
  return { type, problems };
}

class Checker implements CheckContext {
  #local = new Map<string, ValueType>();

  constructor(
    private readonly scope: Scope,
    readonly report: CheckContext["report"],
  ) {}

  readonly typeOf = (expr: Expr | undefined): ValueType =>
    expr === undefined ? anyType : this.#typeOf(expr);

  #typeOf(expr: Expr): ValueType {
    const { case: kind, value } = expr.exprKind;
    switch (kind) {
      case "constExpr":
        return this.#literal(expr, value.constantKind);
      case "identExpr":
        return this.#variable(expr, value.name);
      case "selectExpr": {
        const operand = this.typeOf(value.operand);
        const type = checkField(this, expr, { operand, owner: value.operand, name: value.field });
        return value.testOnly ? boolType : type;
      }
      case "callExpr":
        if (value.function === "_[_]") return checkIndex(this, expr, value.args);
        return checkCall(this, expr, value);
      case "listExpr": {
        const types = value.elements.map(this.typeOf);
        return { kind: "list", of: types.length === 0 ? anyType : types.reduce(commonType) };
      }
      case "structExpr":
        return this.#map(expr, value);
      case "comprehensionExpr":
        return this.#comprehension(expr, value);
      default:
        return anyType;
    }
  }

  #literal(expr: Expr, { case: kind, value }: ConstantKind): ValueType {
    switch (kind) {
      case "boolValue":
        return boolType;
      case "stringValue":
        return stringType;
      case "nullValue":
        return { kind: "null" };
      case "doubleValue":
        if (!Number.isFinite(value)) this.report(expr, "the number is too large");
        return doubleType;
      case "int64Value":
        if (BigInt.asIntN(64, value) !== value) this.report(expr, "the number is too large");
        return intType;
      case "uint64Value":
        if (BigInt.asUintN(64, value) !== value) this.report(expr, "the number is too large");
        return intType;
      default:
        return anyType;
    }
  }

  #variable(expr: Expr, name: string): ValueType {
    const local = this.#local.get(name);
    if (local !== undefined) return local;
    if (Object.hasOwn(this.scope, name)) return this.scope[name] ?? anyType;
    if (typeNames.has(name)) return anyType;
    const known = [...this.#local.keys()].filter((key) => !key.startsWith("@"));
    const names = [...known, ...Object.keys(this.scope)];
    this.report(
      expr,
      `unknown variable "${name}"${names.length === 0 ? "" : `, there are ${listNames(names)}`}`,
      nearestName(name, names),
    );
    return anyType;
  }

  #map(expr: Expr, { messageName, entries }: Of<"structExpr">): ValueType {
    if (messageName !== "") {
      this.report(expr, `"${messageName}{…}" makes a message, which is not supported`);
      return anyType;
    }
    const fields: [string, ValueType][] = [];
    let open = false;
    for (const { keyKind, value } of entries) {
      const key = keyKind.case === "mapKey" ? keyKind.value : undefined;
      const type = this.typeOf(key);
      if (key !== undefined && !mayBe(type, "string", "number", "bool"))
        this.report(
          key,
          `a key is a string, a whole number or a boolean, not ${describeType(type)}`,
        );
      const name =
        key?.exprKind.case === "constExpr" ? key.exprKind.value.constantKind.value : undefined;
      if (typeof name !== "string") open = true;
      fields.push([typeof name === "string" ? name : "", this.typeOf(value)]);
    }
    if (open) return anyType;
    return { kind: "object", fields: Object.fromEntries(fields), open: false };
  }

  /** Checks `all`, `exists`, `exists_one`, `map` and `filter`, which the parser expands into loops. */
  #comprehension(expr: Expr, loop: Of<"comprehensionExpr">): ValueType {
    const range = this.typeOf(loop.iterRange);
    if (!mayBe(range, "list", "map"))
      this.report(
        expr,
        `all, exists, map and filter go through a list or a map, not ${describeType(range)}`,
      );
    const outer = this.#local;
    this.#local = new Map(outer).set(loop.accuVar, anyType).set(loop.iterVar, itemType(range));
    const step = this.typeOf(loop.loopStep);
    this.#local = outer;
    if (loop.accuInit?.exprKind.case === "listExpr")
      return step.kind === "list" ? step : { kind: "list", of: anyType };
    return boolType;
  }
}

type Kinds = Expr["exprKind"];
type Of<K extends Kinds["case"]> = Extract<Kinds, { case: K }>["value"];
type ConstantKind = Of<"constExpr">["constantKind"];

function itemType(range: ValueType): ValueType {
  if (range.kind === "list") return range.of;
  return range.kind === "map" || range.kind === "object" ? stringType : anyType;
}

interface FieldAccess {
  readonly operand: ValueType;
  /** The expression that the field is read from. */
  readonly owner: Expr | undefined;
  readonly name: string;
}

/** Returns the type of `operand.name`. Reports unknown fields of closed objects and fields of values without fields. */
function checkField(
  checking: CheckContext,
  expr: Expr,
  { operand, owner, name }: FieldAccess,
): ValueType {
  switch (operand.kind) {
    case "any":
      return anyType;
    case "map":
      return operand.of;
    case "object": {
      if (Object.hasOwn(operand.fields, name)) return operand.fields[name] ?? anyType;
      if (operand.open) return anyType;
      const known = Object.keys(operand.fields);
      const there = known.length === 0 ? "which has none" : `which has ${listNames(known)}`;
      const path = pathText(owner);
      const of = path === undefined ? "" : ` of ${path}`;
      checking.report(expr, `unknown field "${name}"${of}, ${there}`, nearestName(name, known));
      return anyType;
    }
    default:
      checking.report(
        expr,
        `${pathText(owner) ?? "this"} is ${describeType(operand)} and has no field "${name}"`,
      );
      return anyType;
  }
}

/** Returns the type of `target[index]`. */
function checkIndex(checking: CheckContext, expr: Expr, args: readonly Expr[]): ValueType {
  const [target, index] = args;
  const [operand, key] = [checking.typeOf(target), checking.typeOf(index)];
  const name = index && literalString(index);
  const family = getFamily(operand);
  if (family === "any") return anyType;
  if (operand.kind === "list") {
    if (!mayBe(key, "number"))
      checking.report(expr, `a list is read by number, not by ${describeType(key)}`);
    return operand.of;
  }
  if (family !== "map") {
    checking.report(expr, `${describeType(operand)} cannot be read with [ ]`);
    return anyType;
  }
  if (!mayBe(key, "string", "number", "bool"))
    checking.report(expr, `a map is read by a string, not by ${describeType(key)}`);
  if (name === undefined) return operand.kind === "map" ? operand.of : anyType;
  return checkField(checking, expr, { operand, owner: target, name });
}

function pathText(expr: Expr | undefined): string | undefined {
  return expr && getLiteralPath(expr)?.join(".");
}

/**
 * Replaces the problems caused by names such as `nodes.my-node`, which CEL parses as a subtraction, with one that
 * explains how to write the name.
 */
export function explainHyphenatedNames(
  source: string,
  problems: readonly ExpressionProblem[],
): ExpressionProblem[] {
  const names = [...source.matchAll(/([A-Za-z_][\w.]*)\.([A-Za-z_]\w*(?:-[A-Za-z_]\w*)+)/g)];
  const explained = new Map<number, ExpressionProblem>();
  for (const problem of problems) {
    const name = names.find(
      ({ index, 0: text }) => index <= problem.offset && problem.offset < index + text.length,
    );
    if (name === undefined || !problem.message.startsWith("unknown ")) {
      explained.set(explained.size - source.length - 1, problem);
      continue;
    }
    const [text, owner, field] = name;
    explained.set(name.index, {
      message: `"-" is a minus in ${text}: write ${owner}["${field}"]`,
      offset: name.index,
    });
  }
  return [...explained.values()];
}

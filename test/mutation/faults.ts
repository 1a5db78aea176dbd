import ts from "typescript";

export type FaultKind =
  | "condition"
  | "comparison"
  | "logic"
  | "nullish"
  | "optional chain"
  | "arithmetic"
  | "number"
  | "boolean"
  | "string"
  | "min max"
  | "call statement"
  | "early exit"
  | "await"
  | "list call"
  | "spread";

/** One change of a source text: the characters from `start` to `end` become `replacement`. */
export interface Fault {
  readonly kind: FaultKind;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** Counted from 1. */
  readonly line: number;
}

type Change = readonly [kind: FaultKind, start: number, end: number, replacement: string];

/** The faults that can be made in a TypeScript source, in the order of the text. Types, imports and texts for people have none. */
export function listFaults(source: string): Fault[] {
  const file = ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest, true);
  const faults: Fault[] = [];
  const visit = (node: ts.Node): void => {
    if (isLeftAlone(node)) return;
    for (const [kind, start, end, replacement] of changesOf(node)) {
      const line = file.getLineAndCharacterOfPosition(start).line + 1;
      faults.push({ kind, start, end, replacement, line });
    }
    node.forEachChild(visit);
  };
  visit(file);
  return faults.toSorted((a, b) => a.start - b.start || a.end - b.end);
}

export function applyFault(source: string, { start, end, replacement }: Fault): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

/** Types, imports, errors with their messages, and what is written to a console. */
function isLeftAlone(node: ts.Node): boolean {
  return (
    ts.isTypeNode(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isEnumDeclaration(node) ||
    ts.isImportDeclaration(node) ||
    ts.isExportDeclaration(node) ||
    (ts.isNewExpression(node) && /(?:Error|Failure)$/.test(node.expression.getText())) ||
    (ts.isCallExpression(node) && isTextForPeople(node.expression)) ||
    (ts.isPropertyAssignment(node) && proseKeys.has(node.name.getText()))
  );
}

const proseKeys = new Set(["description", "display_name", "message", "reason", "title", "hint"]);

function isTextForPeople(callee: ts.Expression): boolean {
  return (
    callee.kind === ts.SyntaxKind.SuperKeyword ||
    callee.kind === ts.SyntaxKind.ImportKeyword ||
    callee.getText().startsWith("console.") ||
    (ts.isPropertyAccessExpression(callee) && callee.name.text === "describe")
  );
}

function* changesOf(node: ts.Node): Generator<Change> {
  const start = node.getStart();
  const { end } = node;
  yield* conditionChanges(node);
  if (ts.isBinaryExpression(node)) yield* operatorChanges(node);
  else if (ts.isNumericLiteral(node)) yield* numberChanges(node);
  else if (ts.isStringLiteral(node)) yield* stringChanges(node);
  else if (node.kind === ts.SyntaxKind.TrueKeyword) yield ["boolean", start, end, "false"];
  else if (node.kind === ts.SyntaxKind.FalseKeyword) yield ["boolean", start, end, "true"];
  else if (ts.isAwaitExpression(node)) yield ["await", start, node.expression.getStart(), ""];
  else if (ts.isCallExpression(node)) yield* callChanges(node);
  else if (ts.isSpreadElement(node)) yield ["spread", start, end, "...[]"];
  else if (ts.isSpreadAssignment(node)) yield ["spread", start, end, "...{}"];
  else if (ts.isExpressionStatement(node) && isCall(node.expression)) {
    yield ["call statement", start, end, ";"];
  } else if (isEarlyExit(node)) yield ["early exit", start, end, ";"];
  if (isChainLink(node) && node.questionDotToken !== undefined) {
    const { questionDotToken: token } = node;
    const dot = ts.isPropertyAccessExpression(node) ? "." : "";
    yield ["optional chain", token.getStart(), token.end, dot];
  }
}

function* conditionChanges(node: ts.Node): Generator<Change> {
  const isLoop = ts.isWhileStatement(node) || ts.isDoStatement(node) || ts.isForStatement(node);
  let condition: ts.Expression | undefined;
  if (ts.isIfStatement(node) || ts.isWhileStatement(node) || ts.isDoStatement(node)) {
    condition = node.expression;
  } else if (ts.isConditionalExpression(node) || ts.isForStatement(node)) {
    condition = node.condition;
  }
  if (condition === undefined || isBoolean(condition)) return;
  const [start, end] = [condition.getStart(), condition.end];
  yield ["condition", start, end, "false"];
  // A loop without an end says nothing about the tests.
  if (isLoop) return;
  yield ["condition", start, end, "true"];
  yield ["condition", start, end, `!(${condition.getText()})`];
}

function isBoolean({ kind }: ts.Node): boolean {
  return kind === ts.SyntaxKind.TrueKeyword || kind === ts.SyntaxKind.FalseKeyword;
}

const operators: Partial<Record<ts.SyntaxKind, readonly [FaultKind, string]>> = {
  [ts.SyntaxKind.LessThanToken]: ["comparison", "<="],
  [ts.SyntaxKind.LessThanEqualsToken]: ["comparison", "<"],
  [ts.SyntaxKind.GreaterThanToken]: ["comparison", ">="],
  [ts.SyntaxKind.GreaterThanEqualsToken]: ["comparison", ">"],
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: ["comparison", "!=="],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: ["comparison", "==="],
  [ts.SyntaxKind.EqualsEqualsToken]: ["comparison", "!="],
  [ts.SyntaxKind.ExclamationEqualsToken]: ["comparison", "=="],
  [ts.SyntaxKind.AmpersandAmpersandToken]: ["logic", "||"],
  [ts.SyntaxKind.BarBarToken]: ["logic", "&&"],
  [ts.SyntaxKind.PlusToken]: ["arithmetic", "-"],
  [ts.SyntaxKind.MinusToken]: ["arithmetic", "+"],
  [ts.SyntaxKind.PlusEqualsToken]: ["arithmetic", "-="],
  [ts.SyntaxKind.MinusEqualsToken]: ["arithmetic", "+="],
};

function* operatorChanges(node: ts.BinaryExpression): Generator<Change> {
  const { left, operatorToken: token, right } = node;
  if (token.kind === ts.SyntaxKind.QuestionQuestionToken) {
    yield ["nullish", left.end, node.end, ""];
    return;
  }
  const [kind, replacement] = operators[token.kind] ?? [];
  if (kind === undefined || replacement === undefined) return;
  if (kind === "arithmetic" && [left, right].some(isText)) return;
  yield [kind, token.getStart(), token.end, replacement];
}

function isText(node: ts.Expression): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

function* numberChanges(node: ts.NumericLiteral): Generator<Change> {
  if (isNameOfMember(node)) return;
  const value = Number(node.text);
  yield ["number", node.getStart(), node.end, String(value + 1)];
  // -1 would make `--1` of a negative zero.
  if (value >= 1) yield ["number", node.getStart(), node.end, String(value - 1)];
}

function* stringChanges(node: ts.StringLiteral): Generator<Change> {
  if (node.text === "" || isNameOfMember(node)) return;
  yield ["string", node.getStart(), node.end, '""'];
}

function isNameOfMember(node: ts.Node): boolean {
  return "name" in node.parent && node.parent.name === node;
}

const listCalls = new Set(["filter", "slice", "toSorted", "toReversed", "trim"]);

function* callChanges(node: ts.CallExpression): Generator<Change> {
  const { expression: callee } = node;
  if (!ts.isPropertyAccessExpression(callee)) return;
  const name = callee.name.text;
  if (callee.getText() === "Math.min" || callee.getText() === "Math.max") {
    const other = name === "min" ? "max" : "min";
    yield ["min max", callee.name.getStart(), callee.name.end, other];
  }
  if (listCalls.has(name)) yield ["list call", callee.expression.end, node.end, ""];
}

function isCall(node: ts.Expression): boolean {
  if (ts.isAwaitExpression(node) || ts.isVoidExpression(node)) return isCall(node.expression);
  return ts.isCallExpression(node) && !isTextForPeople(node.expression);
}

/** A statement that leaves a function or a round of a loop under a condition. */
function isEarlyExit(node: ts.Node): boolean {
  const leaves =
    ts.isReturnStatement(node) || ts.isContinueStatement(node) || ts.isThrowStatement(node);
  if (!leaves) return false;
  const place = ts.isBlock(node.parent) ? node.parent.parent : node.parent;
  return ts.isIfStatement(place);
}

type ChainLink = ts.PropertyAccessExpression | ts.ElementAccessExpression | ts.CallExpression;

function isChainLink(node: ts.Node): node is ChainLink {
  return (
    ts.isPropertyAccessExpression(node) ||
    ts.isElementAccessExpression(node) ||
    ts.isCallExpression(node)
  );
}

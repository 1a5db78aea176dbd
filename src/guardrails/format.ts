import type { Configuration, MicromarkToken, Rule } from "markdownlint";
import type { DetectedLanguage } from "../definition/check/rails.ts";
import { jsonSyntaxProblem } from "../definition/load/read-document.ts";
import { passFinding, type Rail, type RailFinding, type RailSubject } from "../definition/rail.ts";
import type { FormatConfig } from "../definition/schema/guardrails.ts";
import { checkFromJsonSchema, type SchemaCheck } from "../definition/schema/json-schema.ts";
import { errorMessage, StratagraphError } from "../errors.ts";
import { compileExpression, type Expression } from "../expression/expression.ts";
import { patternProblem } from "../expression/functions.ts";
import type { Awaitable } from "../state/tiers.ts";
import { isRecord } from "../values/json.ts";

/**
 * Checks an answer's form. Each problem is a reason that says what to mend; the score is 1 where there is any.
 * @throws FormatRailError when the pattern or the schema cannot be used
 */
export function formatRail(
  config: FormatConfig,
  { onError }: { readonly onError: Rail["onError"] },
): Rail {
  const checks = checksOf(config);
  return {
    name: "format",
    on: new Set(["output"]),
    onError,
    // The form is that of what the caller gets.
    checksUnredacted: true,
    async check(answer): Promise<RailFinding> {
      const reasons = (await Promise.all(checks.map(async (check) => check(answer)))).flat();
      if (reasons.length === 0) return passFinding;
      return { verdict: config.action, score: 1, spans: [], reasons };
    },
  };
}

function checksOf(config: FormatConfig): readonly FormatCheck[] {
  const { is, schema, pattern, min_length, max_length, language } = config;
  const isJson = is === "json" || schema !== undefined;
  const isBounded = min_length !== undefined || max_length !== undefined;
  return [
    ...(isJson ? [checkJson(schema)] : []),
    ...(is === "markdown" ? [checkMarkdown] : []),
    ...(pattern === undefined ? [] : [checkPattern(pattern)]),
    ...(isBounded ? [checkLength(min_length ?? 0, max_length ?? Infinity)] : []),
    ...(language === undefined ? [] : [checkLanguage(language)]),
  ];
}

/** Code is in no language, and its names are mostly English. */
const codePattern =
  /^ {0,3}(`{3,}|~{3,})[^\n]*\n(?:(?! {0,3}\1)[^\n]*\n)*(?: {0,3}\1[`~]*[ \t]*(?:\n|$))?|`[^`\n]+`/gm;

/** The config of a format rail asks for something that cannot be checked. */
export class FormatRailError extends StratagraphError {
  readonly code = "format_rail";

  constructor(
    /** Of the config: `schema` or `pattern`. */
    readonly option: string,
    readonly problem: string,
    options?: { cause?: unknown },
  ) {
    super(`The option "${option}" of the format rail cannot be used: ${problem}.`, options);
  }
}

/** An answer's texts, and the value that they are of. */
type Answer = Pick<RailSubject, "text" | "value">;

/** Returns the problems of an answer, one sentence each; empty if it is valid. */
type FormatCheck = (answer: Answer) => Awaitable<readonly string[]>;

/** So that the reasons stay shorter than the text they are about. */
const mostIssues = 10;

/**
 * The whole text must be JSON that fits the schema, if there is one. An answer of the agent's own output schema is JSON
 * already; its value must fit the schema.
 * @throws FormatRailError
 */
function checkJson(schema: Readonly<Record<string, unknown>> | undefined): FormatCheck {
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
 * Paths are shown if the schema names all of their keys: other keys come from the text. So do unexpected
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

/** Characters are code points: an emoji of one code point counts once. */
function checkLength(least: number, most: number): FormatCheck {
  return ({ text }) => {
    const length = countCharacters(text);
    if (length < least) return [`The text has ${length} characters; write at least ${least}.`];
    if (length > most) return [`The text has ${length} characters; write at most ${most}.`];
    return [];
  };
}

function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/**
 * The pattern is in RE2's syntax and matched as by CEL's `matches`, in time linear in the text, so that no pattern can be
 * catastrophic. RE2 has no lookaround and no backreferences.
 * @throws FormatRailError
 */
function checkPattern(pattern: string): FormatCheck {
  const problem = patternProblem(pattern);
  if (problem !== undefined)
    throw new FormatRailError(
      "pattern",
      `${problem}; it must be in RE2's syntax, without lookaround and backreferences`,
    );
  const expression = matchExpression();
  const reason = `The text does not match the regular expression ${pattern}; write it so that it does.`;
  return ({ text }) => (expression.evaluate({ text, pattern }) === true ? [] : [reason]);
}

function matchExpression(): Expression {
  const compiled = compileExpression(
    "text.matches(pattern)",
    { text: { kind: "string" }, pattern: { kind: "string" } },
    "bool",
  );
  if (compiled.ok) return compiled.value;
  const [problem] = compiled.problems;
  throw new FormatRailError("pattern", problem?.message ?? "it cannot be compiled");
}

/** Fewer letters are undecidable: "OK" is a word of many languages. */
const leastLetters = 24;

/** The detector reads about this much; UTF-16 units. */
const longestRead = 5000;

/** The detector, loaded with the first text. */
async function detector() {
  const { eld } = await import("eld/small");
  return eld;
}

/**
 * The text must be in the language, as far as it can be detected: short texts pass, and those that the detector is unsure
 * about.
 */
function checkLanguage(language: DetectedLanguage): FormatCheck {
  return async ({ text }) => {
    const prose = text.slice(0, longestRead).replaceAll(codePattern, " ");
    if (prose.replaceAll(/[^\p{L}]/gu, "").length < leastLetters) return [];
    const eld = await detector();
    const found = eld.detect(prose);
    if (found.language === language || found.language === "" || !found.isReliable()) return [];
    const name = new Intl.DisplayNames("en", { type: "language" }).of(language) ?? language;
    return [`The text is not in ${name} (${language}); write it in ${name}.`];
  };
}

const mostProblems = 10;

/** markdownlint has no rule about it: CommonMark closes an open fence at the end, and shows all of the rest as code. */
const unclosedFence: Rule = {
  names: ["unclosed-fence"],
  description: "A code block is not closed",
  tags: ["code"],
  parser: "micromark",
  function: ({ parsers }, onError) => {
    const left: MicromarkToken[] = [...parsers.micromark.tokens];
    for (let token = left.pop(); token !== undefined; token = left.pop()) {
      const fences = token.children.filter(({ type }) => type === "codeFencedFence");
      if (token.type === "codeFenced" && fences.length < 2)
        onError({ lineNumber: token.startLine });
      left.push(...token.children);
    }
  },
};

/**
 * Rules about texts that are not shown as they were meant, and what to do about each. Rules of style are off, and so is
 * MD037 (spaces inside emphasis): it takes `a * b * c` for one.
 */
const advice: Readonly<Record<string, string>> = {
  "unclosed-fence": "the code block is not closed; end it with the same fence",
  MD011: "the link is the wrong way round; write [text](address)",
  MD018: "the heading has no space after its #; write a space there",
  MD020: "the heading has no space inside its closing #; write a space there",
  MD042: "the link has no address; give it one or write plain text",
  MD052: "the link or image refers to a label that is not defined; define it or write the address",
  MD056: "the row of the table has not as many cells as its heading; give it as many",
};

const config: Configuration = {
  default: false,
  ...Object.fromEntries(Object.keys(advice).map((rule) => [rule, true])),
};

/** The text must be Markdown that renders as intended, within the parser's bounds. */
const checkMarkdown: FormatCheck = async ({ text }) => {
  const beyond = markdownBoundsProblem(text);
  if (beyond !== null) return [beyond];
  const { lint } = await import("markdownlint/sync");
  const { text: found = [] } = lint({
    strings: { text },
    config,
    customRules: [unclosedFence],
    // The text may not turn rules off.
    noInlineConfig: true,
    frontMatter: null,
  });
  const problems = found.map(({ lineNumber, ruleNames }) => {
    const [rule = ""] = ruleNames;
    return `Line ${lineNumber}: ${advice[rule] ?? "the Markdown is broken"}.`;
  });
  return [...new Set(problems)].slice(0, mostProblems);
};

/** UTF-16 units of a text. The parser takes one to three seconds for them. */
const mostCharacters = 100_000;
/**
 * Signs of Markdown in one block, with its lines, and the quotes and lists that each of them stands in. The parser compares them
 * with each other: 2,000 take about a tenth of a second.
 */
const mostSigns = 2000;
/** Quotes and lists inside one another on one line. */
const mostNested = 100;

const sign = /[*_~[\]{<>:]/g;
/** Cells of tables, of which the parser takes twice as many in the same time. */
const cell = /\|/g;
const container = /[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))/y;
const blank = /^[>\s]*$/;
/** Begins a block, whatever came before it. */
const opening = /^ {0,3}(?:(?:[-*+]|\d{1,9}[.)]) +\S|#{1,6} )/;
const fence = /^(`{3,}(?=[^`]*$)|~{3,})/;
/** Opens a block of HTML, mathematics or a directive, in which a fence opens no code. */
const otherBlock = /^ {0,3}(?:<|\$\$|:::)/;

/**
 * What makes a text too much for the parser of Markdown, whose time grows with the square of a block's signs and whose
 * stack with their depth; null where nothing does. Linear in the text.
 */
export function markdownBoundsProblem(text: string): string | null {
  if (text.length > mostCharacters) {
    return `The text is too long to be checked as Markdown; write at most ${mostCharacters.toLocaleString("en")} characters.`;
  }
  let signs = 0;
  /** Quotes and lists around the block. A line goes on in them without their marks. */
  let depth = 0;
  let code: string | null = null;
  let hasOtherBlock = false;
  for (const [index, line] of text.split(/\r\n|[\r\n]/).entries()) {
    const [mark] = fence.exec(line) ?? [];
    if (code !== null) {
      if (mark?.startsWith(code) && line.trimEnd() === mark) code = null;
      continue;
    }
    if (blank.test(line) || opening.test(line)) [signs, depth] = [0, 0];
    const nested = nestingOf(line);
    depth = Math.max(depth, nested);
    signs += 1 + depth + (line.match(sign)?.length ?? 0) + (line.match(cell)?.length ?? 0) / 2;
    if (signs > mostSigns) {
      return `Line ${index + 1}: the block has more than ${mostSigns.toLocaleString("en")} signs of Markdown; write shorter paragraphs and tables.`;
    }
    if (nested > mostNested) {
      return `Line ${index + 1}: quotes and lists are nested more than ${mostNested} deep; nest them less.`;
    }
    hasOtherBlock ||= otherBlock.test(line);
    if (mark !== undefined && !hasOtherBlock) {
      code = mark;
      signs = 0;
    }
  }
  return null;
}

/** Quotes and lists that a line begins, one more than may be at most. */
function nestingOf(line: string): number {
  let depth = 0;
  container.lastIndex = 0;
  while (depth <= mostNested && container.test(line)) depth += 1;
  return depth;
}

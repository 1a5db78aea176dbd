import type { Document, Lexer, LineCounter, ParsedNode, visit as Visit, YAMLError } from "yaml";
import { errorMessage } from "../../errors.ts";
import type { DefinitionPath, DefinitionProblem } from "../check/problems.ts";

/** A YAML or JSON document, or the problems that prevent reading it. */
export type ReadDocument =
  | {
      readonly ok: true;
      /** The document as plain JSON. */
      readonly document: unknown;
      /** Adds file and position to problems and sorts them by position. */
      readonly locateProblems: (
        problems: readonly DefinitionProblem[],
      ) => readonly DefinitionProblem[];
    }
  | {
      readonly ok: false;
      /** Syntax errors, whose messages begin with "YAML:" or "JSON syntax:". */
      readonly problems: readonly DefinitionProblem[];
    };

interface DocumentSource {
  readonly file: string;
  readonly what: string;
  readonly maxTokens?: number;
}

/**
 * Reads a YAML or JSON document.
 *
 * @param file file name for problems; a name that ends in `.json` requires JSON
 * @param what the kind of document for messages, such as `definition`
 * @param maxTokens limit of YAML tokens, such as a scalar, an indicator or a line break: parsing takes some 50 µs for
 *   each. Default none.
 */
export async function readDocument(
  text: string,
  { file, what, maxTokens }: DocumentSource,
): Promise<ReadDocument> {
  const syntax = file.toLowerCase().endsWith(".json") ? jsonSyntaxProblem(text) : undefined;
  if (syntax !== undefined) return { ok: false, problems: [{ ...syntax, file }] };
  const yaml = await import("yaml");
  if (maxTokens !== undefined && hasMoreTokens(new yaml.Lexer(), { text, limit: maxTokens })) {
    const message = `YAML: expected at most ${maxTokens.toLocaleString("en")} tokens`;
    return { ok: false, problems: [{ path: [], message, file, line: 1, column: 1 }] };
  }
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
  });
  const positions = new PositionFinder(document, lines);
  const refused = (message: string, offset: number): DefinitionProblem => {
    return { path: [], message, file, ...positions.at(offset) };
  };
  const refuse = (faults: readonly YamlFault[]): ReadDocument => {
    return {
      ok: false,
      problems: faults.map((fault) => refused(`YAML: ${fault.what}`, fault.offset)),
    };
  };
  const faults = yamlFaults(document, yaml.visit, what);
  if (faults.length > 0) return refuse(faults);
  if (document.contents === null) {
    const message = `expected ${/^[aeiou]/.test(what) ? "an" : "a"} ${what}, but the file is empty`;
    return { ok: false, problems: [refused(message, 0)] };
  }
  const plain = toPlain(document);
  if ("fault" in plain) return refuse([plain.fault]);
  return {
    ok: true,
    document: plain.value,
    locateProblems: (problems) =>
      problems
        .map((problem) => ({ ...problem, file, ...positions.of(problem) }))
        .toSorted((a, b) => a.line - b.line || a.column - b.column),
  };
}

/** Splits the text no further than to the limit. */
function hasMoreTokens(
  lexer: Lexer,
  { text, limit }: { readonly text: string; readonly limit: number },
): boolean {
  const tokens = lexer.lex(text);
  for (let count = 0; count <= limit; count += 1) if (tokens.next().done === true) return false;
  return true;
}

/** A fault that prevents reading a YAML text, and its offset. */
interface YamlFault {
  readonly what: string;
  readonly offset: number;
}

/** Maximum number of aliases, against alias expansion attacks. */
const maxAliases = 100;

/**
 * Returns the faults that prevent reading a document; {@link toPlain} may still fail on aliases or nesting.
 *
 * @param what the kind of document for messages, such as `definition`
 */
function yamlFaults(
  document: Document.Parsed,
  visit: typeof Visit,
  what: string,
): readonly YamlFault[] {
  const told = [...document.errors, ...document.warnings].map((error) => describe(error, what));
  if (told.length > 0) return [...new Map(told.map((fault) => [fault.what, fault])).values()];
  try {
    return [...duplicateKeys(document, visit), ...aliasFaults(document, visit)];
  } catch (thrown) {
    return [refusal(thrown, 0)];
  }
}

/** Converts a document to a plain value, or returns the fault that prevents it. */
function toPlain(document: Document.Parsed): { value: unknown } | { fault: YamlFault } {
  try {
    return { value: document.toJS({ maxAliasCount: maxAliases }) };
  } catch (thrown) {
    return { fault: refusal(thrown, document.contents?.range[0] ?? 0) };
  }
}

function describe(error: YAMLError, what: string): YamlFault {
  const [offset] = error.pos;
  switch (error.code) {
    case "MULTIPLE_DOCS":
      return { what: `a second document begins here; a file holds one ${what}`, offset };
    case "TAB_AS_INDENT":
      return { what: "a tab indents this line; use spaces", offset };
    case "RESOURCE_EXHAUSTION":
      return { what: tooDeep, offset };
    default:
      return { what: error.message, offset };
  }
}

const tooDeep = "nested too deeply to be read";

function refusal(thrown: unknown, offset: number): YamlFault {
  if (thrown instanceof RangeError) return { what: tooDeep, offset };
  return { what: `its aliases stand for more than ${maxAliases} values`, offset };
}

/** Finds duplicate keys in linear time; the parser's own check is quadratic. */
function duplicateKeys(document: Document.Parsed, visit: typeof Visit): readonly YamlFault[] {
  const faults: YamlFault[] = [];
  visit(document, {
    Map(_key, map) {
      const seen = new Set<string>();
      for (const { key } of map.items as readonly {
        key: { value?: unknown; range?: [number, number, number] } | null;
      }[]) {
        const name = String(key?.value);
        if (seen.has(name)) {
          faults.push({
            what: `the key ${JSON.stringify(name)} is written twice`,
            offset: key?.range?.[0] ?? 0,
          });
        }
        seen.add(name);
      }
    },
  });
  return faults;
}

function aliasFaults(document: Document.Parsed, visit: typeof Visit): readonly YamlFault[] {
  const anchors = new Set<string>();
  const faults: YamlFault[] = [];
  let aliases = 0;
  visit(document, {
    Value(_key, node) {
      if (node.anchor !== undefined) anchors.add(node.anchor);
    },
    Alias(_key, { source, range }) {
      const offset = range?.[0] ?? 0;
      aliases += 1;
      if (!anchors.has(source)) {
        faults.push({ what: `no value before this alias has the anchor &${source}`, offset });
      } else if (aliases === maxAliases + 1) {
        faults.push({ what: `there are more than ${maxAliases} aliases`, offset });
      }
    },
  });
  return faults;
}

type Pairs = ReadonlyMap<string, number>;

/** Finds the 1-based line and column of problems in a YAML document. */
class PositionFinder {
  /** Key offsets by map, cached on first use. */
  private readonly keys = new WeakMap<object, Pairs>();

  constructor(
    private readonly document: Document.Parsed,
    private readonly lines: LineCounter,
  ) {}

  /**
   * Returns the position of an unknown key, or else of the value; if it is missing, of its nearest existing ancestor.
   */
  of({ path, message }: DefinitionProblem): { line: number; column: number } {
    const key = message === "unknown key" ? this.keyOffset(path) : undefined;
    return this.at(key ?? this.nearestOffset(path));
  }

  at(offset: number): { line: number; column: number } {
    const { line, col } = this.lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  private nearestOffset(path: DefinitionPath): number {
    for (let length = path.length; length > 0; length -= 1) {
      const part = path.slice(0, length);
      const node = this.document.getIn(part, true) as Partial<ParsedNode> | undefined;
      const offset = node?.range?.[0] ?? this.keyOffset(part);
      if (offset !== undefined) return offset;
    }
    return this.document.contents?.range?.[0] ?? 0;
  }

  private keyOffset(path: DefinitionPath): number | undefined {
    const parent =
      path.length === 1 ? this.document.contents : this.document.getIn(path.slice(0, -1), true);
    if (typeof parent !== "object" || parent === null) return undefined;
    const keys = this.keys.get(parent) ?? readKeys(parent);
    this.keys.set(parent, keys);
    return keys.get(String(path.at(-1)));
  }
}

function readKeys(map: {
  items?: readonly { key?: { value?: unknown; range?: [number, number, number] } | null }[];
}): Pairs {
  const keys = new Map<string, number>();
  for (const { key } of map.items ?? []) {
    if (key?.range) keys.set(String(key.value), key.range[0]);
  }
  return keys;
}

/** Returns the syntax error of a JSON text with its position, or undefined. */
export function jsonSyntaxProblem(text: string): DefinitionProblem | undefined {
  const json = text.replace(/^\uFEFF/, "");
  const failure = failureOf(json);
  if (failure === undefined) return undefined;
  const before = json.slice(0, failure.position ?? search(json));
  let line = 1;
  for (let at = before.indexOf("\n"); at >= 0; at = before.indexOf("\n", at + 1)) line += 1;
  return {
    path: [],
    message: `JSON syntax: ${failure.reason}`,
    line,
    column: before.length - before.lastIndexOf("\n"),
  };
}

interface Failure {
  readonly reason: string;
  /** 0-based; undefined if Node's message does not contain it. */
  readonly position: number | undefined;
}

function failureOf(json: string): Failure | undefined {
  try {
    JSON.parse(json);
    return undefined;
  } catch (thrown) {
    const message = errorMessage(thrown);
    const position = /at position (\d+)/.exec(message)?.[1];
    const reason = message
      .replace(/ (in JSON )?at position.*$/s, "")
      .replace(/, .*not valid JSON$/s, "");
    const atEnd = message.startsWith("Unexpected end");
    return {
      reason,
      position: position === undefined ? (atEnd ? json.length : undefined) : Number(position),
    };
  }
}

/**
 * Returns the offset of the first invalid character: binary search for the shortest prefix that fails before its end.
 */
function search(json: string): number {
  let [fine, wrong] = [0, json.length];
  while (wrong - fine > 1) {
    const middle = Math.floor((fine + wrong) / 2);
    const failure = failureOf(json.slice(0, middle));
    if (failure === undefined || failure.position === middle) fine = middle;
    else wrong = middle;
  }
  return fine;
}

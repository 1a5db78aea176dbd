import { fillArguments } from "./arguments.ts";
import {
  capitalsIn,
  descriptionOf,
  givenName,
  pathsIn,
  propertiesOf,
  quotedIn,
  stringKind,
  type StringKind,
} from "./facts.ts";
import type { OfflineTool, Source } from "./conversation.ts";
import { stemsOf, wordsOf } from "../words.ts";

export interface Choice {
  readonly tool: OfflineTool;
  readonly args: Record<string, unknown>;
  readonly score: number;
}

/** One word of a description is no reason to call a tool, one of its name is. */
export const minimumScore = 1.8;

const nameWeight = 3;
const descriptionWeight = 1;
const argumentWeight = 0.6;

/** The tool that fits a task best and whose required arguments the text holds; null when none fits well enough. */
export function chooseTool(
  tools: readonly OfflineTool[],
  source: Source,
  threshold = minimumScore,
): Choice | null {
  const rarity = rarityOf(tools);
  let best: Choice | null = null;
  for (const tool of tools) {
    const args = fillArguments(tool, source);
    if (args === null) continue;
    const score =
      wordScore(tool, source.text, rarity) +
      factScore(tool, args, source) +
      questionScore(tool, source.text);
    if (score >= threshold && (best === null || score > best.score)) best = { tool, args, score };
  }
  return best;
}

interface ToolWords {
  readonly name: ReadonlySet<string>;
  readonly description: ReadonlySet<string>;
  readonly parameters: ReadonlySet<string>;
}

const known = new WeakMap<OfflineTool, ToolWords>();

function toolWords(tool: OfflineTool): ToolWords {
  const made = known.get(tool) ?? {
    name: stemsOf(tool.name),
    description: stemsOf(tool.description),
    parameters: stemsOf(
      Object.entries(propertiesOf(tool.parameters))
        .map(([name, schema]) => `${name} ${descriptionOf(schema)}`)
        .join(" "),
    ),
  };
  known.set(tool, made);
  return made;
}

/** How telling a word is: 1 when one tool has it, less the more tools share it. */
function rarityOf(tools: readonly OfflineTool[]): (stem: string) => number {
  const counts = new Map<string, number>();
  for (const tool of tools) {
    const { name, description } = toolWords(tool);
    for (const one of new Set([...name, ...description])) {
      counts.set(one, (counts.get(one) ?? 0) + 1);
    }
  }
  const scale = Math.log(1 + tools.length);
  return (stem) => Math.log(1 + tools.length / (counts.get(stem) ?? 1)) / scale;
}

function wordScore(tool: OfflineTool, text: string, rarity: (stem: string) => number): number {
  const { name, description, parameters } = toolWords(tool);
  const plainName = wordsOf(tool.name).join(" ");
  const isNamed =
    plainName.includes(" ") && ` ${wordsOf(text).join(" ")} `.includes(` ${plainName} `);
  let score = isNamed ? 10 : 0;
  // Words inside paths and quotes are what a task is about, not what it does.
  const bare = [...pathsIn(text), ...quotedIn(text)].reduce(
    (left, fact) => left.replaceAll(fact, " "),
    text.replace(/\b(?:current|this|working) (?=folder|directory)/gi, ""),
  );
  for (const one of stemsOf(bare)) {
    if (name.has(one)) score += nameWeight * rarity(one);
    else if (description.has(one)) score += descriptionWeight * rarity(one);
    else if (parameters.has(one)) score += argumentWeight;
  }
  return score;
}

const question = /^(?:what|which|who|whose|where|when|why|how|is|are|was|were|do|does|did)\b/i;
const changing = stemsOf("write create update delete send post move rename cancel");

/** What only asks is answered by looking, unless it names the deed. */
function questionScore(tool: OfflineTool, text: string): number {
  if (!question.test(text.trim())) return 0;
  const deeds = [...toolWords(tool).name].filter((one) => changing.has(one));
  const said = stemsOf(text);
  return deeds.length > 0 && !deeds.some((one) => said.has(one)) ? -3 : 0;
}

/** Facts in the text that only a tool with such an argument can use. */
const factWeights: Partial<Record<StringKind, number>> = {
  expression: 6,
  url: 3,
  email: 2,
  timezone: 2,
  path: 1.5,
  folder: 1.5,
};

function factScore(tool: OfflineTool, args: Record<string, unknown>, source: Source): number {
  let score = 0;
  for (const [name, schema] of Object.entries(propertiesOf(tool.parameters))) {
    if (!(name in args)) continue;
    const kind = stringKind(name, schema);
    const value = args[name];
    const isSaid = typeof value === "string" && isWritten(kind, value, source.text);
    if (isSaid) score += factWeights[kind] ?? 0;
    if (kind === "name") score += nameScore(tool, name, value, source.text);
    if (kind === "query" && isMarked(value, source.text)) score += 1.5;
  }
  return score + pathScore(tool, args, source.text);
}

/** A name said as such is more than one that was guessed; the tool's own name is hardly meant. */
function nameScore(tool: OfflineTool, name: string, value: unknown, text: string): number {
  if (value === givenName(name, text)) return 1;
  const own = toolWords(tool).name;
  return [...stemsOf(String(value))].some((one) => own.has(one)) ? -1 : 0;
}

/** Folders are listed and files are read, where the tool is one for either. */
function pathScore(tool: OfflineTool, args: Record<string, unknown>, text: string): number {
  const stems = stemsOf(tool.name);
  const lists = stems.has("list");
  if (!lists && !stems.has("read")) return 0;
  const places = Object.entries(propertiesOf(tool.parameters)).flatMap(([name, schema]) => {
    const kind = stringKind(name, schema);
    return kind === "path" || kind === "folder" ? [name] : [];
  });
  if (places.length === 0) return 0;
  const paths = places.flatMap((name) => (name in args ? [String(args[name])] : []));
  const namesFile = [...paths, ...pathsIn(text)].some(isFile);
  if (lists) return (namesFile ? -2 : 0) + (/\bfiles\b/i.test(text) ? 1 : 0);
  return namesFile ? 1 : -2;
}

/** By an ending, or written as README and Makefile are. */
function isFile(path: string): boolean {
  return /[^/.]\.[a-z0-9]{1,6}$|^[A-Z][A-Za-z]+$/.test(path) && !path.includes("*");
}

function isWritten(kind: StringKind, value: string, text: string): boolean {
  if (kind === "expression") return true;
  if (kind === "timezone") return value !== "UTC" || /\b(utc|gmt)\b/i.test(text);
  return text.includes(value);
}

function isMarked(value: unknown, text: string): boolean {
  if (typeof value !== "string") return false;
  return quotedIn(text).includes(value) || capitalsIn(text).includes(value);
}

/**
 * Reads real model turns in the text form, as they are and in the variants that models are known for, beside the
 * pattern that LangChain's ReAct parser is known for.
 *
 * npx tsx bench/react-parse.ts [--data ../shared/data/react]
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseTextForm } from "../src/models/text-form/text-form.ts";
import { median } from "./helpers/median.ts";

/** A line of the data: `text` is null for turns that even their own environment could not read. */
interface DataTurn {
  readonly text: string | null;
  readonly native: string;
  readonly tool: string | null;
  readonly input?: string | null;
  readonly final?: string;
}

type Reading = { readonly tool: string; readonly input: unknown } | { readonly final: string };
type Reader = (text: string) => Reading | null;

const { values: options } = parseArgs({
  options: { data: { type: "string", default: "../shared/data/react" } },
});
const file = join(options.data, "turns.jsonl");

const invented =
  "\nObservation: No results were found.\nThought: I should try something else.\nAction: Other\nAction Input: something else";

const variants: readonly (readonly [string, (turn: DataTurn) => string])[] = [
  ["plain", textOf],
  ["invented observation and turn after it", (turn) => textOf(turn) + invented],
  ["bold labels", (turn) => relabel(textOf(turn), (label) => `**${label}:**`)],
  ["lower-case labels", (turn) => relabel(textOf(turn), (label) => `${label.toLowerCase()}:`)],
  ["inside a code fence", (turn) => `\`\`\`\n${textOf(turn)}\n\`\`\``],
  ["Windows line ends", (turn) => textOf(turn).replaceAll("\n", "\r\n")],
  ["the logs' own form, Action 1: Search[x]", (turn) => turn.native],
];

function textOf(turn: DataTurn): string {
  return turn.text ?? "";
}

function relabel(text: string, change: (label: string) => string): string {
  return text.replace(/^(Thought|Action Input|Action|Final Answer):/gm, (_all, label: string) =>
    change(label),
  );
}

const stratagraph: Reader = (text) => {
  const { actions, finalAnswer } = parseTextForm(text);
  if (finalAnswer !== null) return { final: finalAnswer };
  const [action] = actions;
  return action && actions.length === 1 ? { tool: action.name, input: action.input } : null;
};

const actionPattern = /Action\s*\d*\s*:[\s]*(.*?)[\s]*Action\s*\d*\s*Input\s*\d*\s*:[\s]*(.*)/s;

const baseline: Reader = (text) => {
  const action = actionPattern.exec(text);
  const isFinal = text.includes("Final Answer:");
  if (action !== null) {
    if (isFinal) return null;
    return { tool: (action[1] ?? "").trim(), input: (action[2] ?? "").trim() };
  }
  return isFinal ? { final: (text.split("Final Answer:").at(-1) ?? "").trim() } : null;
};

function isExact(reading: Reading | null, turn: DataTurn): boolean {
  if (reading === null) return false;
  if ("final" in reading) return turn.tool === null && reading.final === turn.final;
  return turn.tool === reading.tool && turn.input === reading.input;
}

/** Share read exactly, and turns a second, the middle of five runs. */
function measure(read: Reader, turns: readonly DataTurn[], make: (turn: DataTurn) => string) {
  const texts = turns.map(make);
  const exact = texts.filter((text, index) => isExact(read(text), turns[index] as DataTurn)).length;
  const speeds = Array.from({ length: 5 }, () => {
    const start = performance.now();
    for (const text of texts) read(text);
    return (1000 * texts.length) / (performance.now() - start);
  });
  return { share: exact / texts.length, speed: median(speeds) };
}

function run(): void {
  const all = readFileSync(file, "utf8").trim().split("\n");
  const turns = all
    .map((line) => JSON.parse(line) as DataTurn)
    .filter((turn) => turn.text !== null);
  console.log(
    `${turns.length} turns of ${file}; ${all.length - turns.length} unreadable ones left out\n`,
  );
  console.log("| variant | read exactly | pattern | turns a second | pattern |");
  console.log("|---|---|---|---|---|");
  for (const [, make] of variants) measure(stratagraph, turns, make);
  for (const [name, make] of variants) {
    const ours = measure(stratagraph, turns, make);
    const theirs = measure(baseline, turns, make);
    const cells = [
      name,
      percent(ours.share),
      percent(theirs.share),
      round(ours.speed),
      round(theirs.speed),
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function round(speed: number): string {
  return Number(speed.toPrecision(2)).toLocaleString("en");
}

if (existsSync(file)) run();
else
  console.log(
    `No ${file}: pass the folder that has turns.jsonl with --data. Nothing was measured.`,
  );

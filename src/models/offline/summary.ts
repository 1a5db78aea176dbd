import { headOf } from "../../values/text.ts";
import { readCallLine } from "./history.ts";

/** Characters that a summary has at most, whatever it is asked for. */
const longestSummary = 1_200;

/** Average characters of a word with its space. */
const charactersOfWord = 6;

/** Characters of one turn's line, of what was asked in it, and of the answer. */
const lineCharacters = 320;
const requestCharacters = 110;
const answerCharacters = 110;
const callCharacters = 70;
const callsTold = 3;

/** What was said and done in one turn. */
interface Turn {
  asked: string;
  answered: string;
  calls: string[];
}

const conversation = /<conversation>\n?([^]*?)(?:\n?<\/conversation>|$)/;
const formerSummary = /<former_summary>\n?([^]*?)\n?<\/former_summary>/;
const said =
  /^(?:(request|user|human|question)|(answer|assistant|ai|agent)): (?:\[offline:rules\] )?(.*)$/i;

/** Whether a message asks for a summary of the conversation that stands in it. */
export function asksForSummary(text: string): boolean {
  const start = /<conversation>|^Turn \d+$/m.exec(text)?.index ?? 0;
  return /\bWrite a running summary\b/i.test(text.slice(0, start)) && turnsIn(text).length > 0;
}

/**
 * The conversation in a request for a summary, one short line for each turn: what was asked, what came of it. What an
 * earlier summary says stays as long as there is room; where there is none, the oldest goes first.
 */
export function summaryOf(request: string): string {
  const words = Number(
    /\bat most ([\d,]+) words\b/i.exec(request)?.[1]?.replaceAll(",", "") ?? NaN,
  );
  const limit = Math.min(longestSummary, Number.isNaN(words) ? Infinity : words * charactersOfWord);
  const former = (formerSummary.exec(request)?.[1] ?? "").split("\n").map((line) => line.trim());
  const turns = turnsIn(request).map(turnLine);
  const lines = [...former, ...turns].filter((line) => line !== "");
  const each = Math.max(60, Math.min(lineCharacters, Math.floor(limit / lines.length) - 1));
  const kept: string[] = [];
  let room = limit;
  for (const line of lines.toReversed()) {
    const short = clip(line, Math.min(each, limit));
    if (short.length > room) break;
    kept.unshift(short);
    room -= short.length + 1;
  }
  return kept.join("\n");
}

function turnsIn(text: string): readonly Turn[] {
  const turns: Turn[] = [];
  let saying: "asked" | "answered" | null = null;
  for (const line of (conversation.exec(text)?.[1] ?? text).split("\n")) {
    const last = turns.at(-1);
    const [isSaid, asked, , words = ""] = said.exec(line) ?? [];
    if (/^Turn \d+$/.test(line)) {
      turns.push({ asked: "", answered: "", calls: [] });
      saying = null;
    } else if (isSaid !== undefined) {
      saying = asked === undefined ? "answered" : "asked";
      let turn = last;
      if (turn === undefined || (saying === "asked" && turn.answered !== "")) {
        turns.push((turn = { asked: "", answered: "", calls: [] }));
      }
      turn[saying] = joined(turn[saying], words);
    } else if (last !== undefined && /^- .*\) → /.test(line)) {
      saying = null;
      last.calls.push(line.slice(2));
    } else if (last !== undefined && saying !== null) {
      last[saying] = joined(last[saying], line);
    }
  }
  return turns.filter((turn) => turn.asked !== "" || turn.answered !== "" || turn.calls.length > 0);
}

function turnLine({ asked, answered, calls }: Turn): string {
  const told = calls.slice(0, callsTold).map(callText);
  const more = calls.length - told.length;
  const parts = [
    ...(asked === "" ? [] : [`user asked: ${clip(asked, requestCharacters)}`]),
    ...told,
    ...(more > 0 ? [`${more} more calls`] : []),
    ...(answered === "" ? [] : [`answered: ${clip(answered, answerCharacters)}`]),
  ];
  return parts.join("; ");
}

function callText(line: string): string {
  const call = readCallLine(line);
  if (call === null) return clip(line, callCharacters);
  const { name, text, failed } = call.outcome;
  return clip(failed ? `${name} failed: ${text}` : `${name}: ${text}`, callCharacters);
}

function joined(before: string, line: string): string {
  return [before, line.trim()].filter((text) => text !== "").join(" ");
}

function clip(text: string, length: number): string {
  return text.length <= length ? text : `${headOf(text, Math.max(0, length - 1)).trimEnd()}…`;
}

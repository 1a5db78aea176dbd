import { chooseValue, reasonName, whyChosen, type ChosenValue } from "./choose-value.ts";
import type { Conversation } from "./conversation.ts";

/**
 * The object that an instruction like `Reply with one JSON object: {"accepted": boolean, "reasons": [string]}` asks for,
 * with the plainest value of each key's type. Of values that the instruction describes in a list, the one is chosen that
 * fits what was asked. Keys that are wanted only in some case are left out.
 */
export function askedObject(conversation: Conversation): Record<string, unknown> {
  const { instruction, outcomes } = conversation;
  const body = instruction.slice(instruction.indexOf("{"));
  let chosen: ChosenValue | null = null;
  const failed = outcomes.at(-1)?.failed ?? false;
  const last = outcomes.at(-1);
  const said =
    last === undefined
      ? "No tool was used yet."
      : `${last.name} ${failed ? "failed" : "answered"}.`;
  const object: Record<string, unknown> = {};
  for (const [key, about] of keysOf(body)) {
    if (/\(only (when|if)\b/i.test(about)) continue;
    const choices = describedChoices(about, instruction);
    if (choices !== null) {
      chosen = chooseValue(choices, instruction, conversation);
      object[key] = chosen.value;
    } else {
      const isReason = chosen !== null && reasonName.test(key) && about.startsWith("string");
      object[key] = isReason && chosen ? whyChosen(chosen) : plainest(about, said, failed);
    }
  }
  return object;
}

/** Values such as `"billing" | "technical"` where the instruction has a line for each of them. */
function describedChoices(about: string, instruction: string): readonly string[] | null {
  if (!about.startsWith('"')) return null;
  const choices = [...about.matchAll(/"((?:[^"\\]|\\.)+)"/g)].map((match) => match[1] ?? "");
  const isDescribed = (one: string) => instruction.includes(`\n- ${one}: `);
  return choices.length > 0 && choices.every(isDescribed) ? choices : null;
}

/** Keys of the outermost braces with the text up to the next one. */
function keysOf(body: string): [string, string][] {
  const found: { key: string; at: number; from: number }[] = [];
  let depth = 0;
  for (const match of body.matchAll(/[{[]|[}\]]|"([^"]*)"\s*:/g)) {
    if (/^[{[]/.test(match[0])) depth += 1;
    else if (/^[}\]]/.test(match[0])) depth -= 1;
    else if (depth === 1) {
      found.push({ key: match[1] ?? "", at: match.index, from: match.index + match[0].length });
    }
  }
  return found.map(({ key, from }, i) => [key, body.slice(from, found[i + 1]?.at).trim()]);
}

function plainest(about: string, said: string, failed: boolean): unknown {
  const alternatives = [...about.matchAll(/"([^"]+)"/g)].map((match) => match[1] ?? "");
  if (/^(\{.*|"[^"]*"\s*)?\|?\s*null\b|\|\s*null\b/.test(about)) return null;
  if (about.startsWith('"')) {
    const bad = alternatives.find((one) => /stuck|fail|no\b|blocked/i.test(one));
    return failed && bad !== undefined ? bad : (alternatives[0] ?? "");
  }
  if (about.startsWith("bool")) return !failed;
  if (about.startsWith("[")) return [];
  if (/^(number|int)/.test(about)) return failed ? 0 : 1;
  if (about.startsWith("{")) return {};
  return said;
}

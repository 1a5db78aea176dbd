import type { BaseMessage } from "@langchain/core/messages";
import { isRecord } from "../../values/json.ts";
import { answerFrom, inOrderOf, joinResults, relevant } from "./answer.ts";
import { askedObject, forEach } from "./arguments.ts";
import { chooseTool, minimumScore, type Choice } from "./choose-tool.ts";
import {
  type Conversation,
  type OfflineCall,
  type OfflineTool,
  readConversation,
  wasMade,
} from "./conversation.ts";
import { asksForExtract, extractFor, rowsOf } from "./extract.ts";
import { expressionOfAll } from "./string-argument.ts";
import { gapsOf, planSubtasks, stillMissing } from "./planner.ts";
import type { Outcome } from "./notation.ts";
import { structuredAnswer } from "./structured.ts";
import { isOfSeveral, joinsResults, subtasksOf } from "./subtasks.ts";
import { asksForSummary, summaryOf } from "./summary.ts";
import { stemsOf } from "../words.ts";

/** What the model says: a text, or calls. */
export interface Decision {
  readonly text: string;
  readonly calls: readonly OfflineCall[];
}

const mark = "[offline:rules] ";

/**
 * The next move, from the whole conversation: the first part of the request whose tool was not called yet, else the
 * answer. The same conversation and tools always give the same move.
 *
 * @param forced a tool that must be called, regardless of the request
 */
export function decide(
  messages: readonly BaseMessage[],
  tools: readonly OfflineTool[],
  forced: OfflineTool | null = null,
): Decision {
  const said = messages.at(-1);
  const last = forced === null && said?.type === "human" ? said.text : "";
  if (asksForSummary(last)) return { text: summaryOf(last), calls: [] };
  if (asksForExtract(last)) return { text: extractFor(last), calls: [] };
  const conversation = readConversation(messages);
  if (forced !== null) return forcedCall(forced, conversation);
  switch (conversation.wish) {
    case "object":
      return {
        text: JSON.stringify(plannerAnswer(conversation) ?? askedObject(conversation)),
        calls: [],
      };
    case "plan":
      return { text: mark + plan(conversation), calls: [] };
    case "act": {
      const next = nextCall(conversation, tools);
      if (next !== null) return next;
      return { text: answer(conversation), calls: [] };
    }
    case "finish":
      return { text: answer(conversation), calls: [] };
  }
}

function forcedCall({ name, parameters }: OfflineTool, conversation: Conversation): Decision {
  const value =
    plannerAnswer(conversation) ?? structuredAnswer(parameters, withGiven(conversation));
  const id = `call_${conversation.callCount + 1}`;
  return {
    text: `${mark}Calling ${name}.`,
    calls: [{ id, name, args: isRecord(value) ? value : {} }],
  };
}

/** The plan or the judgement that a planner asks for; null where it asks for none. */
function plannerAnswer({ planner, request, answered, outcomes }: Conversation): object | null {
  if (planner?.kind === "plan") return planSubtasks(request, planner);
  if (planner?.kind !== "judge") return null;
  const { before, criteria } = planner;
  return { gaps: [...stillMissing(before, outcomes), ...gapsOf(answered, criteria)] };
}

/** Results that were brought along as if they had been found before all others. */
function withGiven(conversation: Conversation): Conversation {
  const { given, outcomes } = conversation;
  return given.length === 0 ? conversation : { ...conversation, outcomes: [...given, ...outcomes] };
}

function nextCall(conversation: Conversation, tools: readonly OfflineTool[]): Decision | null {
  if (tools.length === 0) return null;
  const { given } = conversation;
  const parts = subtasksOf(conversation.request).flatMap((part, i) =>
    forEach(part, given).map((text) => ({
      text,
      threshold: i === 0 ? minimumScore : thresholdOf(part),
    })),
  );
  for (const { text, threshold } of parts) {
    const choice = choose(text, threshold, conversation, toolsFor(text, given, tools));
    if (choice !== null) return say(choice, text, parts.length, conversation);
  }
  for (const line of conversation.feedback) {
    const choice = choose(line, minimumScore * 1.5, conversation, tools);
    if (choice !== null) return say(choice, line, 1, conversation);
  }
  return null;
}

/** What joins results that were brought along needs no tool, unless one is named for just that. */
function toolsFor(
  part: string,
  given: readonly Outcome[],
  tools: readonly OfflineTool[],
): readonly OfflineTool[] {
  if (given.length === 0 || !joinsResults(part) || expressionOfAll(part, given) !== null)
    return tools;
  const [verb = ""] = stemsOf(part);
  return tools.filter(({ name }) => stemsOf(name).has(verb));
}

/** "… and count the lines" is about the result before, unless a tool is meant for just that. */
function thresholdOf(part: string): number {
  // "… and tell the editor that it is done" is for another reader.
  if (
    /^tell\s+(?!me\b|us\b)(?:the\s+|my\s+|our\s+)?[\p{L}\p{N}]+\s*(?:\bthat\b|["“:])/iu.test(part)
  ) {
    return minimumScore;
  }
  return /^(count|summari[sz]e|tell|say|explain|report|answer)\b/i.test(part)
    ? minimumScore * 1.7
    : minimumScore * 0.8;
}

/** Null when the part needs no tool, or its call was made. */
function choose(
  text: string,
  threshold: number,
  conversation: Conversation,
  tools: readonly OfflineTool[],
): Choice | null {
  const { given, outcomes } = conversation;
  // A part is judged by what was known when its turn came: results that came later change what "it" is.
  for (let known = 0; known <= outcomes.length; known += 1) {
    const before = [...given, ...outcomes.slice(0, known)];
    const choice = chooseTool(tools, { text, outcomes: before }, threshold);
    if (choice !== null && wasMade(conversation, choice.tool.name, choice.args)) return null;
  }
  return chooseTool(tools, { text, outcomes: [...given, ...outcomes] }, threshold);
}

function say(
  { tool, args }: Choice,
  part: string,
  count: number,
  { callCount }: Conversation,
): Decision {
  const id = `call_${callCount + 1}`;
  const text = count > 1 ? `${mark}Next: ${part}` : `${mark}Calling ${tool.name}.`;
  return { text, calls: [{ id, name: tool.name, args }] };
}

function plan({ request }: Conversation): string {
  const parts = subtasksOf(request);
  if (parts.length === 1) return `One step: ${parts[0] ?? ""}`;
  return parts.map((part, i) => `${i + 1}. ${part}`).join("\n");
}

function answer(conversation: Conversation): string {
  const { outputSchema, request, outcomes, given, feedback, planner } = conversation;
  if (outputSchema !== null) {
    return JSON.stringify(structuredAnswer(outputSchema, withGiven(conversation)));
  }
  if (planner?.kind === "synthesise" && outcomes.length + planner.missing.length > 0) {
    return mark + joinResults(inOrderOf(request, outcomes), planner.missing);
  }
  if (outcomes.length > 0) {
    return mark + answerFrom([request, ...feedback].join(" "), outcomes);
  }
  if (given.length > 0) {
    return mark + (isOfSeveral(request) ? joinResults(given) : answerFrom(request, given));
  }
  return mark + fromContext(conversation);
}

/** Without results: what the request brings along or the conversation says on it, else that nothing does. */
function fromContext({ system, earlier, past, request, memories }: Conversation): string {
  const [wanted = "", ...material] = request.split(/\n\s*\n/);
  if (material.length === 0 && isStatement(wanted)) return "Noted.";
  if (aboutPerson.test(wanted)) {
    const known = [...memories, ...earlier.filter(isStatement)];
    return known.length === 0 ? "I know nothing about you yet." : remembered(known);
  }
  const facts = system.split(/\n|(?<=[.!?])\s/).filter((line) => !isInstruction(line));
  const found = past.flatMap(({ text }) => rowsOf(text));
  for (const texts of [material, [...facts, ...earlier], memories, found]) {
    const told = relevant(wanted, texts.join("\n"), 3);
    if (told.length > 0) return texts === memories ? remembered(told) : told.join("\n");
  }
  return (
    `I am a set of rules, not a language model, and no tool here fits "${short(request)}". ` +
    "Name a model in llm_config.default_model for a real answer."
  );
}

const aboutPerson = /\bwhat (?:do|did|can|else do) you (?:know|remember|recall)\b|\bwho am I\b/i;

/** Whether a person only says something about themselves. */
function isStatement(text: string): boolean {
  const sentences = text.split(/(?<=[.!?])\s+/).filter((one) => one.trim() !== "");
  return sentences.length > 0 && sentences.every((one) => ownFact.test(one) && !one.includes("?"));
}

const ownFact =
  /^(?:my|our) [^.]* (?:is|are)\b|^I(?:['’]m| am| live| work| prefer| like| love| hate| eat| have)\b/i;

const mostRemembered = 10;

function remembered(texts: readonly string[]): string {
  return ["From memory:", ...texts.slice(-mostRemembered).map((text) => `- ${text}`)].join("\n");
}

/** What the system message tells the model to do is no answer to anything. */
function isInstruction(line: string): boolean {
  return /^(you\b|your\b|answer|use|always|never|do not|don't|reply|respond|be|when|if|output json|tools?:|- )/i.test(
    line.trim(),
  );
}

function short(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > 80 ? `${line.slice(0, 80)}…` : line;
}

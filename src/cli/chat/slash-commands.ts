import { attachmentLimits } from "../../compile/attachments/check-attachment.ts";
import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { nearestName } from "../../nearest-name.ts";
import type { ExecuteResult } from "../../runtime/execute-agent.ts";
import { addUsage, noUsage, type Usage } from "../../state/usage.ts";
import { headOf } from "../../values/text.ts";
import { totals } from "../view/figures.ts";
import { plainLine, type Style } from "../view/terminal.ts";
import { stepLines } from "../view/thread/state-lines.ts";

/** The state of a chat that its commands read and change. */
export interface Conversation {
  threadId: string;
  /** Instead of the definition's, for the next turns. */
  model: string | undefined;
  /** Absolute paths of the files that go with the next message. */
  attachments: readonly string[];
  /** The result of the last turn; null before the first, and in a new thread. */
  last: ExecuteResult | null;
  total: ChatTotal;
}

/** What the turns of a chat took so far. */
interface ChatTotal {
  readonly turns: number;
  readonly steps: number;
  readonly usage: Usage;
  readonly elapsedMs: number;
}

export const noTotal: ChatTotal = { turns: 0, steps: 0, usage: noUsage, elapsedMs: 0 };

/** Adds a turn to the totals of a chat. */
export function addTurn(total: ChatTotal, result: ExecuteResult, elapsedMs: number): ChatTotal {
  return {
    turns: total.turns + 1,
    steps: total.steps + result.steps.length,
    usage: addUsage(total.usage, result.invocation_usage),
    elapsedMs: total.elapsedMs + elapsedMs,
  };
}

export interface SlashOptions {
  readonly cwd: string;
  readonly width: number;
  readonly style: Style;
  /**
   * Checks that a model can be asked, and returns its full name.
   * @throws the errors of resolving models
   */
  readonly resolveModel: (name: string) => Promise<string>;
  readonly newThreadId: () => string;
  /** The command that resumes the thread; null if it is not stored. */
  readonly resume: () => string | null;
}

interface SlashCommand {
  /** The argument as help names it; left out if there is none. */
  readonly argument?: string;
  readonly summary: string;
  /** Returns the lines to print; null leaves the chat. */
  run(
    conversation: Conversation,
    argument: string,
    options: SlashOptions,
  ): Promise<readonly string[] | null> | readonly string[] | null;
}

const commands: Readonly<Record<string, SlashCommand>> = {
  help: { summary: "list the commands", run: () => helpLines() },
  attach: { argument: "PATH", summary: "send a file with the next message", run: attach },
  model: { argument: "NAME", summary: "answer the next messages with this model", run: setModel },
  thread: {
    summary: "show the thread and the command that resumes it",
    run: ({ threadId }, _argument, { resume }) => threadLines(threadId, resume()),
  },
  steps: { summary: "show the steps of the last turn", run: lastSteps },
  usage: { summary: "show what this chat has used", run: usageLines },
  clear: { summary: "begin a new thread", run: clear },
  quit: { summary: "leave, as Ctrl-D does", run: () => null },
};

/** Reads a message as a command: its name and argument; null if it is none. A space before the slash makes it none. */
export function readSlash(
  message: string,
): { readonly name: string; readonly argument: string } | null {
  const [, name, argument = ""] = /^\/([a-z]*)(?: +(.*))?$/i.exec(message.trimEnd()) ?? [];
  return name === undefined ? null : { name: name.toLowerCase(), argument: argument.trim() };
}

/** Runs a command, and returns the lines to print; null leaves the chat. */
export async function runSlash(
  { name, argument }: { readonly name: string; readonly argument: string },
  conversation: Conversation,
  options: SlashOptions,
): Promise<readonly string[] | null> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    const near = nearestName(name, Object.keys(commands));
    const hint = near === undefined ? "/help lists the commands." : `Did you mean /${near}?`;
    return [`Unknown command /${headOf(name, 40)}. ${hint}`];
  }
  if (command.argument !== undefined && argument === "") {
    return [`Expected ${command.argument}: /${name} ${command.argument}`];
  }
  return command.run(conversation, argument, options);
}

function helpLines(): readonly string[] {
  const usages = Object.entries(commands).map(([name, { argument }]) =>
    argument === undefined ? `/${name}` : `/${name} ${argument}`,
  );
  const width = Math.max(...usages.map((usage) => usage.length));
  const summaries = Object.values(commands).map(({ summary }) => summary);
  return [
    ...usages.map((usage, index) => `${usage.padEnd(width)}  ${summaries[index]}`),
    "A line that ends with \\ continues in the next one. A space before / sends the line as a message.",
    "Ctrl-C cancels a turn; at the prompt it leaves.",
  ];
}

async function attach(
  conversation: Conversation,
  argument: string,
  { cwd }: SlashOptions,
): Promise<readonly string[]> {
  const path = resolve(cwd, argument.replace(/^(["'])(.*)\1$/, "$2"));
  const found = await stat(path).catch(() => null);
  if (found?.isFile() !== true) return [plainLine(`There is no file ${path}.`)];
  const { attachments } = conversation;
  if (attachments.length >= attachmentLimits.files) {
    return [`A message takes at most ${attachmentLimits.files} files.`];
  }
  conversation.attachments = [...attachments, path];
  const names = conversation.attachments.map((file) => basename(file)).join(", ");
  return [plainLine(`With the next message: ${names}`)];
}

async function setModel(
  conversation: Conversation,
  name: string,
  { resolveModel }: SlashOptions,
): Promise<readonly string[]> {
  const model = await resolveModel(name);
  conversation.model = name;
  return [plainLine(`The next messages are answered by ${model}.`)];
}

function lastSteps(
  { last }: Conversation,
  _argument: string,
  options: SlashOptions,
): readonly string[] {
  if (last === null || last.steps.length === 0) return ["No steps yet."];
  return last.steps.flatMap((step) => stepLines(step, false, options));
}

function usageLines({ total }: Conversation): readonly string[] {
  const turns = `${total.turns.toLocaleString("en")} turn${total.turns === 1 ? "" : "s"}`;
  return [`${turns} · ${totals(total)}`];
}

function clear(
  conversation: Conversation,
  _argument: string,
  { newThreadId, resume }: SlashOptions,
): readonly string[] {
  const before = conversation.last === null ? null : resume();
  conversation.threadId = newThreadId();
  conversation.last = null;
  conversation.attachments = [];
  return [
    "A new thread begins.",
    ...(before === null ? [] : ["To continue the last one:", `  ${before}`]),
  ];
}

/** Names a thread, and the command that resumes it. */
export function threadLines(threadId: string, resume: string | null): readonly string[] {
  if (resume === null) return ["The thread is not stored."];
  return [plainLine(`Thread ${threadId}. To continue:`), `  ${resume}`];
}

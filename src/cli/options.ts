import { type Command, InvalidArgumentError, Option } from "commander";
import { isPermission } from "../definition/tool/tool.ts";
import { commandLine } from "./command-line.ts";
import type { CliIo } from "./io.ts";

/** An option of a command, with the type of its parsed value. */
export type CliOption<Value> = Option & {
  /** Exists in types only. */
  readonly value?: Value;
};

/** Creates a fresh option for one command, which may word its description differently. */
export type OptionFactory<Value> = (description?: string) => CliOption<Value>;

/** Option factories by the name under which commander passes the parsed value. */
export type OptionSet = Readonly<Record<string, OptionFactory<unknown>>>;

/** The parsed values of a set of options. */
export type OptionValues<Options extends OptionSet> = {
  readonly [Name in keyof Options]?: NonNullable<ReturnType<Options[Name]>["value"]>;
};

/** Declares an option whose value stays text. */
export function declareOption(flags: string, description: string): OptionFactory<string>;
export function declareOption<Value>(
  flags: string,
  description: string,
  parse: (text: string, previous?: Value) => Value,
): OptionFactory<Value>;
export function declareOption<Value>(
  flags: string,
  description: string,
  parse?: (text: string, previous?: Value) => Value,
): OptionFactory<Value> {
  return (described = description) => {
    const option = new Option(flags, described);
    return parse === undefined ? option : option.argParser(parse);
  };
}

/** Declares an option without a value. */
export function declareFlag(flags: string, description: string): OptionFactory<boolean> {
  return (described = description) => new Option(flags, described);
}

/** Adds options to a command. `descriptions` replaces the declared descriptions. */
export function addOptions<Options extends OptionSet>(
  command: Command,
  options: Options,
  descriptions?: Readonly<Partial<Record<keyof Options, string>>>,
): Command {
  for (const [name, create] of Object.entries(options)) {
    command.addOption(create(descriptions?.[name]));
  }
  return command;
}

/** The words of a command line that parse to the given values. Unset options and defaults are left out. */
export function optionWords<Options extends OptionSet>(
  options: Options,
  given: OptionValues<Options>,
): string[] {
  return Object.entries(options).flatMap(([name, create]) => {
    const value = given[name];
    if (value === undefined || value === false) return [];
    const option = create();
    if (value === option.defaultValue) return [];
    const flag = option.long ?? option.flags;
    if (option.isBoolean()) return [flag];
    return (Array.isArray(value) ? value : [value]).flatMap((one) => [flag, String(one)]);
  });
}

export const toolsOption = declareOption(
  "--tools <file>",
  "module whose exported `tools` the definition may name",
);
export const rootOption = declareOption(
  "--root <folder>",
  "folder that the file tools may read (default: this folder)",
);
export const jsonOption = declareFlag("--json", "print a single JSON document to stdout");
export const modelOption = declareOption(
  "-m, --model <provider:model>",
  "model to use instead of the definition's",
);
const temperatureOption = declareOption(
  "--temperature <number>",
  "0 to 2, instead of the definition's",
  parseTemperature,
);
export const acceptChangesOption = declareFlag(
  "--accept-changes",
  "resume even if the agent definition has changed",
);
export const acceptAgentOption = declareFlag(
  "--accept-agent",
  "resume even if the thread belongs to another agent",
);
export const userOption = declareOption(
  "--user <id>",
  "user whose memories the run reads and writes (default: those of all users)",
  parseUser,
);
export const agentOption = declareOption(
  "--agent <file>",
  "definition or module of the agent, as for run",
);
export const threadOption = declareOption(
  "-t, --thread <id>",
  "thread to continue (default: a new one)",
);
export const inputOption = declareOption(
  "-i, --input <json>",
  "the whole input as JSON, instead of MESSAGE; - reads stdin",
);
export const answerOption = declareOption<readonly string[]>(
  "-a, --answer <answer>",
  "answer that --thread waits for, as JSON or text; repeat as ID=ANSWER if several requests wait",
  (text, previous = []) => [...previous, text],
);
export const toolResultsOption = declareOption(
  "--tool-results <json>",
  'results of client tools that --thread waits for, as [{"call_id":…,"output":…}]; @FILE reads a file, - stdin',
);
export const attachOption = declareOption<readonly string[]>(
  "--attach <file>",
  "text, image, PDF or audio file that comes with the message; repeatable",
  (text, previous = []) => [...previous, text],
);
export const outOption = declareOption(
  "-o, --out <file>",
  "file to create or replace, instead of stdout",
);
export const showReasoningOption = declareFlag(
  "--show-reasoning",
  "print all that models think before they reply, instead of one line",
);
export const yesOption = declareFlag("-y, --yes", "do not ask for confirmation");
const limitOption = declareOption(
  "--limit <number>",
  "maximum number of rows, 1 to 1000 (default: 50)",
  (text) => parseInteger(text, { from: 1, to: 1000 }),
);
const cursorOption = declareOption(
  "--cursor <cursor>",
  "position to continue from, printed by the previous page",
);
export const namespaceOption = declareOption(
  "--namespace <namespace>",
  "checkpoints of an agent inside a node instead",
);
export const channelOption = declareOption("--channel <name>", "show one channel only");
export const turnOption = declareOption(
  "--turn <number>",
  "turn, from 0 (default: the last)",
  parseIndex,
);
export const stepOption = declareOption(
  "--step <number>",
  "step of the turn, from 0 (default: the next)",
  parseIndex,
);
export const budgetOption = declareOption(
  "--budget <tokens>",
  "fit the context into this many tokens",
  parseBudget,
);
const extendOption = declareFlag(
  "--extend",
  "continue to a greater cycle_count than the runs started with",
);
const parallelOption = declareOption(
  "-p, --parallel <n>",
  "concurrent runs, instead of the config's",
  (text) => parseInteger(text, { from: 1, to: 64 }),
);
const logsOption: OptionFactory<string> = (description = "folder to write logs to") =>
  new Option("--logs <folder>", description).default("logs");
export const olderThanOption = declareOption(
  "--older-than <age>",
  "remove only checkpoints older than this: 30m, 12h, 7d, 2w",
  parseAge,
);
export const grantOption = declareOption<readonly string[]>(
  "--grant <permission>",
  "permission of the call, such as file:read or network:*; repeatable; without AGENT",
  parsePermission,
);

/** The conditions of a run. The printed command that resumes the run repeats them. */
export const agentOptions = {
  model: modelOption,
  temperature: temperatureOption,
  user: userOption,
  tools: toolsOption,
  root: rootOption,
  acceptChanges: acceptChangesOption,
  acceptAgent: acceptAgentOption,
} satisfies OptionSet;

/** The conditions of an experiment. The printed command that resumes the experiment repeats them. */
export const experimentOptions = {
  extend: extendOption,
  parallel: parallelOption,
  logs: logsOption,
  tools: toolsOption,
  root: rootOption,
} satisfies OptionSet;

/** The page of a listing. */
export const pageOptions = { limit: limitOption, cursor: cursorOption } satisfies OptionSet;

export interface PageOptions extends OptionValues<typeof pageOptions> {
  readonly json?: boolean;
}

/** The options that a listing takes. */
export function pageOf({ limit, cursor }: PageOptions): OptionValues<typeof pageOptions> {
  return { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) };
}

export interface AgentOptions extends OptionValues<typeof agentOptions> {
  readonly json?: boolean;
  readonly showReasoning?: boolean;
}

/** The options of `stratagraph run`. */
export interface RunOptions extends AgentOptions {
  readonly input?: string;
  readonly thread?: string;
  /** Answers to pending requests of the thread. */
  readonly answer?: readonly string[];
  /** Results of client tools: JSON, `@` and a path, or `-` for stdin. */
  readonly toolResults?: string;
  /** Paths of files that come with the input. */
  readonly attach?: readonly string[];
  /** False: persist nothing. */
  readonly save: boolean;
}

export interface RunArguments extends RunOptions {
  readonly agent: string;
  readonly message: string | undefined;
}

/** The options of `stratagraph chat`. */
export interface ChatArguments extends AgentOptions {
  readonly agent: string;
  readonly thread?: string;
  /** False: persist nothing. */
  readonly save: boolean;
}

/** The command line that resumes a thread under the same conditions, with `run` unless `command` says otherwise. */
export function resumeCommand(
  given: AgentOptions & { readonly agent: string; readonly command?: "run" | "chat" },
  threadId: string,
  io: Pick<CliIo, "env">,
): string {
  const words = optionWords(
    { thread: threadOption, ...agentOptions },
    { ...given, thread: threadId },
  );
  return commandLine([given.command ?? "run", given.agent, ...words], io);
}

function parseTemperature(text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (value >= 0 && value <= 2) return value;
  throw new InvalidArgumentError("Expected a number from 0 to 2.");
}

export function parseInteger(text: string, { from, to }: { from: number; to: number }): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= from && value <= to) return value;
  throw new InvalidArgumentError(`Expected an integer from ${from} to ${to}.`);
}

/** Parses a label of a namespace. */
function parseUser(text: string): string {
  if (text.length > 0 && text.length <= 200) return text;
  throw new InvalidArgumentError("Expected 1 to 200 characters.");
}

/** Parses the index of a turn or a step. */
function parseIndex(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected an integer from 0.");
}

function parseBudget(text: string): number {
  const value = /^\d{1,12}$/.test(text) ? Number(text) : 0;
  if (value >= 256) return value;
  throw new InvalidArgumentError("Expected a number of tokens, 256 or more.");
}

function parsePermission(text: string, previous: readonly string[] = []): readonly string[] {
  if (isPermission(text, { wildcards: true })) return [...previous, text];
  throw new InvalidArgumentError("Expected a permission such as file:read or network:*.");
}

const minute = 60_000;
const units: Readonly<Record<string, number>> = {
  m: minute,
  h: 60 * minute,
  d: 24 * 60 * minute,
  w: 7 * 24 * 60 * minute,
};

/** Parses an age into milliseconds. */
export function parseAge(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,5})([mhdw])$/.exec(text) ?? [];
  if (amount !== undefined) return Number(amount) * (units[unit] ?? 0);
  throw new InvalidArgumentError(
    "Expected a number of minutes, hours, days or weeks: 30m, 12h, 7d, 2w.",
  );
}

export const httpAllowOption = declareOption<readonly string[]>(
  "--http-allow <host>",
  "host that http_get of agents may call; repeatable",
  (text, previous = []) => [...previous, text],
);

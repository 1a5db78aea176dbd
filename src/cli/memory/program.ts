import { type Command, InvalidArgumentError, Option } from "commander";
import type { MemorySource, MemoryType } from "../../memory/entry.ts";
import type { CliIo } from "../io.ts";
import {
  addOptions,
  declareFlag,
  declareOption,
  jsonOption,
  pageOptions,
  parseAge,
  parseInteger,
  threadOption,
  userOption,
  yesOption,
} from "../options.ts";
import type { MemoryAddOptions } from "./add.ts";
import type { MemoryListOptions, MemorySearchOptions } from "./look.ts";
import type { MemoryFilterOptions, MemoryScopeOptions } from "./open.ts";
import type { MemoryConsolidateOptions, MemoryForgetOptions } from "./upkeep.ts";

// Help prints without loading the schemas of entries: their names and limits are repeated here.
const typeNames: Readonly<Record<MemoryType, true>> = {
  short_term: true,
  episodic: true,
  semantic: true,
  procedural: true,
};
const sourceNames: Readonly<Record<MemorySource, true>> = {
  user: true,
  agent: true,
  tool: true,
  system: true,
};
const memoryTypes = Object.keys(typeNames);
const maxLabels = 10;
const maxName = 200;

const agentOption = declareOption(
  "--agent <agent>",
  "agent that remembers: its name, or a file with its definition (default: all)",
);
const namespaceOption = declareOption<readonly string[]>(
  "--namespace <labels>",
  'labels joined by /, instead of --agent and --user, or as JSON: ["agents","support"]',
  parseNamespace,
);
const typeOption = declareOption<readonly MemoryType[]>(
  "--type <type>",
  `${memoryTypes.join(", ")}; repeatable`,
  (text, previous = []) => [...previous, parseType(text)],
);
const tagOption = declareOption<readonly string[]>(
  "--tag <tag>",
  "tag that entries have; repeatable",
  (text, previous = []) => [...previous, parseName(text)],
);
const sinceOption = declareOption(
  "--since <time>",
  "created at or after: 2026-11-01, 2026-11-01T14:00:00Z, or an age such as 7d",
  parseTime,
);
const untilOption = declareOption("--until <time>", "created before, as for --since", parseTime);
const dryRunOption = declareFlag("--dry-run", "count only, and change nothing");

const scopeOptions = { agent: agentOption, user: userOption, namespace: namespaceOption };
const filterOptions = {
  ...scopeOptions,
  thread: threadOption,
  type: typeOption,
  tag: tagOption,
  since: sinceOption,
  until: untilOption,
};
const described = { thread: "thread that entries are from", user: "user whom they are about" };

/** Adds `memory list`, `search`, `show`, `add`, `forget`, `consolidate`, `reembed`, `namespaces` and `sweep`. */
export function addMemoryCommands(
  program: Command,
  io: CliIo,
  exitWith: (code: number) => void,
): void {
  const memory = program
    .command("memory")
    .description("List, search, add, consolidate and forget what agents remember.")
    .helpCommand(false)
    .addHelpText("after", examples);
  addReading(memory, io, exitWith);
  addWriting(memory, io, exitWith);
  addUpkeep(memory, io, exitWith);
}

const examples = `
Examples:
  stratagraph memory list --agent support --user ada
  stratagraph memory search "what is she allergic to" --agent support --user ada --why
  stratagraph memory add "Ada prefers short answers." --agent support --user ada --tag style
  stratagraph memory forget --user ada --dry-run`;

function addReading(memory: Command, io: CliIo, exitWith: (code: number) => void): void {
  const list = memory
    .command("list", { isDefault: true })
    .description("List entries, newest first.");
  addOptions(list, filterOptions, described);
  addOptions(list, pageOptions)
    .addOption(
      new Option(
        "--order <order>",
        "newest (default), oldest, or accessed: last used first",
      ).choices(["newest", "oldest", "accessed"]),
    )
    .option("--archived", "entries that consolidation has evicted and archived instead")
    .addOption(jsonOption())
    .action(async (options: MemoryListOptions) => {
      const { memoryListCommand } = await import("./look.ts");
      exitWith(await memoryListCommand(options, io));
    });

  const search = memory
    .command("search")
    .description("Find entries by words and meaning, best first.")
    .argument("<query>", "what is looked for, in words");
  addOptions(search, filterOptions, described)
    .option("--limit <number>", "maximum number of hits, 1 to 100 (default: 10)", (text) =>
      parseInteger(text, { from: 1, to: 100 }),
    )
    .option("--min-score <score>", "least score, 0 to 1 (default: 0)", parseShare)
    .option("--why", "show what the score of each hit consists of")
    .addOption(jsonOption())
    .action(async (query: string, options: MemorySearchOptions) => {
      const { memorySearchCommand } = await import("./look.ts");
      exitWith(await memorySearchCommand({ query, ...options }, io));
    });

  memory
    .command("show")
    .description("Show an entry with everything that is known of it.")
    .argument("<id>", "id, or its end or beginning")
    .addOption(jsonOption())
    .action(async (id: string, options: { json?: boolean }) => {
      const { memoryShowCommand } = await import("./look.ts");
      exitWith(await memoryShowCommand({ id, ...options }, io));
    });

  const namespaces = memory
    .command("namespaces")
    .description("List who remembers: the namespaces with entries, and how many they have.");
  addOptions(namespaces, scopeOptions, described)
    .addOption(jsonOption())
    .action(async (options: MemoryScopeOptions & { json?: boolean }) => {
      const { memoryNamespacesCommand } = await import("./look.ts");
      exitWith(await memoryNamespacesCommand(options, io));
    });
}

function addWriting(memory: Command, io: CliIo, exitWith: (code: number) => void): void {
  const add = memory
    .command("add")
    .description("Remember a text, or the entries of a file.")
    .argument("[text]", "what to remember");
  addOptions(add, { ...scopeOptions, thread: threadOption }, { ...described, ...addDescribed })
    .addOption(new Option("--type <type>", "default: semantic").choices(memoryTypes))
    .addOption(new Option("--source <source>", "default: user").choices(Object.keys(sourceNames)))
    .addOption(tagOption("tag of the entry; repeatable"))
    .addOption(
      declareOption<readonly string[]>(
        "--entity <name>",
        "name that the text mentions; repeatable (default: those found in it)",
        (text, previous = []) => [...previous, parseName(text)],
      )(),
    )
    .option("--importance <share>", "0 to 1 (default: 0.5)", parseShare)
    .option("--expires-in <age>", "forget it after this time: 30m, 12h, 7d, 2w", parseAge)
    .option("--file <file>", "JSON Lines with an entry each, instead of TEXT; - reads stdin")
    .addOption(jsonOption())
    .action(async (text: string | undefined, options: MemoryAddOptions) => {
      const { memoryAddCommand } = await import("./add.ts");
      exitWith(await memoryAddCommand({ text, ...options }, io));
    });
}

const addDescribed = {
  agent: "agent that remembers: its name, or a file with its definition",
  thread: "thread that it is from",
};

function addUpkeep(memory: Command, io: CliIo, exitWith: (code: number) => void): void {
  const forget = memory
    .command("forget")
    .description("Remove entries, their archived copies and every reference to them.")
    .argument("[ids...]", "ids, or their ends or beginnings");
  addOptions(forget, filterOptions, described)
    .option("--all", "everything of --agent, or of all agents")
    .addOption(dryRunOption())
    .addOption(yesOption())
    .addOption(jsonOption())
    .action(async (ids: string[], options: MemoryForgetOptions) => {
      const { memoryForgetCommand } = await import("./upkeep.ts");
      exitWith(await memoryForgetCommand({ ids, ...options }, io));
    });

  const wholeNumber = (text: string) => parseInteger(text, { from: 1, to: 999_999_999 });
  const consolidate = memory
    .command("consolidate")
    .description(
      "Move short-term entries into long-term memory: what matters is kept and merged, the rest is evicted.",
    );
  addOptions(consolidate, { ...scopeOptions, thread: threadOption }, described)
    .addOption(
      new Option("--strategy <strategy>", "default: the definition's, else hybrid").choices([
        "importance",
        "age",
        "hybrid",
      ]),
    )
    .option("--max-entries <number>", "candidates at most (default: 1000)", wholeNumber)
    .option("--min-age-hours <hours>", "age of candidates (default: 24)", parseHours)
    .option("--max-tokens <tokens>", "short-term tokens of a thread (default: 8000)", wholeNumber)
    .option("--threshold <share>", "least importance to be kept, 0 to 1 (default: 0.5)", parseShare)
    .addOption(dryRunOption())
    .addOption(jsonOption())
    .action(async (options: MemoryConsolidateOptions) => {
      const { memoryConsolidateCommand } = await import("./upkeep.ts");
      exitWith(await memoryConsolidateCommand(options, io));
    });

  const reembed = memory
    .command("reembed")
    .description("Add the vectors that entries lack, of the current model. Can be interrupted.");
  addOptions(reembed, filterOptions, described)
    .addOption(jsonOption())
    .action(async (options: MemoryFilterOptions & { json?: boolean }) => {
      const { memoryReembedCommand } = await import("./upkeep.ts");
      exitWith(await memoryReembedCommand(options, io));
    });

  memory
    .command("sweep")
    .description("Remove expired entries from the database. They are never returned anyway.")
    .addOption(jsonOption())
    .action(async (options: { json?: boolean }) => {
      const { memorySweepCommand } = await import("./upkeep.ts");
      exitWith(await memorySweepCommand(options, io));
    });
}

function parseNamespace(text: string): readonly string[] {
  const labels = text.startsWith("[") ? jsonOf(text) : text.split("/");
  const isNamespace =
    Array.isArray(labels) &&
    labels.length > 0 &&
    labels.length <= maxLabels &&
    labels.every((label) => typeof label === "string" && label !== "" && label.length <= maxName);
  if (isNamespace) return labels as readonly string[];
  throw new InvalidArgumentError(
    `Expected 1 to ${maxLabels} labels such as agents/support/users/ada, or a JSON array of them.`,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function parseType(text: string): MemoryType {
  if (Object.hasOwn(typeNames, text)) return text as MemoryType;
  throw new InvalidArgumentError(`Allowed choices are ${memoryTypes.join(", ")}.`);
}

function parseName(text: string): string {
  if (text.length > 0 && text.length <= maxName) return text;
  throw new InvalidArgumentError(`Expected 1 to ${maxName} characters.`);
}

function parseShare(text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError("Expected a number from 0 to 1.");
}

function parseHours(text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (value >= 0 && value <= 1_000_000) return value;
  throw new InvalidArgumentError("Expected a number of hours from 0.");
}

/** ISO 8601, from a day, a time or an age. */
function parseTime(text: string): string {
  if (/^\d{1,5}[mhdw]$/.test(text)) return new Date(Date.now() - parseAge(text)).toISOString();
  const isDated = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?$/;
  const zoned = /T.*(?:Z|[+-]\d\d:\d\d)$/.test(text) || !text.includes("T") ? text : `${text}Z`;
  const at = isDated.test(text) ? new Date(zoned) : new Date(Number.NaN);
  if (!Number.isNaN(at.getTime())) return at.toISOString();
  throw new InvalidArgumentError(
    "Expected 2026-11-01, 2026-11-01T14:00:00Z, or an age such as 7d.",
  );
}

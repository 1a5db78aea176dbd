import type { TurnFailure } from "../../state/turn.ts";
import type { ToolOutcome } from "../../state/step-record.ts";
import { headOf } from "../../values/text.ts";
import { memoryLimits, type MemoryMetadata, type NewMemoryEntry } from "../entry.ts";
import { findEntities } from "../search/entities.ts";
import { absoluteDates, findDates } from "./absolute-dates.ts";
import { type Fact, mostFacts } from "./extract-rules.ts";

/** A tool call of a finished turn. */
export interface TurnCall {
  readonly tool: string;
  /** Names of its arguments. */
  readonly arguments: readonly string[];
  readonly outcome: ToolOutcome;
}

/** What a finished turn leaves, as memory may keep it: redacted, and without what output rails have withheld. */
export interface FinishedTurn {
  /** `turn.run`. */
  readonly run: string;
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly agent: string;
  /** The person, if the run names one. */
  readonly user: string | undefined;
  readonly request: string;
  /** Labels of attachments: `image lamp.png`. */
  readonly attachments: readonly string[];
  /** Null if the turn has failed. */
  readonly answer: string | null;
  readonly isIncomplete: boolean;
  readonly failure: TurnFailure | null;
  /** Of all attempts, in order. */
  readonly calls: readonly TurnCall[];
}

/** Where entries of a turn are written. */
export interface TurnPlace {
  readonly namespace: readonly string[];
  readonly threadId: string;
  readonly instanceId: string;
}

/** The facts of a turn, and what else a model may have extracted. */
export interface Extract {
  readonly facts: readonly Fact[];
  /** One or two sentences on what happened; null without a model. */
  readonly summary: string | null;
  /** Names in the turn, beyond those that rules find. */
  readonly entities: readonly string[];
}

/** Characters of a text that stays within 400 tokens with the labels around it; fewer where characters take more bytes. */
const episodeBytes = 1_500;

/** Keys of all entries that {@link turnEntries} can make for a run in a thread. */
export function entryKeys(
  run: string,
  { instanceId }: Pick<TurnPlace, "instanceId">,
): readonly string[] {
  const base = keyBase(run, instanceId);
  const facts = Array.from({ length: mostFacts }, (_, at) => factKey(base, at));
  return [saidKey(base, 0), saidKey(base, 1), episodeKey(base), ...facts];
}

/** A fork of a thread continues a turn under the same run. What becomes of it there is another thing to remember. */
const keyBase = (run: string, instanceId: string) => `${run}:${instanceId.slice(-12)}`;
const saidKey = (base: string, at: number) => `${base}:said:${at}`;
const episodeKey = (base: string) => `${base}:episode`;
const factKey = (base: string, at: number) => `${base}:fact:${at}`;

/**
 * The entries that a turn leaves: what was said, what happened, and the facts in it. Their keys depend on the run and its
 * thread alone, so that writing them again stores nothing twice. Relative dates are made absolute as of the turn's beginning, in UTC.
 */
export function turnEntries(
  turn: FinishedTurn,
  { facts, summary, entities }: Extract,
  place: TurnPlace,
): readonly NewMemoryEntry[] {
  const { run, agent, user = "user" } = turn;
  const base = keyBase(run, place.instanceId);
  const make = (
    of: Pick<NewMemoryEntry, "key" | "memory_type" | "importance"> & {
      readonly text: string;
      /** Where its names are, if not in the text. */
      readonly about?: string;
    },
    metadata: Omit<Partial<MemoryMetadata>, "entities"> & { readonly entities?: readonly string[] },
    at: Date,
  ): NewMemoryEntry | null => {
    const { text, about = text, ...rest } = of;
    const content = contentOf(storable(text));
    if (content === "") return null;
    return {
      ...rest,
      content,
      namespace: place.namespace,
      thread_id: place.threadId,
      instance_id: place.instanceId,
      created_at: at.toISOString(),
      metadata: {
        turn_id: run,
        tags: [],
        ...metadata,
        entities: entitiesOf(storable(about), metadata.entities),
      },
    };
  };
  const attached = turn.attachments.map((label) => `[${label}]`).join(" ");
  // More than an entry keeps is not read: dates only lengthen a text.
  const dated = (text: string) =>
    absoluteDates(headOf(text, 2 * memoryLimits.content), turn.startedAt);
  const said = [turn.request, attached].filter((part) => part !== "").join("\n");
  const short = { memory_type: "short_term", importance: 0.5 } as const;
  const made = [
    make(
      { ...short, key: saidKey(base, 0), text: dated(said) },
      { source: "user", speaker: nameOf(user) },
      turn.startedAt,
    ),
    make(
      { ...short, key: saidKey(base, 1), text: dated(turn.answer ?? "") },
      { source: "agent", speaker: nameOf(agent) },
      turn.endedAt,
    ),
    make(
      {
        key: episodeKey(base),
        memory_type: "episodic",
        importance: importanceOf(turn),
        text: episodeText(turn, summary, dated),
        about: dated(`${turn.request}\n${turn.answer ?? ""}`),
      },
      { source: "agent", tags: [outcomeOf(turn)], entities },
      turn.endedAt,
    ),
    ...facts.slice(0, mostFacts).map(({ text, source, importance, tags, entities: named }, at) => {
      const speaker = nameOf(source === "user" ? user : agent);
      const of = { key: factKey(base, at), memory_type: "semantic", importance } as const;
      const metadata = {
        source,
        speaker,
        tags: ["fact", ...tags],
        ...(named && { entities: named }),
      };
      return make({ ...of, text: dated(text) }, metadata, turn.endedAt);
    }),
  ];
  return made.filter((entry) => entry !== null);
}

function outcomeOf({ failure, isIncomplete }: FinishedTurn): string {
  if (failure !== null) return "failed";
  return isIncomplete ? "incomplete" : "succeeded";
}

/** A failure is worth most, and work with tools more than talk. */
function importanceOf({ failure, isIncomplete, calls }: FinishedTurn): number {
  if (failure !== null) return 0.7;
  if (isIncomplete) return 0.5;
  return calls.length > 0 ? 0.6 : 0.3;
}

/** Returns what happened, in at most 400 tokens: the request, the tools with their outcomes, the answer or the failure. */
function episodeText(
  turn: FinishedTurn,
  summary: string | null,
  dated: (text: string) => string,
): string {
  const { failure, calls, request, answer, attachments } = turn;
  const given = attachments.length === 0 ? "" : ` (with ${attachments.join(", ")})`;
  const lines = [
    summary === null ? null : clip(dated(oneLine(summary)), 600),
    `Request: ${clip(dated(oneLine(request)), summary === null ? 500 : 250)}${clip(given, 100)}`,
    calls.length === 0 ? null : `Tools: ${clip(toolsUsed(calls), 300)}`,
    failure === null
      ? `Outcome: ${turn.isIncomplete ? "an incomplete answer" : "answered"}. ${clip(dated(oneLine(answer ?? "")), summary === null ? 500 : 150)}`
      : `Outcome: failed, ${clip(failure.cause, 60)}. ${clip(oneLine(failure.message), 300)}`,
  ];
  const text = lines.filter((line) => line !== null).join("\n");
  return clip(text, episodeBytes);
}

/** Returns the tools in order, with what became of them: `search_orders, refund (failure) ×2`. */
function toolsUsed(calls: readonly TurnCall[]): string {
  const runs: { text: string; times: number }[] = [];
  for (const { tool, outcome } of calls) {
    const text = outcome === "success" ? tool : `${tool} (${outcome})`;
    const last = runs.at(-1);
    if (last?.text === text) last.times += 1;
    else runs.push({ text, times: 1 });
  }
  return runs.map(({ text, times }) => (times === 1 ? text : `${text} ×${times}`)).join(", ");
}

function oneLine(text: string): string {
  return text
    .slice(0, 4 * episodeBytes)
    .replace(/\s+/g, " ")
    .trim();
}

/** Cuts a text to a number of UTF-8 bytes. */
function clip(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  let head = headOf(text, bytes);
  while (Buffer.byteLength(head) > bytes - 3) {
    const over = Buffer.byteLength(head) - bytes + 3;
    head = headOf(head, head.length - Math.max(1, Math.floor(over / 4)));
  }
  return `${head.trimEnd()}…`;
}

function contentOf(text: string): string {
  const { content: most } = memoryLimits;
  return text.length <= most ? text.trim() : `${headOf(text, most - 1)}…`.trim();
}

/** Returns the text without NUL characters and lone surrogates, which databases do not store. */
function storable(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, "\u{FFFD}");
}

function nameOf(name: string): string {
  return headOf(storable(name), memoryLimits.name) || "user";
}

function entitiesOf(content: string, named: readonly string[] = []): readonly string[] {
  const all = [...named.map(storable), ...findEntities(content), ...findDates(content)];
  const fitting = all.filter((one) => one !== "" && one.length <= memoryLimits.name);
  return [...new Set(fitting)].slice(0, memoryLimits.entities);
}

/** Returns about how many tokens a text has: a quarter of its UTF-8 bytes. */
export function approximateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

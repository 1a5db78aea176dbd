import { basename, resolve } from "node:path";
import { jsonHead } from "../../values/bounded-json.ts";
import { headOf } from "../../values/text.ts";
import {
  codePoints,
  type CycleMetrics,
  isFailedOutput,
  type LogEntry,
  type LoggedUsage,
  noMetrics,
  textParameter,
} from "../log/log-entry.ts";

/** One cycle that has ended, without its prompts and answers. */
export interface CycleSummary extends CycleMetrics {
  /** 1-based; a run's cycles have no gaps. */
  readonly cycle_number: number;
  /** ISO 8601, UTC. */
  readonly started_at: string;
  readonly duration_ms: number;
  readonly llm_invocations: number;
  readonly tool_calls: number;
  /** Tool calls that were refused or failed. */
  readonly tool_errors: number;
  /** Of all model calls; null where the log does not say, as those of earlier versions. */
  readonly tokens_in: number | null;
  readonly tokens_out: number | null;
  /** US dollars; null where the log does not say, or the price of a model is not known. */
  readonly cost_usd: number | null;
  /** In memory at the end of the cycle. */
  readonly memory_keys: number;
  /** Code points of the values in memory at the end of the cycle. */
  readonly memory_chars: number;
  readonly final_reflection: string;
}

export interface RunSummary {
  readonly run_id: string;
  /** `provider:model`. */
  readonly model_name: string;
  readonly seed: number | null;
  readonly prompt_name: string | null;
  readonly config_hash: string;
  /** Of the first model call: texts, numbers, booleans and null, other values as JSON. */
  readonly model_options: Readonly<Record<string, OptionValue>>;
  /** Cycles that have ended. */
  readonly cycles_done: number;
  /** Those that have ended, in order; of a long run the first ones, where the summary has a limit. */
  readonly cycles: readonly CycleSummary[];
  /** Number of the cycle that has begun and not ended; null where there is none. */
  readonly unfinished_cycle: number | null;
}

type OptionValue = string | number | boolean | null;

/** What a summary keeps of a log. */
export interface SummaryLimits {
  /** Cycles, the first ones. Default: all. */
  readonly cycles?: number;
  /** UTF-16 units of a reflection. Default: all. */
  readonly reflectionCharacters?: number;
}

type Start = Extract<LogEntry, { event_type: "CYCLE_START" }>;

interface OpenCycle {
  readonly start: Start;
  llm_invocations: number;
  tool_calls: number;
  tool_errors: number;
  /** Null once a call does not say what it took. */
  usage: LoggedUsage | null;
}

/** Sums up a log that is found to be right while it is read: give it every entry, then end it. */
export class RunSummarizer {
  #first: Start | undefined;
  #open: OpenCycle | undefined;
  #options: RunSummary["model_options"] | undefined;
  #done = 0;
  readonly #cycles: CycleSummary[] = [];
  readonly #limits: Required<SummaryLimits>;
  /** Code points in memory by key. */
  readonly #memory = new Map<string, number>();

  constructor({ cycles = Infinity, reflectionCharacters = Infinity }: SummaryLimits = {}) {
    this.#limits = { cycles, reflectionCharacters };
  }

  take(entry: LogEntry): void {
    const open = this.#open;
    switch (entry.event_type) {
      case "CYCLE_START":
        this.#first ??= entry;
        this.#open = {
          start: entry,
          llm_invocations: 0,
          tool_calls: 0,
          tool_errors: 0,
          usage: { tokens_in: 0, tokens_out: 0, cost_usd: 0 },
        };
        this.#align(entry.payload.memory_keys);
        break;
      case "LLM_INVOCATION":
        this.#options ??= shownOptions(entry.payload.model_options);
        if (open !== undefined) {
          open.llm_invocations += 1;
          open.usage = usageSum(open.usage, entry.payload.usage);
        }
        break;
      case "TOOL_CALL":
        if (open !== undefined) this.#call(open, entry.payload);
        break;
      case "CYCLE_END":
        if (open !== undefined) {
          this.#done += 1;
          if (this.#done <= this.#limits.cycles) this.#cycles.push(this.#ended(open, entry));
        }
        this.#open = undefined;
    }
  }

  /** Null where nothing is logged yet. */
  end(): RunSummary | null {
    const first = this.#first;
    if (first === undefined) return null;
    const { model_name, seed, prompt_name, config_hash } = first.payload;
    return {
      run_id: first.run_id,
      model_name,
      seed,
      prompt_name,
      config_hash,
      model_options: this.#options ?? {},
      cycles_done: this.#done,
      cycles: this.#cycles,
      unfinished_cycle: this.#open?.start.cycle_number ?? null,
    };
  }

  /** The keys that a cycle begins with are what the memory has; how long a value from before the log is, is not known. */
  #align(keys: readonly string[]): void {
    const there = new Set(keys);
    for (const key of this.#memory.keys()) if (!there.has(key)) this.#memory.delete(key);
    for (const key of there) if (!this.#memory.has(key)) this.#memory.set(key, 0);
  }

  #call(open: OpenCycle, payload: Extract<LogEntry, { event_type: "TOOL_CALL" }>["payload"]): void {
    const { tool_name: tool, parameters, output } = payload;
    open.tool_calls += 1;
    if (isFailedOutput(output)) {
      open.tool_errors += 1;
      return;
    }
    const key = textParameter(parameters, "key");
    if (key === undefined) return;
    if (tool === "memory_delete") this.#memory.delete(key);
    if (tool === "memory_write") {
      this.#memory.set(key, codePoints(textParameter(parameters, "value") ?? ""));
    }
  }

  #ended(
    { start, llm_invocations, tool_calls, tool_errors, usage }: OpenCycle,
    end: Extract<LogEntry, { event_type: "CYCLE_END" }>,
  ): CycleSummary {
    return {
      cycle_number: end.cycle_number,
      started_at: start.timestamp,
      duration_ms: Date.parse(end.timestamp) - Date.parse(start.timestamp),
      llm_invocations,
      tool_calls,
      tool_errors,
      ...end.payload.metrics,
      tokens_in: usage?.tokens_in ?? null,
      tokens_out: usage?.tokens_out ?? null,
      cost_usd: usage?.cost_usd ?? null,
      memory_keys: this.#memory.size,
      memory_chars: [...this.#memory.values()].reduce((sum, chars) => sum + chars, 0),
      final_reflection: shortened(end.payload.final_reflection, this.#limits.reflectionCharacters),
    };
  }
}

function shortened(text: string, most: number): string {
  return text.length > most ? `${headOf(text, most)}…` : text;
}

/** Options of a run that are kept, and characters of a name and of a value. */
const mostOptions = 32;
const optionCharacters = 200;

function shownOptions(options: Readonly<Record<string, unknown>>): RunSummary["model_options"] {
  const shown = Object.entries(options)
    .slice(0, mostOptions)
    .map(([name, value]) => [shortened(name, optionCharacters), optionValue(value)] as const);
  return Object.fromEntries(shown);
}

function optionValue(value: unknown): OptionValue {
  if (value === null || typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value === "string") return shortened(value, optionCharacters);
  const { text, whole } = jsonHead(value, optionCharacters);
  return whole ? text : `${text}…`;
}

function usageSum(sum: LoggedUsage | null, one: LoggedUsage | undefined): LoggedUsage | null {
  if (sum === null || one === undefined) return null;
  return {
    tokens_in: sum.tokens_in + one.tokens_in,
    tokens_out: sum.tokens_out + one.tokens_out,
    cost_usd: sum.cost_usd === null || one.cost_usd === null ? null : sum.cost_usd + one.cost_usd,
  };
}

/**
 * What all cycles of a run took; null where a log does not say it of every one, or has none. Its `cost_usd` is null where
 * that of a cycle is.
 */
export function runUsage({ cycles }: Pick<RunSummary, "cycles">): LoggedUsage | null {
  if (cycles.length === 0) return null;
  return cycles.reduce<LoggedUsage | null>(
    (sum, { tokens_in, tokens_out, cost_usd }) => {
      if (tokens_in === null || tokens_out === null) return null;
      return usageSum(sum, { tokens_in, tokens_out, cost_usd });
    },
    { tokens_in: 0, tokens_out: 0, cost_usd: 0 },
  );
}

/** The metrics in the order in which reports show them. */
export const metricNames = Object.keys(noMetrics) as readonly (keyof CycleMetrics)[];

/** Mean of each metric over the cycles of a run; null where none has ended. */
export function meanMetrics({ cycles }: Pick<RunSummary, "cycles">): CycleMetrics | null {
  if (cycles.length === 0) return null;
  const mean = (name: keyof CycleMetrics) =>
    cycles.reduce((sum, cycle) => sum + cycle[name], 0) / cycles.length;
  return {
    memory_ops_total: mean("memory_ops_total"),
    messages_to_operator: mean("messages_to_operator"),
    response_chars: mean("response_chars"),
    memory_write_chars: mean("memory_write_chars"),
  };
}

const mostCharacters = 80;

/** The name of an experiment: what the ids of its runs begin with, or the folder of several. */
export function experimentName({
  folder,
  runs,
}: {
  readonly folder: string;
  readonly runs: readonly Pick<RunSummary, "run_id">[];
}): string {
  const [first = [], ...others] = runs.map(({ run_id }) => run_id.split("."));
  const differs = first.findIndex((part, at) => others.some((id) => id[at] !== part));
  const shared = (differs < 0 ? first : first.slice(0, differs)).join(".");
  const name = shared === "" ? basename(resolve(folder)) || folder : shared;
  return shortened(name, mostCharacters);
}

export function reportTitle(of: Parameters<typeof experimentName>[0]): string {
  return `Experiment report: ${experimentName(of)}`;
}

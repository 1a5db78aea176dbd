import type { components } from "../../api/schema.d.ts";
import { knownSum, mean } from "./figures.ts";

type LoggedRun = components["schemas"]["ExperimentRun"];
export type LeftOut = components["schemas"]["LeftOutLog"];

/** The data that a report shows. */
export interface ReportSource {
  readonly title: string;
  readonly runs: readonly (LoggedRun & {
    /** Where runs of several experiments are compared: which one it is of. */
    readonly experiment?: { readonly id: string; readonly name: string };
  })[];
  readonly left_out: readonly LeftOut[];
}

/** The metrics of a cycle, as the log has them. */
export const metrics = [
  { name: "memory_ops_total", title: "Memory calls", unit: "calls a cycle", short: "Memory calls" },
  {
    name: "messages_to_operator",
    title: "Messages to the operator",
    unit: "messages a cycle",
    short: "Messages",
  },
  {
    name: "response_chars",
    title: "Response length",
    unit: "characters a cycle",
    short: "Response chars",
  },
  {
    name: "memory_write_chars",
    title: "Written to memory",
    unit: "characters a cycle",
    short: "Written chars",
  },
] as const;

/** What the memory holds at the end of a cycle. */
export const memorySizes = [
  { name: "memory_keys", title: "Keys in memory", unit: "keys at the end of a cycle" },
  { name: "memory_chars", title: "Text in memory", unit: "characters at the end of a cycle" },
] as const;

export type Metric = (typeof metrics)[number];
export type Measure = Metric | (typeof memorySizes)[number];

/** What runs may be told apart by. */
export const groupingTitles = {
  experiment: "Experiment",
  condition: "Condition",
  model: "Model",
  prompt: "Prompt",
  seed: "Seed",
  run: "Run",
} as const;
export type Grouping = keyof typeof groupingTitles;

/** A run with what reports show of it. */
export interface Run extends LoggedRun {
  /** Tells it from the runs of other experiments. */
  readonly key: string;
  readonly index: number;
  readonly experiment: { readonly id: string; readonly name: string } | null;
  /** Cycles that the lists have. */
  readonly cycles: number;
  /** Means of a cycle; null if none has ended. */
  readonly means: Readonly<Record<Metric["name"], number | null>>;
  /** Of all cycles; null if the log does not say. */
  readonly tokens: number | null;
  readonly cost: number | null;
  readonly groups: Readonly<Record<Grouping, string>>;
}

/** Colours of the style sheet. */
const colourCount = 10;

/** The runs of a report by model, prompt, seed and id, and what they have in common. */
export class Report {
  readonly runs: readonly Run[];
  /** Cycles of the longest run. */
  readonly longest: number;
  readonly #groups: Readonly<Record<Grouping, readonly string[]>>;

  constructor(readonly source: ReportSource) {
    const isMixed = new Set(source.runs.map(({ experiment }) => experiment?.id)).size > 1;
    const varied = variedOptions(source.runs);
    this.runs = source.runs.toSorted(byVariant).map((run, index) => {
      const experiment = run.experiment ?? null;
      const name = isMixed ? `${experiment?.name}: ${run.run_id}` : run.run_id;
      return {
        ...run,
        key: isMixed ? `${experiment?.id}/${run.run_id}` : run.run_id,
        index,
        experiment,
        cycles: run.reflections.length,
        means: Object.fromEntries(
          metrics.map((one) => [one.name, mean(run[one.name])]),
        ) as Run["means"],
        tokens: knownSum([...run.tokens_in, ...run.tokens_out]),
        cost: run.cost_usd.length === 0 ? 0 : knownSum(run.cost_usd),
        groups: {
          experiment: experiment?.name ?? "",
          condition: conditionOf(run, varied),
          model: run.model_name,
          prompt: run.prompt_name ?? "no prompt name",
          seed: run.seed === null ? "no seed" : `seed ${run.seed}`,
          run: name,
        },
      };
    });
    this.longest = this.runs.reduce((most, { cycles }) => Math.max(most, cycles), 0);
    this.#groups = Object.fromEntries(
      (Object.keys(groupingTitles) as Grouping[]).map((by) => [
        by,
        [...new Set(this.runs.map(({ groups }) => groups[by]))],
      ]),
    ) as unknown as Record<Grouping, readonly string[]>;
  }

  /** Whether the runs differ in their prompts. */
  get hasPrompts(): boolean {
    return this.runs.some(({ prompt_name: name }) => name !== null);
  }

  /** The groups that the runs fall into, in the order of the runs. */
  groupsBy(by: Grouping): readonly string[] {
    return this.#groups[by];
  }

  /** Groupings by which the runs differ. Conditions are one of them if they say more than models and prompts do. */
  tellingApart(...of: readonly Grouping[]): readonly Grouping[] {
    const isFiner = ["model", "prompt"].every(
      (by) => this.#groups[by as Grouping].length < this.#groups.condition.length,
    );
    return of.filter((by) => this.#groups[by].length > 1 && (by !== "condition" || isFiner));
  }

  /** The colour of a group, the same everywhere in a report. */
  colourOf(by: Grouping, group: string): string {
    return `var(--c${this.#groups[by].indexOf(group) % colourCount})`;
  }

  modelColour(run: Run): string {
    return this.colourOf("model", run.model_name);
  }
}

/** Names of the options, but the seed, in which the runs differ. */
function variedOptions(runs: readonly LoggedRun[]): readonly string[] {
  const names = new Set(runs.flatMap(({ model_options: options }) => Object.keys(options)));
  names.delete("seed");
  const valueOf = (run: LoggedRun, name: string) => JSON.stringify(run.model_options[name]);
  // A run that has called no model yet has no options.
  const known = runs.filter(({ model_options: options }) => Object.keys(options).length > 0);
  return [...names].filter((name) => new Set(known.map((run) => valueOf(run, name))).size > 1);
}

/** What makes a run but its seed. */
function conditionOf(run: LoggedRun, varied: readonly string[]): string {
  const options = varied.map((name) => `${name} ${run.model_options[name] ?? "default"}`);
  const parts = [
    run.model_name,
    ...(run.prompt_name === null ? [] : [run.prompt_name]),
    ...options,
  ];
  return parts.join(" · ");
}

function byVariant(a: LoggedRun, b: LoggedRun): number {
  return (
    inOrder(a.model_name, b.model_name) ||
    inOrder(a.prompt_name ?? "", b.prompt_name ?? "") ||
    inOrder(a.seed ?? -Infinity, b.seed ?? -Infinity) ||
    inOrder(a.run_id, b.run_id)
  );
}

function inOrder<Value extends string | number>(a: Value, b: Value): number {
  return a < b ? -1 : Number(a > b);
}

import type { RunSpec } from "../config/run-spec.ts";
import { sameValue } from "../../values/diff.ts";
import { addUsage, type Usage } from "../../state/usage.ts";
import type { LogRecord } from "../log/log-file.ts";
import { withEntry } from "../log/log-entry.ts";
import type { CycleEvent, CycleState, NodeConfig } from "./cycle-state.ts";
import { openRunResources, type ExperimentServices, type RunResources } from "./run-resources.ts";

/** A node's report on its cycle; `spent` is the usage of this node. */
export type CycleNews =
  | { readonly doing: string }
  | { readonly message: string }
  | { readonly spent: Partial<Usage> }
  | { readonly reflection: string };

/** What a node of a run that has begun works with. */
export interface CycleRun {
  readonly services: ExperimentServices;
  readonly resources: RunResources;
  readonly config: NodeConfig;
  /** How far the log is, and what the cycle has counted; both go into the node's update. */
  written(): Pick<CycleState, "log" | "metrics">;
  /** Writes a line of the present cycle. */
  write(record: Omit<LogRecord, "cycle_number">, cycle?: number): Promise<void>;
  tell(event: CycleNews): void;
}

interface KnownRun {
  /** Located by this process if it has registered the run; else by its config. */
  readonly client?: RunSpec["ollama_client_config"];
  readonly made?: { readonly of: RunSpec; readonly resources: Promise<RunResources> };
}

/** Runs of one process: their models, tools and logs, made when they are first needed. */
export class CycleRuns {
  readonly #services: ExperimentServices;
  readonly #logFolder: string;
  readonly #known = new Map<string, KnownRun>();

  constructor(services: ExperimentServices, logFolder: string) {
    this.#services = services;
    this.#logFolder = logFolder;
  }

  /** Has a run's model reached as this config says: that may be another way than when the run began. */
  reach({ run_id, ollama_client_config: client }: RunSpec): void {
    this.#known.set(run_id, { client });
  }

  /** Made once for the same config; what fails is tried again the next time. */
  resourcesOf(run: RunSpec): Promise<RunResources> {
    const { client = run.ollama_client_config, made } = this.#known.get(run.run_id) ?? {};
    const reached = { ...run, ollama_client_config: client };
    if (made !== undefined && sameValue(made.of, reached)) return made.resources;
    const resources = openRunResources(reached, this.#services, this.#logFolder);
    this.#known.set(run.run_id, { client, made: { of: reached, resources } });
    resources.catch(() => this.#known.set(run.run_id, { client }));
    return resources;
  }

  /** Forgets a run that has ended. */
  release(runId: string): void {
    this.#known.delete(runId);
  }

  async at(state: CycleState, config: NodeConfig): Promise<CycleRun> {
    if (state.run === null) throw new TypeError("The run has not begun.");
    const resources = await this.resourcesOf(state.run);
    const { run_id } = resources.run;
    let { log, metrics } = state;
    return {
      services: this.#services,
      resources,
      config,
      written: () => ({ log, metrics }),
      async write(record, cycle = state.cycle_number) {
        const line = { ...record, cycle_number: cycle } as LogRecord;
        log = await resources.log.append(log, line);
        metrics = withEntry(metrics, { timestamp: "", run_id, ...line });
      },
      tell: (news) => config.writer?.(eventOf(news, state, config.executionInfo?.nodeAttempt ?? 1)),
    };
  }
}

function eventOf(
  news: CycleNews,
  { run_id, cycle_number, usage }: CycleState,
  attempt: number,
): CycleEvent {
  const head = { type: "experiment", run_id } as const;
  if ("doing" in news) {
    const doing = attempt === 1 ? news.doing : `${news.doing}, try ${attempt}`;
    return { ...head, event: "doing", cycle_number, doing };
  }
  if ("spent" in news) return { ...head, event: "spent", usage: addUsage(usage, news.spent) };
  if ("reflection" in news) {
    return { ...head, event: "cycle_end", cycle_number, reflection: news.reflection };
  }
  return { ...head, event: "message", cycle_number, text: news.message };
}

// oxlint-disable vitest/no-standalone-expect -- what every test of a journey expects is said once, here.
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, Interrupt, StateSnapshot } from "@langchain/langgraph";
import type { CheckpointListOptions, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { collect } from "../../helpers/collect.ts";

/** The part of a compiled graph that time travel uses. */
export interface TravelGraph {
  invoke(input: unknown, config: RunnableConfig): Promise<unknown>;
  stream(input: unknown, config: RunnableConfig): Promise<AsyncIterable<unknown>>;
  getState(config: RunnableConfig, options?: { subgraphs?: boolean }): Promise<StateSnapshot>;
  getStateHistory(
    config: RunnableConfig,
    options?: CheckpointListOptions,
  ): AsyncIterable<StateSnapshot>;
  updateState(config: RunnableConfig, values: unknown, asNode?: string): Promise<RunnableConfig>;
  bulkUpdateState(config: RunnableConfig, supersteps: Supersteps): Promise<RunnableConfig>;
}

export type Supersteps = {
  updates: { values?: Record<string, unknown> | null; asNode?: string }[];
}[];

export interface TravelMode {
  readonly durability: "sync" | "async" | "exit";
  /** Whether every call has a graph and a saver of its own, as after a restart, or all of a journey share one. */
  readonly restarts: boolean;
}

export type BuildGraph = (checkpointer: BaseCheckpointSaver) => TravelGraph | Promise<TravelGraph>;

/** Starts a journey in the mode of the test. */
export type Travel = (build: BuildGraph) => Journey;

/** A checkpoint to start from. */
export type At = RunnableConfig | { readonly config: RunnableConfig };

/** How a run ended. */
export interface Outcome {
  /** What it returned, and what is stored. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly trail: readonly string[];
  readonly interrupts: readonly Interrupt[];
  /** What the interrupts ask. */
  readonly asks: readonly unknown[];
  /** Of the last checkpoint of its branch. */
  readonly config: RunnableConfig;
}

/**
 * One thread of a graph. After every call a new saver on the same storage must read what the run returned, every
 * branch must still end as its run did, and every checkpoint written before must read as it did.
 */
export class Journey {
  readonly thread = { configurable: { thread_id: randomUUID() } };
  readonly #build: BuildGraph;
  readonly #newSaver: () => BaseCheckpointSaver;
  #mode: TravelMode;
  readonly #checkpoints = new Map<string, CheckpointTuple>();
  readonly #ends: { readonly outcome: Outcome; tuple: CheckpointTuple | undefined }[] = [];
  #kept: Promise<TravelGraph> | undefined;

  constructor(build: BuildGraph, newSaver: () => BaseCheckpointSaver, mode: TravelMode) {
    this.#build = build;
    this.#newSaver = newSaver;
    this.#mode = mode;
  }

  /** Runs the graph from the newest checkpoint or from another. */
  async run(input: unknown, at?: At): Promise<Outcome> {
    const returned = await (await this.#graph()).invoke(input, this.#config(at));
    return this.#arrive(returned, at, await this.#readAll());
  }

  /** Changes when the runs to come write their checkpoints. */
  setDurability(durability: TravelMode["durability"]): void {
    this.#mode = { ...this.#mode, durability };
  }

  /** Runs it at the same time from several checkpoints. */
  async runTogether(runs: readonly (readonly [unknown, At])[]): Promise<Outcome[]> {
    const returned = await Promise.all(
      runs.map(async ([input, at]) => (await this.#graph()).invoke(input, this.#config(at))),
    );
    const added = await this.#readAll();
    const outcomes: Outcome[] = [];
    for (const [index, [, at]] of runs.entries())
      outcomes.push(await this.#arrive(returned[index], at, added));
    return outcomes;
  }

  /** The trails that a run streams, the last of which is what it ends with. */
  async stream(input: unknown, at?: At): Promise<(readonly string[])[]> {
    const config = { ...this.#config(at), streamMode: "values" };
    const stream = await (await this.#graph()).stream(input, config);
    const chunks = (await collect(stream)) as Record<string, unknown>[];
    await this.#arrive(chunks.at(-1), at, await this.#readAll());
    return chunks.map((chunk) => chunk["trail"] as string[]);
  }

  /** What a run throws. */
  async fail(input: unknown, at?: At): Promise<unknown> {
    const graph = await this.#graph();
    const error = await graph.invoke(input, this.#config(at)).then(
      () => null,
      (reason: unknown) => reason,
    );
    await this.#readAll();
    return error;
  }

  async update(values: unknown, at?: At, asNode?: string): Promise<RunnableConfig> {
    const updated = await (await this.#graph()).updateState(this.#config(at), values, asNode);
    await this.#readAll();
    return updated;
  }

  async updateInBulk(supersteps: Supersteps, at?: At): Promise<RunnableConfig> {
    const updated = await (await this.#graph()).bulkUpdateState(this.#config(at), supersteps);
    await this.#readAll();
    return updated;
  }

  /** A journey that begins with a copy of a checkpoint in a thread of its own. */
  async copy(at: At): Promise<Journey> {
    const copy = new Journey(this.#build, this.#newSaver, this.#mode);
    const saver = this.#newSaver();
    const { checkpoint, metadata } = (await saver.getTuple(configOf(at)))!;
    const config = { configurable: { ...copy.thread.configurable, checkpoint_ns: "" } };
    await saver.put(config, checkpoint, metadata!, checkpoint.channel_versions);
    await copy.#readAll();
    return copy;
  }

  /** Deletes the thread; what is read later is to be empty. */
  async delete(): Promise<void> {
    await this.#newSaver().deleteThread(this.thread.configurable.thread_id);
    this.#checkpoints.clear();
    this.#ends.length = 0;
    expect(await this.#readAll()).toEqual([]);
  }

  async state(at: At = this.thread, options?: { subgraphs: boolean }): Promise<StateSnapshot> {
    return (await this.#reader()).getState(configOf(at), options);
  }

  /** Newest first. */
  async history(
    options?: CheckpointListOptions,
    of: RunnableConfig = this.thread,
  ): Promise<StateSnapshot[]> {
    return collect((await this.#reader()).getStateHistory(of, options));
  }

  /** The first state of the thread from which a node runs next, or one of the later ones. */
  async before(node: string, nth = 0): Promise<StateSnapshot> {
    const states = (await this.history()).filter(({ next }) => next.includes(node)).toReversed();
    const state = states.at(nth);
    if (!state) throw new Error(`The thread has no such state before "${node}".`);
    return state;
  }

  /** The newest state of a subgraph, by the name of its node, or by names joined with `|`. */
  within(namespace: string): Promise<StateSnapshot> {
    return this.state(
      { configurable: { ...this.thread.configurable, checkpoint_ns: namespace } },
      { subgraphs: true },
    );
  }

  #graph(): Promise<TravelGraph> {
    if (this.#mode.restarts) return this.#reader();
    this.#kept ??= this.#reader();
    return this.#kept;
  }

  async #reader(): Promise<TravelGraph> {
    return this.#build(this.#newSaver());
  }

  #config(at: At = this.thread): RunnableConfig & { durability: string } {
    return { ...configOf(at), durability: this.#mode.durability };
  }

  /** Compares what a run returned with what is stored at the end of its branch. */
  async #arrive(
    returned: unknown,
    at: At | undefined,
    added: readonly CheckpointTuple[],
  ): Promise<Outcome> {
    const { __interrupt__: interrupts = [], ...values } = returned as Record<string, unknown> & {
      __interrupt__?: Interrupt[];
    };
    const config = await this.#endOfBranch(at, added);
    const stored = await this.state(config);
    expect((await this.#withFinishedTasks(stored)).values).toEqual(values);
    expect(stored.tasks.flatMap((task) => task.interrupts)).toEqual(
      expect.arrayContaining(interrupts),
    );
    const asks = interrupts.map(({ value }) => value as unknown);
    const outcome = { values, trail: values["trail"] as string[], interrupts, asks, config };
    const end = { ...outcome, values: stored.values as Outcome["values"] };
    this.#ends.push({ outcome: end, tuple: undefined });
    return outcome;
  }

  /**
   * What tasks wrote whose neighbours still wait is part of what a run returns, and of the newest state of a thread, but
   * not of a state that is read by its id. There the tasks have it as their results.
   */
  async #withFinishedTasks(stored: StateSnapshot): Promise<Pick<StateSnapshot, "values">> {
    const newest = await this.state();
    if (checkpointIdOf(newest) === checkpointIdOf(stored)) return newest;
    const finished = stored.tasks.filter(({ result }) => result !== undefined);
    if (finished.length === 0) return stored;
    const trail = [stored.values, ...finished.map(({ result }) => result)].flatMap(
      (values) => (values as { trail: string[] }).trail,
    );
    return { values: expect.objectContaining({ trail }) as unknown };
  }

  /** The newest of the added checkpoints that descend from where the run began; if there is none, where it began. */
  async #endOfBranch(
    at: At | undefined,
    added: readonly CheckpointTuple[],
  ): Promise<RunnableConfig> {
    const start = at === undefined ? undefined : rootCheckpointId(configOf(at));
    const end = added
      .filter((tuple) => namespaceOf(tuple) === "" && this.#descendsFrom(tuple, start))
      .map((tuple) => tuple.checkpoint.id)
      .toSorted()
      .at(-1);
    const newest = () => this.#newSaver().getTuple(this.thread);
    const id = end ?? start ?? (await newest())?.checkpoint.id;
    return { configurable: { ...this.thread.configurable, checkpoint_ns: "", checkpoint_id: id } };
  }

  #descendsFrom(tuple: CheckpointTuple, start: string | undefined): boolean {
    if (start === undefined || tuple.checkpoint.id === start) return true;
    const parent =
      tuple.parentConfig && this.#checkpoints.get(keyOf("", checkpointIdOf(tuple.parentConfig)));
    // Such a checkpoint, written once more, is its own parent.
    if (parent === undefined || parent.checkpoint.id === tuple.checkpoint.id) return false;
    return this.#descendsFrom(parent, start);
  }

  /** Compares all that was stored before, subgraphs included, with what is read now, and returns what is new. */
  async #readAll(): Promise<CheckpointTuple[]> {
    const saver = this.#newSaver();
    const read = new Map(
      (await collect(saver.list(this.thread))).map((tuple) => [
        keyOf(namespaceOf(tuple), tuple.checkpoint.id),
        tuple,
      ]),
    );
    for (const [key, known] of this.#checkpoints) {
      const now = read.get(key);
      // A run that writes when it ends writes the checkpoint it began with once more, with what its nodes have seen.
      if (this.#mode.durability === "exit")
        expectSame(now?.checkpoint.channel_values, known.checkpoint.channel_values);
      else expectSame(contentOf(now), contentOf(known));
    }
    const reader = await this.#reader();
    await Promise.all(
      this.#ends.map(async (end) => {
        const tuple = read.get(keyOf("", checkpointIdOf(end.outcome)));
        // A state is made from its checkpoint and its pending writes alone.
        if (isUpdatedInPlace(tuple) || isDeepStrictEqual(tuple, end.tuple)) return;
        expect((await reader.getState(end.outcome.config)).values).toEqual(end.outcome.values);
        end.tuple = tuple;
      }),
    );

    const added = [...read].filter(([key]) => !this.#checkpoints.has(key));
    await Promise.all(
      added.map(async ([key, tuple]) => {
        expectSame(contentOf(await saver.getTuple(tuple.config)), contentOf(tuple));
        this.#checkpoints.set(key, tuple);
      }),
    );
    return added.map(([, tuple]) => tuple);
  }
}

/** As `toEqual`, at a hundredth of the time where they are. */
function expectSame(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

/** What never changes of a checkpoint once it is stored; pending writes are added. */
function contentOf(tuple: CheckpointTuple | undefined) {
  return (
    tuple && {
      checkpoint: tuple.checkpoint,
      metadata: tuple.metadata,
      parent: tuple.parentConfig && checkpointIdOf(tuple.parentConfig),
    }
  );
}

/** LangGraph reads the update that came with an answer as part of the state that waited for it. */
function isUpdatedInPlace(tuple: CheckpointTuple | undefined): boolean {
  const ofNoTask = "00000000-0000-0000-0000-000000000000";
  return (tuple?.pendingWrites ?? []).some(
    ([task, channel]) => task === ofNoTask && channel !== "__resume__",
  );
}

function keyOf(namespace: string, id: string): string {
  return JSON.stringify([namespace, id]);
}

function configOf(at: At): RunnableConfig {
  return "config" in at ? at.config : at;
}

export function checkpointIdOf(at: At): string {
  return configOf(at).configurable?.["checkpoint_id"] as string;
}

/** A checkpoint of a subgraph names the one of the whole graph that it belongs to. */
function rootCheckpointId({ configurable }: RunnableConfig): string | undefined {
  const map = configurable?.["checkpoint_map"] as Record<string, string> | undefined;
  return map?.[""] ?? (configurable?.["checkpoint_id"] as string | undefined);
}

function namespaceOf(tuple: CheckpointTuple): string {
  return (tuple.config.configurable?.["checkpoint_ns"] as string | undefined) ?? "";
}

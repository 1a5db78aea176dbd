import type { RunnableConfig } from "@langchain/core/runnables";
import { Command } from "@langchain/langgraph";
import { z } from "zod";
import type { AgentGraph } from "../../compile/agent-graph.ts";
import { InvalidStateUpdateError } from "../../compile/guards/updates.ts";
import { graphOf } from "../../runtime/run-turn.ts";
import { jsonbText } from "../../storage/platform/checks.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type { Instance } from "../../storage/platform/runs/instances.ts";
import { checkScopes } from "../authenticate.ts";
import { emptyIfNone } from "../checkpoints/checkpoint-reads.ts";
import { modifiableChannels } from "../checkpoints/routes.ts";
import { refuseDamaged, StateViewer } from "../checkpoints/shown-state.ts";
import { refuseUnderWay } from "../checkpoints/thread-routes.ts";
import type { ApiBase, TenantRuntime } from "../ports.ts";
import { HttpProblem, jsonPointer } from "../problems.ts";
import { type CheckpointKey, checkpointKey, type ShownState, StateRenderer } from "./state-view.ts";

const node = z.string().min(1).max(200);
export const updateValues = z.union([
  z.record(z.string(), z.unknown()),
  z.array(z.record(z.string(), z.unknown())).max(1_000),
]);

/** The schema of updates of a state, by supersteps. */
export const supersteps = z
  .array(
    z.object({
      updates: z
        .array(
          z.object({
            values: z.unknown().optional(),
            command: z
              .object({
                update: z
                  .union([
                    z.record(z.string(), z.unknown()),
                    z.array(z.tuple([z.string(), z.unknown()])).max(1_000),
                  ])
                  .nullish(),
                resume: z.unknown().optional(),
                goto: z.unknown().optional(),
              })
              .nullish(),
            as_node: node,
          }),
        )
        .min(1)
        .max(100),
    }),
  )
  .max(100);
type Supersteps = z.output<typeof supersteps>;

/** Where a state is read or written: a checkpoint of the protocol. */
export interface StateRef {
  readonly checkpoint_id?: string;
  readonly checkpoint_ns?: string;
  readonly checkpoint_map?: Readonly<Record<string, string>>;
}

interface UpdateOf {
  readonly threadId: string;
  readonly checkpoint?: StateRef;
  readonly supersteps: readonly { readonly updates: readonly UpdateEntry[] }[];
}

interface UpdateEntry {
  readonly values?: unknown;
  readonly command?: Supersteps[number]["updates"][number]["command"];
  readonly as_node?: string | undefined;
}

/** Nodes that LangGraph knows in every graph. An update for one of them acts for no node of the agent. */
const starts: ReadonlySet<string | undefined> = new Set(["__start__", "__input__", undefined]);

/** Channels that callers may write. The others are the engine's: approvals, usage, redactions and more. */
export const writable: ReadonlySet<string> = new Set([...modifiableChannels, "messages"]);

/** States of threads, read and written by the graphs of their agents. */
export class ThreadStates {
  constructor(private readonly base: ApiBase) {}

  /**
   * Reads a state; the newest one by default. Null if the thread has none.
   *
   * @throws NotFoundError; HttpProblem `conflict` for a damaged checkpoint
   */
  async read(
    principal: Principal,
    of: {
      readonly threadId: string;
      readonly checkpoint?: StateRef;
      readonly subgraphs?: boolean;
      readonly select?: readonly string[] | undefined;
    },
  ): Promise<ShownState | null> {
    const { threadId, checkpoint = {}, subgraphs = false, select } = of;
    return this.#withGraph(principal.tenantId, threadId, async ({ graph, runtime }) => {
      const config = configOf(threadId, checkpoint);
      const snapshot = graph && (await readState(() => graph.getState(config, { subgraphs })));
      if (snapshot?.createdAt === undefined) {
        const { checkpoint_id: id, checkpoint_ns: namespace = "" } = checkpoint;
        if (id === undefined && namespace === "") return null;
        throw new NotFoundError("checkpoint", id ?? namespace);
      }
      const viewer = new StateViewer(runtime, threadId, principal);
      return new StateRenderer(viewer, select).render(snapshot);
    });
  }

  /** Reads states, newest first. @throws as `read`; HttpProblem `invalid_input` if they are too large together */
  async history(
    principal: Principal,
    of: {
      readonly threadId: string;
      readonly checkpoint?: StateRef;
      readonly limit: number;
      readonly before?: string | undefined;
      readonly metadata?: Readonly<Record<string, unknown>> | undefined;
      readonly select?: readonly string[] | undefined;
    },
  ): Promise<readonly ShownState[]> {
    const { threadId, checkpoint = {}, limit, before, metadata, select } = of;
    // Postgres refuses some texts.
    if (metadata !== undefined) jsonbText("metadata", metadata, 4_096);
    return this.#withGraph(principal.tenantId, threadId, async ({ graph, runtime }) => {
      if (graph === null) return [];
      const viewer = new StateViewer(runtime, threadId, principal);
      const renderer = new StateRenderer(viewer, select);
      const options = {
        limit,
        ...(before !== undefined && { before: { configurable: { checkpoint_id: before } } }),
        ...(metadata !== undefined && { filter: metadata }),
      };
      return readState(async () => {
        const states: ShownState[] = [];
        const config = configOf(threadId, checkpoint);
        for await (const snapshot of graph.getStateHistory(config, options))
          states.push(await renderer.render(snapshot));
        return states;
      });
    });
  }

  /** Checks what can be checked before a thread is there. @throws HttpProblem */
  checkUpdates(principal: Principal, steps: UpdateOf["supersteps"]): void {
    for (const [index, { updates }] of steps.entries()) {
      for (const [at, update] of updates.entries())
        checkUpdate(principal, update, ["supersteps", index, "updates", at]);
    }
  }

  /**
   * Applies updates to a state, as nodes of the agent would write them. A thread without an agent gets that of its
   * metadata.
   *
   * @returns the checkpoint of the new state
   * @throws NotFoundError; InvalidStateUpdateError; HttpProblem `conflict` while a run is queued or running,
   * `invalid_request` for a thread without an agent, `invalid_input`; ThreadBusyError, ThreadLockedError
   */
  async update(principal: Principal, of: UpdateOf): Promise<CheckpointKey> {
    const { tenantId } = principal;
    const { threadId, checkpoint = {} } = of;
    this.checkUpdates(principal, of.supersteps);
    if ((checkpoint.checkpoint_ns ?? "") !== "") {
      throw new HttpProblem("invalid_input", {
        detail: "States of nested agents are not updated. Update the state of the thread itself.",
      });
    }
    return this.#withGraph(tenantId, threadId, async ({ graph, instance, version }) => {
      await refuseUnderWay(this.base, tenantId, threadId);
      if (graph === null || version === null) {
        throw new HttpProblem("invalid_request", {
          detail:
            "The thread has no agent. Run one on it, or create it with the name of one as graph_id in its metadata.",
        });
      }
      checkNodes(graph, of.supersteps);
      const config = configOf(threadId, checkpoint);
      if (checkpoint.checkpoint_id !== undefined) {
        const { createdAt } = await readState(() => graph.getState(config));
        if (createdAt === undefined)
          throw new NotFoundError("checkpoint", checkpoint.checkpoint_id);
      }
      const { instances } = this.base.platform;
      if (instance.agent === null) {
        const given = { threadId, agent: version.name, definitionId: version.id };
        await instances.create(tenantId, given);
      }
      const written = await graph
        .bulkUpdateState(config, graphUpdates(of.supersteps) as never)
        .catch(refuseUpdate);
      // The time of the last change.
      await instances.mergeMetadata(tenantId, threadId, {});
      const key = checkpointKey(written);
      if (key === null) throw new TypeError("an update without a checkpoint");
      return key;
    });
  }

  /** Copies the newest state of a thread; false if it has none. */
  async copy(tenantId: string, threadId: string, newThreadId: string): Promise<boolean> {
    return this.base.runtimes.use(tenantId, async ({ runtime: { threads } }) => {
      const { items } = await threads.history(threadId, { limit: 1 }).catch(emptyIfNone);
      if (items.length === 0) return false;
      await threads.fork({ threadId, newThreadId }).catch(refuseDamaged);
      return true;
    });
  }

  async remove(tenantId: string, threadId: string): Promise<void> {
    await this.base.runtimes.use(tenantId, ({ runtime }) => runtime.threads.delete(threadId));
  }

  /** Removes all checkpoints of a thread but the newest. */
  async keepLatest(tenantId: string, threadId: string): Promise<void> {
    await this.base.runtimes.use(tenantId, async ({ runtime: { threads } }) => {
      await threads.prune({ threadId, keep: "latest" }).catch(emptyIfNone);
    });
  }

  /** @throws NotFoundError */
  async #withGraph<T>(
    tenantId: string,
    threadId: string,
    work: (of: {
      readonly instance: Instance;
      /** Null for a thread without an agent. */
      readonly graph: AgentGraph | null;
      readonly version: AgentVersion | null;
      readonly runtime: TenantRuntime["runtime"];
    }) => Promise<T>,
  ): Promise<T> {
    const { platform, runtimes, loadAgent } = this.base;
    const instance = await platform.instances.onThread(tenantId, threadId);
    if (instance === null) throw new NotFoundError("thread", threadId);
    const version = await this.#versionOf(tenantId, instance);
    return runtimes.use(tenantId, async ({ runtime }) => {
      if (version === null) return work({ instance, graph: null, version, runtime });
      const agent = await loadAgent(runtime, { tenantId, definitionId: version.id });
      const graph = await graphOf(agent.definition, agent.services);
      return work({ instance, graph, version, runtime });
    });
  }

  /**
   * The version of the newest run, or with which the thread began; before them the active one of the agent that its
   * metadata names.
   */
  async #versionOf(tenantId: string, instance: Instance): Promise<AgentVersion | null> {
    const { runs, agents } = this.base.platform;
    const { threadId, agent, definitionId, metadata } = instance;
    if (agent === null) {
      const { graph_id: name } = metadata;
      const [active] = await agents.activeNamed(tenantId, typeof name === "string" ? [name] : []);
      return active === undefined ? null : { id: active.id, name: active.name };
    }
    const { items } = await runs.list(tenantId, { threadId, limit: 1 });
    const newest = items[0] && (await runs.get(tenantId, items[0].id)).request["definition_id"];
    const id = typeof newest === "string" ? newest : definitionId;
    if (id !== null) return { id, name: agent };
    throw new HttpProblem("conflict", {
      detail: `The agent ${JSON.stringify(agent)} of the thread is not stored here: it came from code or a file.`,
      extensions: { code: "agent_not_stored" },
    });
  }
}

interface AgentVersion {
  readonly id: string;
  readonly name: string;
}

function configOf(threadId: string, checkpoint: StateRef): RunnableConfig {
  return { configurable: { checkpoint_ns: "", ...checkpoint, thread_id: threadId } };
}

/** @throws NotFoundError for a namespace of no nested agent; HttpProblem `conflict` for a damaged checkpoint */
async function readState<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof Error && /^Subgraph .* not found$/s.test(thrown.message))
      throw new NotFoundError("checkpoint", "of an unknown node");
    return refuseDamaged(thrown);
  }
}

function checkUpdate(
  principal: Principal,
  { values: given, command, as_node: asNode }: UpdateEntry,
  place: readonly PropertyKey[],
): void {
  const refuse = (name: string, detail: string) => {
    return new HttpProblem("invalid_input", {
      detail: "The state cannot be updated like this. Nothing was written.",
      errors: [{ pointer: jsonPointer([...place, name]), detail }],
      extensions: { code: "invalid_state_update" },
    });
  };
  if (command?.resume !== undefined)
    throw refuse("command", "answers resume a run: give resume to one");
  if (command?.goto !== undefined)
    throw refuse("command", "the agent decides which nodes follow: leave goto out");
  if (asNode === "__copy__") throw refuse("as_node", "states are copied with /threads/{id}/copy");
  // Acting for a node may stand in for the answer of a person.
  if (!starts.has(asNode)) checkScopes(principal, ["requests:answer"]);
  const others = channelsIn(command ? command.update : given).filter((one) => !writable.has(one));
  if (others.length === 0) return;
  const [other = ""] = others;
  throw refuse(
    "values",
    `${JSON.stringify(other.slice(0, 100))} is not a channel that callers write: expected ${[...writable].join(", ")}`,
  );
}

function channelsIn(update: unknown): readonly string[] {
  if (Array.isArray(update)) {
    return update.flatMap((one: unknown) =>
      Array.isArray(one) ? [String(one[0])] : Object.keys(Object(one) as object),
    );
  }
  return Object.keys(Object(update) as object);
}

function checkNodes(graph: AgentGraph, steps: UpdateOf["supersteps"]): void {
  for (const { as_node: asNode } of steps.flatMap(({ updates }) => updates)) {
    if (starts.has(asNode) || asNode === "__end__") continue;
    if (asNode !== undefined && Object.hasOwn(graph.nodes, asNode)) continue;
    throw new HttpProblem("invalid_input", {
      detail: `The agent has no node ${JSON.stringify(asNode)}.`,
      errors: [
        {
          pointer: "/as_node",
          detail: "unknown node",
          allowed: Object.keys(graph.nodes).slice(0, 50),
        },
      ],
    });
  }
}

function graphUpdates(steps: UpdateOf["supersteps"]) {
  return steps.map(({ updates }) => ({
    updates: updates.map(({ values: given, command, as_node: asNode }) => ({
      values: command ? new Command({ update: command.update ?? {} }) : given,
      ...(asNode !== undefined && { asNode }),
    })),
  }));
}

/** @throws HttpProblem for an update that the graph refuses, else what was thrown */
function refuseUpdate(thrown: unknown): never {
  if (thrown instanceof InvalidStateUpdateError) {
    throw new HttpProblem("invalid_input", {
      detail: thrown.message.slice(0, 4_000),
      errors: thrown.problems.map(({ channel, message }) => ({
        pointer: jsonPointer(["values", channel]),
        detail: message.slice(0, 1_000),
      })),
      extensions: { code: "invalid_state_update" },
      cause: thrown,
    });
  }
  if (thrown instanceof Error && thrown.name === "InvalidUpdateError") {
    throw new HttpProblem("invalid_input", {
      detail: thrown.message.slice(0, 1_000),
      extensions: { code: "invalid_state_update" },
      cause: thrown,
    });
  }
  return refuseDamaged(thrown);
}

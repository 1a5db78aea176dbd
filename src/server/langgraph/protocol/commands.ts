import { z } from "zod";
import { awaiting } from "../../../engine/run-results.ts";
import { threadSignal } from "../../../engine/run-signals.ts";
import { isRecord } from "../../../values/json.ts";
import { checkScopes } from "../../authenticate.ts";
import type { ApiBase } from "../../ports.ts";
import type { StreamCall } from "../../runs/event-streams.ts";
import type { GraphRuns } from "../graph-runs.ts";
import { newRun } from "../run-schemas.ts";
import type { ThreadStates } from "../thread-states.ts";
import { seqOf } from "./events.ts";

export interface Command {
  readonly id: number;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

type ErrorCode = "invalid_argument" | "no_such_run" | "not_supported" | "unknown_command";

const known: ReadonlySet<string> = new Set([
  "subscription.subscribe",
  "subscription.unsubscribe",
  "subscription.reconnect",
  "agent.getTree",
]);

const responses = z
  .array(z.object({ interrupt_id: z.string().max(200), response: z.unknown() }))
  .min(1)
  .max(100);

/** Carries out the commands of LangGraph's event streaming. */
export class Commands {
  constructor(
    private readonly base: ApiBase,
    private readonly of: { readonly runs: GraphRuns; readonly states: ThreadStates },
  ) {}

  /** Returns the answer to a command. @throws as new runs and reads of states do */
  async answer(call: StreamCall, threadId: string, command: Command): Promise<unknown> {
    const { method } = command;
    if (method === "run.start") return this.#start(call, threadId, command);
    if (method === "input.respond") return this.#respond(call, threadId, command);
    if (method === "state.get") return this.#state(call, threadId, command);
    if ((await this.#newest(call, threadId)) === undefined)
      return refused(command, "no_such_run", "No run was started on this thread.");
    if (known.has(method))
      return refused(command, "not_supported", `${method} is not available over HTTP.`);
    return refused(command, "unknown_command", `Unknown command: ${method.slice(0, 200)}`);
  }

  async #start(call: StreamCall, threadId: string, command: Command): Promise<unknown> {
    const { assistant_id, input, config, metadata, multitaskStrategy } = command.params ?? {};
    if (typeof assistant_id !== "string" || assistant_id === "")
      return refused(command, "invalid_argument", "run.start needs an assistant_id.");
    const newest = await this.#newest(call, threadId);
    const isAnswer = input !== null && input !== undefined && isWaiting(newest);
    return this.#run(
      call,
      { threadId, command },
      {
        assistant_id,
        ...(isAnswer ? { command: { resume: input } } : { input: input ?? null }),
        config,
        metadata,
        multitask_strategy: multitaskStrategy ?? command.params?.["multitask_strategy"],
      },
    );
  }

  async #respond(call: StreamCall, threadId: string, command: Command): Promise<unknown> {
    const { params = {} } = command;
    const given = params["responses"] ?? [params];
    const { data } = responses.safeParse(given);
    if (data === undefined)
      return refused(command, "invalid_argument", "input.respond needs an interrupt_id.");
    const { tenantId } = call.principal;
    const instance = await this.base.platform.instances.onThread(tenantId, threadId);
    if (instance === null)
      return refused(command, "no_such_run", "No run was started on this thread.");
    if (!isWaiting(await this.#newest(call, threadId)))
      return refused(command, "invalid_argument", "The thread does not wait for a response.");
    const resume = Object.fromEntries(data.map(({ interrupt_id: id, response }) => [id, response]));
    const { update, goto, config, metadata } = params;
    return this.#run(
      call,
      { threadId, command },
      {
        assistant_id: instance.agentId,
        command: { resume, update, goto },
        config,
        metadata,
      },
    );
  }

  async #run(
    call: StreamCall,
    { threadId, command }: { readonly threadId: string; readonly command: Command },
    body: Readonly<Record<string, unknown>>,
  ): Promise<unknown> {
    const { config } = body;
    const configurable = isRecord(config) ? config["configurable"] : undefined;
    const from = isRecord(configurable) ? configurable["checkpoint_id"] : undefined;
    const { data, error } = newRun.safeParse({
      ...body,
      if_not_exists: "create",
      multitask_strategy: body["multitask_strategy"] ?? "enqueue",
      ...(from !== undefined && { checkpoint_id: from }),
    });
    if (data === undefined) {
      const [issue] = error.issues;
      const where = issue?.path.join(".").slice(0, 200) ?? "";
      return refused(command, "invalid_argument", `${where}: ${issue?.message ?? ""}`);
    }
    const run = await this.of.runs.create(call, threadId, data, { protocol: true });
    this.base.signals.notify(threadSignal(run.tenantId, threadId));
    const result = command.method === "run.start" ? { run_id: run.id } : {};
    return this.#success(command, threadId, { result, through: seqOf(run, 0) });
  }

  async #state(call: StreamCall, threadId: string, command: Command): Promise<unknown> {
    checkScopes(call.principal, ["runs:read", "checkpoints:read"]);
    const state = await this.of.states.read(call.principal, { threadId });
    const all: Readonly<Record<string, unknown>> = state?.values ?? {};
    const keys = command.params?.["keys"];
    const values = Array.isArray(keys)
      ? Object.fromEntries(Object.entries(all).filter(([key]) => keys.includes(key)))
      : all;
    const place = state?.checkpoint as
      | { readonly checkpoint_id?: unknown; readonly checkpoint_ns?: unknown }
      | null
      | undefined;
    const checkpoint =
      typeof place?.checkpoint_id === "string"
        ? { checkpoint: { id: place.checkpoint_id, ns: place.checkpoint_ns ?? "" } }
        : {};
    const newest = await this.#newest(call, threadId);
    const through = newest === undefined ? 0 : seqOf(newest, 0);
    return this.#success(command, threadId, { result: { values, ...checkpoint }, through });
  }

  #success(
    { id }: Command,
    threadId: string,
    { result, through }: { readonly result: unknown; readonly through: number },
  ) {
    const meta = { thread_id: threadId, applied_through_seq: through };
    return { type: "success", id, result, meta };
  }

  async #newest({ principal }: StreamCall, threadId: string) {
    const { items } = await this.base.platform.runs.list(principal.tenantId, {
      threadId,
      limit: 1,
    });
    return items[0];
  }
}

function isWaiting(run: { readonly state: (typeof awaiting)[number] } | undefined): boolean {
  return run !== undefined && awaiting.includes(run.state);
}

function refused({ id }: Command, error: ErrorCode, message: string) {
  return { type: "error", id, error, message };
}

import { z } from "zod";
import { plainMessage } from "../../runtime/threads/context-options.ts";
import type { ThreadContext, ThreadPlan } from "../../runtime/threads/threads.ts";
import { subtaskStatuses } from "../../state/plan.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import { toJson } from "../../values/bounded-json.ts";
import { integerParameter, optionalInteger, parameterText, textUpTo } from "../paging.ts";
import type { ApiBase, TenantRuntime } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import { modelOverride } from "../runs/schemas.ts";
import { refuseDamaged, StateViewer } from "./shown-state.ts";

/** Bytes of JSON of a subtask's result. */
const maxResultBytes = 2_048;

const count = z.int();
const stepShown = z.strictObject({
  turn: count,
  step: count,
  node: z.string(),
  fidelity: z.string().describe("`whole`, `preview`, `summarised`, `line` or `dropped`."),
  tokens: count,
});
const contextSchema = z
  .strictObject({
    thread_id: z.string(),
    namespace: z.string(),
    checkpoint_id: z.string().describe("The checkpoint with the state it was composed from."),
    turn: count,
    attempt: count,
    step: count,
    node: z.string(),
    tense: z.enum(["past", "next"]).describe("`past`: the step was made, and read this."),
    goal: z.string().describe("`planning` or `synthesis`."),
    goals: z.array(z.string()).describe("The goals of the step's requests, in order."),
    requests_before: count.describe("Requests of the step before these, which are not shown."),
    from_stored: z.boolean().describe("Composed from the definition stored with the thread."),
    without_request: z.boolean().describe("Of a new turn without its message."),
    model: z.string(),
    window: count.describe("Tokens of the model's window."),
    budget: count.describe("Tokens that messages and tools may have together."),
    reserved: count.describe("Tokens kept free for the reply."),
    tokens: z.record(z.string(), z.number()).describe("By section, and in all."),
    conversation: z.record(z.string(), z.number()).describe("Messages by how they are rendered."),
    steps: z.array(stepShown),
    memories: z.array(z.record(z.string(), z.unknown())),
    summaries: z.array(z.record(z.string(), z.unknown())),
    notes: z.array(z.string()).describe("What is assumed of the model."),
    tools: z.array(z.record(z.string(), z.unknown())).describe("The tools that are offered."),
    messages: z.array(
      z.looseObject({
        role: z.string(),
        content: z.unknown(),
        tokens: count,
        section: z.enum(["system", "memory", "summary", "conversation", "steps", "request"]),
        step: z
          .strictObject({ turn: count, step: count, fidelity: z.string() })
          .nullable()
          .describe("The step that it renders."),
      }),
    ),
    redacted: z.boolean(),
  })
  .meta({ id: "ThreadContext" });

const subtaskSchema = z.strictObject({
  id: z.string(),
  description: z.string(),
  dependencies: z.array(z.string()),
  level: count.describe("Dependency level, from 0."),
  status: z.enum(subtaskStatuses),
  is_waiting: z.boolean().describe("Whether it waits for a person."),
  is_critical: z.boolean().describe("Whether it is on the longest path."),
  worker: z.string(),
  depth: count.describe("0 for the first plan, then one more for each plan for gaps."),
  attempts: count,
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  result: z.unknown().describe("Its beginning; null unless it is done."),
  result_bytes: count.describe("Bytes of JSON of the whole result, a minimum beyond 32 KiB."),
  tokens_in: count,
  tokens_out: count,
  cost_usd: z.number().nullable(),
});
const planSchema = z
  .strictObject({
    node: z.string().describe("The planner node; empty if the thread is a planner's."),
    within: z.array(z.string()).describe("The nodes around it, outermost first."),
    success_criteria: z.string(),
    criteria_met: z.boolean().nullable().describe("Null before the first judgement."),
    gaps: z.array(z.string()),
    depth: count.describe("Plans that were made for gaps."),
    critical_ms: z.number().describe("Time along the longest path."),
    subtasks: z.array(subtaskSchema),
  })
  .meta({ id: "ThreadPlan" });

const threadParams = z.strictObject({ thread_id: textUpTo(255).describe("Id of the thread.") });

/** Creates the routes of what models read for a thread, and of what its planners planned. */
export function contextRoutes({ platform, runtimes }: ApiBase): readonly Route[] {
  const useThread = async <Result>(
    principal: Principal,
    threadId: string,
    read: (of: TenantRuntime["runtime"], viewer: StateViewer) => Promise<Result>,
  ): Promise<Result> => {
    const { tenantId } = principal;
    if ((await platform.instances.onThread(tenantId, threadId)) === null)
      throw new NotFoundError("thread", threadId);
    return runtimes.use(tenantId, ({ runtime }) =>
      read(runtime, new StateViewer(runtime, threadId, principal)).catch(refuseDamaged),
    );
  };
  return [
    defineRoute({
      method: "get",
      path: "/v1/threads/{thread_id}/context",
      operationId: "getContext",
      summary: "Shows what the model read for a step, or would read for the next one.",
      description:
        "Composed from stored data: nothing runs, and no model is called. Without `turn` and `step` it is the next step. A context whose checkpoint is not stored is a 422 with `code: context_not_stored`, and a step that calls no model one with `nothing_read`.",
      tag: "threads",
      scopes: ["checkpoints:read"],
      params: threadParams,
      query: z.strictObject({
        turn: optionalInteger("Default: the last turn."),
        step: optionalInteger("Number in the turn. Default: the next step."),
        goal: z.enum(["planning", "synthesis"]).optional(),
        model: modelOverride.optional(),
        budget: integerParameter({
          from: 0,
          to: 100_000_000,
          default: 0,
          description: "Tokens, at least 256. 0: what the definition says.",
        }),
        namespace: textUpTo(2_000).describe("Of a nested agent.").optional(),
        message: z.string().max(2_000).describe("The message of the next turn.").optional(),
        user: parameterText.describe("Whose memories the next turn reads.").optional(),
      }),
      answers: { 200: { description: "The context.", schema: contextSchema } },
      problems: ["conflict", "invalid_input"],
      async handle({ params: { thread_id: threadId }, query, principal }) {
        const { message, turn, step, goal, model, budget, namespace, user } = query;
        if (message !== undefined && [turn, step, namespace].some((one) => one !== undefined)) {
          throw new HttpProblem("invalid_request", {
            detail: "`message` is of the next turn: leave out `turn`, `step` and `namespace`.",
            errors: [{ pointer: "/message", in: "query", detail: "given with another turn" }],
          });
        }
        return useThread(principal, threadId, async ({ threads }, viewer) => {
          const context = await threads.context({
            threadId,
            acceptChanges: true,
            ...(message !== undefined && { input: { message } }),
            ...(turn !== undefined && { turn }),
            ...(step !== undefined && { step }),
            ...(goal !== undefined && { goal }),
            ...(typeof model === "string" && { model }),
            ...(budget > 0 && { budget }),
            ...(namespace !== undefined && { namespace }),
            ...(user !== undefined && { user }),
          });
          const of = { values: {}, namespace: context.namespace };
          const shown = await viewer.shown({ context: contextBody(context) }, of);
          return { status: 200, body: { ...shown.context, redacted: viewer.isRedacted } };
        });
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/threads/{thread_id}/plans",
      operationId: "listPlans",
      summary: "Lists the plans of the last turn, with the progress of their subtasks.",
      description:
        "Each plan is followed by those of planners within its workers. With `checkpoint_id`, the plans of the turn as they were at that checkpoint of the thread; plans within workers are those at their end.",
      tag: "threads",
      scopes: ["checkpoints:read"],
      params: threadParams,
      query: z.strictObject({
        checkpoint_id: parameterText.describe("Default: the newest checkpoint.").optional(),
      }),
      answers: {
        200: {
          description: "The plans.",
          schema: z
            .strictObject({ plans: z.array(planSchema), redacted: z.boolean() })
            .meta({ id: "ThreadPlans" }),
        },
      },
      problems: ["conflict", "invalid_input"],
      handle: ({ params: { thread_id: threadId }, query, principal }) =>
        useThread(principal, threadId, async ({ threads }, viewer) => {
          const { checkpoint_id: checkpointId } = query;
          const at = checkpointId === undefined ? {} : { checkpointId };
          const found = await threads.plans(threadId, at).catch((thrown: unknown) => {
            const isNew = (Object(thrown) as { code?: unknown }).code === "no_checkpoint";
            if (isNew && checkpointId === undefined) return [];
            throw thrown;
          });
          const plans: z.output<typeof planSchema>[] = [];
          // One at a time: results are redacted whole, before they are cut.
          for (const plan of found) {
            const shown = await viewer.shown({ plan: planBody(plan) }, { values: {} });
            plans.push({ ...shown.plan, subtasks: shown.plan.subtasks.map(withBoundedResult) });
          }
          return { status: 200, body: { plans, redacted: viewer.isRedacted } };
        }),
    }),
  ];
}

type ContextBody = Omit<z.output<typeof contextSchema>, "redacted">;

function contextBody(context: ThreadContext): ContextBody {
  const { metadata, messages, messageTokens } = context;
  const { goal, model, window, budget, reserved, tokens, conversation, notes } = metadata;
  return {
    thread_id: context.threadId,
    namespace: context.namespace,
    checkpoint_id: context.checkpointId,
    turn: context.turn,
    attempt: context.attempt,
    step: context.step,
    node: context.node,
    tense: context.tense,
    goal,
    goals: [...context.goals],
    requests_before: context.asksBefore,
    from_stored: context.fromStored,
    without_request: context.withoutRequest,
    model,
    window,
    budget,
    reserved,
    tokens: { ...tokens },
    conversation,
    steps: context.steps.map(({ turn, step, node, fidelity, tokens: own }) => {
      return { turn, step, node, fidelity, tokens: own };
    }),
    memories: metadata.memories.map((one) => ({ ...one })),
    summaries: metadata.summaries.map((one) => ({
      call_id: one.callId,
      model: one.model,
      outcome: one.outcome,
      latency_ms: one.latencyMs,
      tokens_in: one.tokensIn,
      tokens_out: one.tokensOut,
      cost_usd: one.costUsd,
    })),
    notes: [...notes],
    tools: context.tools.map((tool) => ({ ...tool })),
    messages: messages.map((message, at) => {
      const { section, step } = metadata.sources[at] ?? { section: "conversation", step: null };
      const place = step === null ? null : { ...step };
      return { ...plainMessage(message), tokens: messageTokens[at] ?? 0, section, step: place };
    }),
  };
}

function planBody(of: ThreadPlan): z.output<typeof planSchema> {
  const levels = new Map(of.levels.flatMap((ids, level) => ids.map((id) => [id, level] as const)));
  const critical = new Set(of.criticalPath.ids);
  return {
    node: of.node,
    within: [...of.within],
    success_criteria: of.plan.success_criteria,
    criteria_met: of.criteria_met,
    gaps: [...of.gaps],
    depth: of.depth,
    critical_ms: of.criticalPath.ms,
    subtasks: of.plan.subtasks.map(({ id, description, dependencies }) => {
      const { usage, warning: _warning, ...state } = of.subtasks[id]!;
      const { tokens_in, tokens_out, cost_usd } = usage;
      return {
        id,
        description,
        dependencies: [...dependencies],
        level: levels.get(id) ?? 0,
        is_waiting: of.waiting.includes(id),
        is_critical: critical.has(id),
        ...state,
        result_bytes: 0,
        tokens_in,
        tokens_out,
        cost_usd,
      };
    }),
  };
}

function withBoundedResult(subtask: z.output<typeof subtaskSchema>) {
  const { value: result, bytes } = toJson(subtask.result, maxResultBytes);
  return { ...subtask, result, result_bytes: bytes };
}

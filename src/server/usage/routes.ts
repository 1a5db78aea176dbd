import { z } from "zod";
import { runStates } from "../../storage/platform/runs/run-rows.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import type { UsageDay } from "../../storage/platform/usage.ts";
import { pageAnswer, pageQuery, pageRequest, pageSchema } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, type Route } from "../route.ts";

const count = z.int().min(0);
const sums = {
  requests: count,
  turns: count,
  tool_calls: count,
  llm_calls: count,
  tokens_in: count,
  cached_tokens: count,
  tokens_out: count,
  reasoning_tokens: count,
  unpriced_calls: count.describe("Model calls without a known price."),
  cost_usd: z.number().min(0),
};
type Sums = { readonly [Name in keyof typeof sums]: number };
const sumNames = Object.keys(sums) as (keyof Sums)[];

const left = "What is left today (UTC); null without a quota.";
const usageSchema = z
  .strictObject({
    from: z.iso.date(),
    to: z.iso.date(),
    days: z.array(z.strictObject({ day: z.iso.date(), ...sums })).describe("Those with use."),
    totals: z.strictObject(sums),
    runs: z
      .partialRecord(z.enum(runStates), count)
      .describe("Runs that were created in these days, by state; of the newest 100,000."),
    remaining: z
      .strictObject({
        requests: count.nullable(),
        tokens: count.nullable(),
        cost_usd: z.number().nullable(),
      })
      .describe(left),
  })
  .meta({ id: "Usage" });

const tenantSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    plan_tier: z.string(),
    settings: z.looseObject({}).describe("Quotas of a day and the rate of requests."),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "Tenant" });

const callSchema = z
  .strictObject({
    id: z.string(),
    at: z.iso.datetime(),
    turn: z.int().describe("From 0 in the thread."),
    agent: z.string().nullable(),
    step: z.int().nullable(),
    purpose: z.string(),
    model: z.string(),
    provider: z.string(),
    attempt: z.int(),
    finish_reason: z.string().nullable(),
    tokens_in: count,
    cached_tokens: count,
    tokens_out: count,
    reasoning_tokens: count,
    latency_ms: z.number(),
    first_token_ms: z.number().nullable(),
    cost_usd: z.number().nullable(),
    messages: z.unknown().optional(),
    response: z.unknown().optional(),
  })
  .meta({ id: "ModelCall" });

const day = z.iso.date();
const dayMs = 86_400_000;
/** Days of an answer without `from`. */
const usualDays = 30;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** Creates the routes of what a tenant uses, and of its own facts. */
export function usageRoutes({ platform, runtimes, clock }: ApiBase): readonly Route[] {
  const { agents, instances, runs, tenants, usage } = platform;
  return [
    defineRoute({
      method: "get",
      path: "/v1/usage",
      operationId: "getUsage",
      summary: "Sums of what the tenant used by day, and what is left of its quotas.",
      tag: "usage",
      scopes: ["usage:read"],
      query: z.strictObject({
        from: day.describe("First day, UTC. Default: 29 days before the last one.").optional(),
        to: day.describe("Last day, UTC. Default: today. At most 366 days in all.").optional(),
      }),
      answers: { 200: { description: "The use.", schema: usageSchema } },
      problems: ["invalid_input"],
      async handle({ query, principal: { tenantId } }) {
        const { to = dayOf(clock.now().getTime()) } = query;
        const { from = dayOf(Date.parse(to) - (usualDays - 1) * dayMs) } = query;
        const range = { from, to };
        const days = await usage.range(tenantId, range);
        const [states, remaining] = await Promise.all([
          usage.runStates(tenantId, range),
          usage.remaining(tenantId),
        ]);
        const shown = days.map((one) => ({ day: one.day, ...sumsOf([one]) }));
        return {
          status: 200,
          body: { ...range, days: shown, totals: sumsOf(days), runs: states, remaining },
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/tenant",
      operationId: "getTenant",
      summary: "The tenant of the key: its name, plan and limits.",
      tag: "usage",
      scopes: ["usage:read"],
      answers: { 200: { description: "The tenant.", schema: tenantSchema } },
      async handle({ principal }) {
        const { id, name, planTier, settings, createdAt } = await tenants.get(principal.tenantId);
        return {
          status: 200,
          body: { id, name, plan_tier: planTier, settings, created_at: createdAt },
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/agents/{agent_id}/runs/{run_id}/calls",
      operationId: "listModelCalls",
      summary: "Lists the requests to models that a run made, oldest first.",
      description: "Retries, fallbacks and failures are calls too. Texts are redacted as stored.",
      tag: "usage",
      scopes: ["runs:read"],
      params: z.strictObject({
        agent_id: z.string().min(1).max(100).describe("Id of the agent."),
        run_id: z.string().min(1).max(100).describe("Id of the run."),
      }),
      query: z.strictObject({
        ...pageQuery,
        whole: z.enum(["true", "false"]).describe("With messages and responses.").optional(),
      }),
      answers: {
        200: { description: "A page of calls.", schema: pageSchema("calls", callSchema) },
      },
      problems: ["invalid_cursor"],
      async handle({ params, query, principal: { tenantId }, request }) {
        const { threadId, id: runId, instanceId } = await runs.get(tenantId, params.run_id);
        const { definitionId } = await instances.get(tenantId, instanceId);
        const agentId =
          definitionId === null ? null : (await agents.getVersion(tenantId, definitionId)).agentId;
        if (agentId !== params.agent_id) throw new NotFoundError("run", params.run_id);
        const page = await runtimes.use(tenantId, ({ runtime }) =>
          runtime.threads.calls({
            threadId,
            runId,
            whole: query.whole === "true",
            ...pageRequest(query),
          }),
        );
        return pageAnswer(request, page, { name: "calls", item: (call) => call });
      },
    }),
  ];
}

function sumsOf(days: readonly UsageDay[]): Sums {
  const add = (name: keyof Sums) => days.reduce((sum, one) => sum + one[name], 0);
  return Object.fromEntries(sumNames.map((name) => [name, add(name)])) as unknown as Sums;
}

import { z } from "zod";
import { pageAnswer, pageQuery, pageRequest, pageSchema, parameterText } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, type Route } from "../route.ts";
import { RunDesk } from "./run-desk.ts";
import { queuedBodyOf, runPath, summaryOf } from "./run-views.ts";
import { queuedRun, runParams, runState, runSummary, threadId } from "./schemas.ts";

const runOfAnyAgent = runSummary
  .extend({ agent_id: z.string().nullable().describe("Null if its agent is not stored.") })
  .meta({ id: "RunOfAnyAgent" });

/** Creates the routes of runs of all agents, and of dead runs. */
export function retryRoutes(api: ApiBase): readonly Route[] {
  const { platform } = api;
  const desk = new RunDesk(api);
  return [
    defineRoute({
      method: "get",
      path: "/v1/runs",
      operationId: "listAllRuns",
      summary: "Lists the runs of all agents, newest first.",
      description: "`status=dead` lists the runs whose workers were lost one after the other.",
      tag: "runs",
      scopes: ["runs:read"],
      query: z.strictObject({
        ...pageQuery,
        status: runState.optional(),
        agent_id: parameterText.describe("Runs of this agent, of all its versions.").optional(),
        thread_id: threadId.optional(),
      }),
      answers: {
        200: { description: "A page of runs.", schema: pageSchema("runs", runOfAnyAgent) },
      },
      problems: ["invalid_cursor", "not_found"],
      async handle({ query, principal: { tenantId }, request }) {
        const { status: state, thread_id: thread, agent_id: agentId } = query;
        const page = await platform.runs.list(tenantId, {
          ...pageRequest(query),
          ...(state !== undefined && { state }),
          ...(agentId !== undefined && { agentId }),
          ...(thread !== undefined && { threadId: thread }),
        });
        const instances = page.items.map(({ instanceId }) => instanceId);
        const agentIds = await platform.instances.agentIds(tenantId, instances);
        return pageAnswer(request, page, {
          name: "runs",
          item: (run) => ({
            ...summaryOf(run, ""),
            agent_id: agentIds.get(run.instanceId) ?? null,
          }),
        });
      },
    }),
    defineRoute({
      method: "post",
      path: "/v1/agents/{agent_id}/runs/{run_id}/retry",
      operationId: "retryRun",
      summary: "Puts a dead run back into the queue. Twice is once.",
      description:
        "The turn continues from its last checkpoint, and repeats no finished call. A run that is queued or running stays as it is; another state is a conflict, and so is a later run of the thread that has begun.",
      tag: "runs",
      scopes: ["runs:write"],
      spends: true,
      params: runParams,
      answers: {
        202: {
          description: "The run as it is now.",
          schema: queuedRun,
          headers: { Location: "Path of the run." },
        },
      },
      problems: ["conflict"],
      async handle({ params, principal }) {
        const run = await desk.retry(principal, await desk.find(principal, params));
        const path = runPath(params.agent_id, run.id);
        return { status: 202, body: queuedBodyOf(run, path), headers: { Location: path } };
      },
    }),
  ];
}

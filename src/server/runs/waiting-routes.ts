import { z } from "zod";
import type { RunResult } from "../../engine/run-request.ts";
import { awaiting } from "../../engine/run-results.ts";
import type { Page } from "../../storage/platform/checks.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type { RunState } from "../../storage/platform/runs/run-rows.ts";
import { pageAnswer, pageQuery, pageRequest, pageSchema } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, type Route } from "../route.ts";
import { listedRequestOf, listedWaitOf, type RunPlace } from "./run-views.ts";
import { listedWait, waitingRequest } from "./schemas.ts";

/** Creates the routes of what runs wait for. */
export function waitingRoutes({ platform }: ApiBase): readonly Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/v1/requests",
      operationId: "listRequests",
      summary: "Lists what waits for people, by run, newest run first.",
      description: "`limit` counts runs: a run may wait for several answers.",
      tag: "runs",
      scopes: ["runs:read"],
      query: z.strictObject(pageQuery),
      answers: {
        200: {
          description: "A page of requests.",
          schema: pageSchema("requests", waitingRequest),
        },
      },
      problems: ["invalid_cursor"],
      async handle({ query, principal, request }) {
        const page = await waitingRuns(principal, query, {
          states: ["awaiting_human"],
          itemsOf: ({ requests }, of) =>
            requests
              .filter(({ kind }) => kind !== "tool_calls")
              .map((asked) => listedRequestOf(asked, of)),
        });
        return pageAnswer(request, page, { name: "requests", item: (item) => item });
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/waits",
      operationId: "listWaits",
      summary: "Lists the times and events that runs wait for, by run, newest run first.",
      description: "`limit` counts runs: a run may wait for several events.",
      tag: "runs",
      scopes: ["runs:read"],
      query: z.strictObject(pageQuery),
      answers: {
        200: { description: "A page of waits.", schema: pageSchema("waits", listedWait) },
      },
      problems: ["invalid_cursor"],
      async handle({ query, principal, request }) {
        const page = await waitingRuns(principal, query, {
          states: awaiting,
          itemsOf: ({ waits = [] }, of) => waits.map((wait) => listedWaitOf(wait, of)),
        });
        return pageAnswer(request, page, { name: "waits", item: (item) => item });
      },
    }),
  ];

  /** What the runs of a page wait for. */
  async function waitingRuns<Item>(
    { tenantId }: Principal,
    query: Parameters<typeof pageRequest>[0],
    of: {
      readonly states: readonly RunState[];
      readonly itemsOf: (result: RunResult, place: RunPlace) => readonly Item[];
    },
  ): Promise<Page<Item>> {
    const filter = { ...pageRequest(query), state: of.states };
    const runs = await platform.runs.list(tenantId, filter);
    const instances = runs.items.map(({ instanceId }) => instanceId);
    const agentIds = await platform.instances.agentIds(tenantId, instances);
    const items: Item[] = [];
    // One result at a time: each may have megabytes, of which a list shows the beginning.
    for (const { id, instanceId, threadId: thread } of runs.items) {
      const agentId = agentIds.get(instanceId);
      if (agentId === undefined) continue;
      const run = await platform.runs.get(tenantId, id);
      if (!of.states.includes(run.state)) continue;
      const place = { run_id: id, agent_id: agentId, thread_id: thread };
      items.push(...of.itemsOf(run.result as unknown as RunResult, place));
    }
    return { items, next: runs.next };
  }
}

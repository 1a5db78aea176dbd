import { z } from "zod";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";

const cronParams = z.strictObject({ cron_id: z.string().min(1).max(100) });
const threadParams = z.strictObject({ thread_id: z.string().min(1).max(255) });

/** Creates the routes of crons. There are none until the server has schedules. */
export function cronRoutes(_base: ApiBase): readonly Route[] {
  const common = { tag: "langgraph", body: z.looseObject({}) } as const;
  const read = { ...common, method: "post", scopes: ["runs:read"] } as const;
  const write = {
    ...common,
    scopes: ["runs:write"],
    answers: { 201: { description: "Never." } },
    problems: ["invalid_input"],
    handle: () => Promise.reject(noSchedules()),
  } as const;
  const unknown = {
    scopes: ["runs:write"],
    params: cronParams,
    answers: { 204: { description: "Never." } },
  } as const;
  return [
    defineRoute({
      ...read,
      path: "/runs/crons/search",
      operationId: "searchCrons",
      summary: "Lists the crons: none.",
      answers: { 200: { description: "None.", schema: z.array(z.never()) } },
      handle: async () => ({ status: 200, body: [] }),
    }),
    defineRoute({
      ...read,
      path: "/runs/crons/count",
      operationId: "countCrons",
      summary: "Counts the crons: none.",
      answers: { 200: { description: "Zero.", schema: z.literal(0) } },
      handle: async () => ({ status: 200, body: 0 }),
    }),
    defineRoute({
      ...write,
      method: "post",
      path: "/runs/crons",
      operationId: "createCron",
      summary: "Refuses a cron: the server has no schedules.",
    }),
    defineRoute({
      ...write,
      method: "post",
      path: "/threads/{thread_id}/runs/crons",
      operationId: "createThreadCron",
      summary: "Refuses a cron of a thread: the server has no schedules.",
      params: threadParams,
    }),
    defineRoute({
      ...common,
      ...unknown,
      method: "patch",
      path: "/runs/crons/{cron_id}",
      operationId: "updateCron",
      summary: "Finds no cron.",
      handle: async ({ params }) => Promise.reject(noCron(params.cron_id)),
    }),
    defineRoute({
      ...unknown,
      tag: "langgraph",
      method: "delete",
      path: "/runs/crons/{cron_id}",
      operationId: "deleteCron",
      summary: "Finds no cron.",
      handle: async ({ params }) => Promise.reject(noCron(params.cron_id)),
    }),
  ];
}

function noSchedules(): HttpProblem {
  const detail = "Schedules are not available on this server yet. Start runs from outside.";
  return new HttpProblem("invalid_input", { detail });
}

function noCron(id: string): HttpProblem {
  return new HttpProblem("not_found", {
    detail: `There is no cron ${JSON.stringify(id)}: schedules are not available on this server yet.`,
  });
}

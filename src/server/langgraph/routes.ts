import { z } from "zod";
import { packageVersion } from "../../own-package.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, type Route } from "../route.ts";
import { assistantRoutes } from "./assistant-routes.ts";
import { cronRoutes } from "./cron-routes.ts";
import { graphRoutes } from "./graph-routes.ts";
import { protocolRoutes } from "./protocol/routes.ts";
import { runRoutes } from "./run-routes.ts";
import { stateRoutes } from "./state-routes.ts";
import { storeRoutes } from "./store-routes.ts";
import { threadRoutes } from "./thread-routes.ts";

const infoSchema = z
  .strictObject({
    version: z.string().describe("Version of this server."),
    context: z.literal("js"),
    flags: z.strictObject({
      assistants: z.boolean(),
      crons: z.boolean(),
      langsmith: z.boolean(),
    }),
  })
  .meta({ id: "ServerInfo" });

/** Creates the routes of LangGraph's HTTP protocol, on the agents, threads and runs of this server. */
export function langgraphRoutes(base: ApiBase): readonly Route[] {
  return [
    ...metaRoutes(),
    ...assistantRoutes(base),
    ...graphRoutes(base),
    ...threadRoutes(base),
    ...stateRoutes(base),
    ...runRoutes(base),
    ...protocolRoutes(base),
    ...storeRoutes(base),
    ...cronRoutes(base),
  ];
}

/** Creates the routes that tell LangGraph's clients about this server. They need no key. */
function metaRoutes(): readonly Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/ok",
      operationId: "getOk",
      summary: "Says that the server answers.",
      tag: "langgraph",
      scopes: "public",
      answers: {
        200: { description: "It answers.", schema: z.strictObject({ ok: z.literal(true) }) },
      },
      handle: async () => ({ status: 200, body: { ok: true } }),
    }),
    defineRoute({
      method: "get",
      path: "/info",
      operationId: "getInfo",
      summary: "Tells the version of the server, and what of LangGraph's protocol it has.",
      tag: "langgraph",
      scopes: "public",
      answers: { 200: { description: "The facts.", schema: infoSchema } },
      handle: async () => ({
        status: 200,
        body: {
          version: packageVersion(),
          context: "js",
          flags: { assistants: true, crons: true, langsmith: false },
        },
      }),
    }),
  ];
}

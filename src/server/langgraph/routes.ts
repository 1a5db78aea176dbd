import type { ApiBase } from "../ports.ts";
import type { Route } from "../route.ts";
import { assistantRoutes } from "./assistant-routes.ts";
import { cronRoutes } from "./cron-routes.ts";
import { graphRoutes } from "./graph-routes.ts";
import { metaRoutes } from "./meta-routes.ts";
import { runRoutes } from "./run-routes.ts";
import { stateRoutes } from "./state-routes.ts";
import { storeRoutes } from "./store-routes.ts";
import { threadRoutes } from "./thread-routes.ts";

/** Creates the routes of LangGraph's HTTP protocol, on the agents, threads and runs of this server. */
export function langgraphRoutes(base: ApiBase): readonly Route[] {
  return [
    ...metaRoutes(),
    ...assistantRoutes(base),
    ...graphRoutes(base),
    ...threadRoutes(base),
    ...stateRoutes(base),
    ...runRoutes(base),
    ...storeRoutes(base),
    ...cronRoutes(base),
  ];
}

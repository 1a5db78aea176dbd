import type { ApiBase } from "../ports.ts";
import type { Route } from "../route.ts";
import { metaRoutes } from "./meta-routes.ts";
import { stateRoutes } from "./state-routes.ts";
import { threadRoutes } from "./thread-routes.ts";

/** Creates the routes of LangGraph's HTTP protocol, on the agents, threads and runs of this server. */
export function langgraphRoutes(base: ApiBase): readonly Route[] {
  return [...metaRoutes(), ...threadRoutes(base), ...stateRoutes(base)];
}

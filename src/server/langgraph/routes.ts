import type { ApiBase } from "../ports.ts";
import type { Route } from "../route.ts";
import { metaRoutes } from "./meta-routes.ts";

/** Creates the routes of LangGraph's HTTP protocol, on the agents, threads and runs of this server. */
export function langgraphRoutes(_base: ApiBase): readonly Route[] {
  return [...metaRoutes()];
}

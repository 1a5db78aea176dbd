import type { ApiBase } from "./ports.ts";
import type { Route } from "./route.ts";
import { checkpointRoutes } from "./checkpoints/routes.ts";
import { threadRoutes } from "./checkpoints/thread-routes.ts";
import { memoryRoutes } from "./memory/routes.ts";
import { runRoutes } from "./runs/routes.ts";
import { toolRoutes } from "./tools/routes.ts";
import { retentionRoutes } from "./usage/retention.ts";
import { usageRoutes } from "./usage/routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";

/** Creates the routes that stand on the stores and the runtimes of tenants. */
export function apiRoutes(base: ApiBase): readonly Route[] {
  return [
    ...runRoutes(base),
    ...toolRoutes(base),
    ...webhookRoutes(base),
    ...memoryRoutes(base),
    ...usageRoutes(base),
    ...retentionRoutes(base),
    ...checkpointRoutes(base),
    ...threadRoutes(base),
  ];
}

import type { ApiBase } from "./ports.ts";
import type { Route } from "./route.ts";
import { experimentRoutes } from "./experiments/routes.ts";
import { checkpointRoutes } from "./checkpoints/routes.ts";
import { contextRoutes } from "./checkpoints/context-routes.ts";
import { pathRoutes } from "./checkpoints/path-routes.ts";
import { stepRoutes } from "./checkpoints/step-routes.ts";
import { threadCheckpointRoutes } from "./checkpoints/thread-checkpoint-routes.ts";
import { threadRoutes } from "./checkpoints/thread-routes.ts";
import { turnRoutes } from "./checkpoints/turn-routes.ts";
import { memoryRoutes } from "./memory/routes.ts";
import { runRoutes } from "./runs/routes.ts";
import { scheduleRoutes } from "./schedules/routes.ts";
import { toolRoutes } from "./tools/routes.ts";
import { changeRoutes } from "./runs/change-routes.ts";
import { eventRoutes } from "./runs/event-routes.ts";
import { waitingRoutes } from "./runs/waiting-routes.ts";
import { retentionRoutes } from "./usage/retention.ts";
import { usageRoutes } from "./usage/routes.ts";
import { retryRoutes } from "./runs/retry-routes.ts";
import { workerRoutes } from "./workers/routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";

/** Creates the routes that stand on the stores and the runtimes of tenants. */
export function apiRoutes(base: ApiBase): readonly Route[] {
  return [
    ...runRoutes(base),
    ...waitingRoutes(base),
    ...eventRoutes(base),
    ...changeRoutes(base),
    ...scheduleRoutes(base),
    ...retryRoutes(base),
    ...workerRoutes(base),
    ...toolRoutes(base),
    ...webhookRoutes(base),
    ...memoryRoutes(base),
    ...usageRoutes(base),
    ...retentionRoutes(base),
    ...experimentRoutes(base),
    ...checkpointRoutes(base),
    ...threadRoutes(base),
    ...threadCheckpointRoutes(base),
    ...stepRoutes(base),
    ...pathRoutes(base),
    ...contextRoutes(base),
    ...turnRoutes(base),
  ];
}

import type { AgentDefinition } from "../definition/agent-definition.ts";
import type { Agents } from "../storage/platform/agents.ts";
import type { ApiKeys } from "../storage/platform/api-keys.ts";
import type { AuditLog } from "../storage/platform/audit.ts";
import type { Idempotency } from "../storage/platform/idempotency.ts";
import type { Tenants } from "../storage/platform/tenants.ts";
import type { UsageDays } from "../storage/platform/usage.ts";

// The members of the platform's stores that the server uses.

export type KeyVerifier = Pick<ApiKeys, "verify">;
export type IdempotencyStore = Pick<Idempotency, "begin" | "finish" | "abandon">;
export type AuditWriter = Pick<AuditLog, "append">;
export type AgentStore = Pick<
  Agents,
  "create" | "get" | "list" | "versions" | "newVersion" | "deactivate"
>;

/** The limits of tenants, and what is left of them. */
export interface TenantLimitStores {
  readonly tenants: Pick<Tenants, "get">;
  readonly usage: Pick<UsageDays, "remaining" | "add">;
}

/** The drawing of an agent's graph. */
export interface AgentDrawing {
  readonly mermaid: string;
  readonly graph: unknown;
}

export type DrawAgent = (definition: AgentDefinition) => Promise<AgentDrawing>;

/** Structured logs: pino, or a logger of the same shape. */
export interface ServerLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

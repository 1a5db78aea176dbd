import type { BaseStore } from "@langchain/langgraph-checkpoint";
import type { Clock, IdSource } from "../clock.ts";
import type { AgentGraph } from "../compile/agent-graph.ts";
import type { AgentRegistry } from "../compile/agent-registry.ts";
import type { CompileServices } from "../compile/compile-agent.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import type { LogFolder } from "../experiment/report/log-folder.ts";
import type { RunExecutor, RunExecutorOptions } from "../engine/run-executor.ts";
import type { RunQueueDoor } from "../engine/run-worker.ts";
import type { RunSignals } from "../engine/run-signals.ts";
import type { Memory } from "../memory/memory.ts";
import type { Threads } from "../runtime/threads/threads.ts";
import type { Platform } from "../storage/platform/open-platform.ts";
import type { ThreadFences } from "../storage/tenant-pool.ts";
import type { KnownNames, WrittenNames } from "./agents/read-definition.ts";
import type { TenantAllowance } from "./agents/tenant-rules.ts";
import type { TenantRuntimes } from "./tenant-runtimes.ts";
import type { Agents } from "../storage/platform/agents.ts";
import type { ApiKeys } from "../storage/platform/api-keys.ts";
import type { AuditLog } from "../storage/platform/audit.ts";
import type { Idempotency } from "../storage/platform/idempotency.ts";
import type { Tenants } from "../storage/platform/tenants.ts";
import type { UsageDays } from "../storage/platform/usage.ts";

/** A tenant's runtime, with the fences of its database. */
export interface TenantRuntime {
  readonly runtime: CompileServices & {
    readonly threads: Threads;
    readonly memory: (embeddingModel?: string) => Promise<Memory>;
    readonly store: BaseStore;
  };
  readonly fences: ThreadFences;
  close(): Promise<void>;
}

/** What routes of agents, runs and threads stand on. */
export interface ApiBase {
  readonly platform: Platform;
  readonly runtimes: TenantRuntimes<TenantRuntime>;
  readonly loadAgent: RunExecutorOptions["loadAgent"];
  /** Takes runs of the table. Call `wake` after one was queued without `add`. */
  readonly queue: RunQueueDoor;
  /** Looks at once whether a run of this process has a request to cancel it. */
  readonly executor: Pick<RunExecutor, "notice" | "wakeWebhooks">;
  readonly signals: RunSignals;
  readonly allow: TenantAllowance;
  /** Which of the names in a definition a tenant has. */
  readonly known: (tenantId: string, names: WrittenNames) => Promise<KnownNames>;
  /** Compiles an agent, with these agents for its nodes, into a graph that is only drawn and described. */
  readonly compileDrawing: (
    definition: AgentDefinition,
    agents: AgentRegistry,
  ) => Promise<AgentGraph>;
  /** Logs of experiments; null where the server was given no folder. */
  readonly experiments: LogFolder | null;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: ServerLogger;
}

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

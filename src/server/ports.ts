import type { AgentDefinition } from "../definition/agent-definition.ts";
import type { Principal } from "../storage/platform/platform.ts";

/** The scopes of API keys. `*` includes all of them. */
export type Scope =
  | `${"agents" | "runs" | "memory"}:${"read" | "write"}`
  | `tools:${"read" | "write" | "execute"}`
  | `checkpoints:${"read" | "redacted"}`
  | "requests:answer"
  | "usage:read"
  | "webhooks:write"
  | "admin";

/** Identifies callers by their keys. Each call reads the key, so that a revoked one is refused at once. */
export interface KeyVerifier {
  verify(secret: string): Promise<
    | { readonly principal: Principal; readonly refusal: null }
    /** `refusal` is logged. Callers get the same answer for each. */
    | { readonly principal: null; readonly refusal: string; readonly keyId: string | null }
  >;
}

/** A stored answer to a POST request. */
export interface StoredAnswer {
  readonly status: number;
  readonly answer: unknown;
}

/** Answers to requests with an Idempotency-Key, by tenant and key. */
export interface IdempotencyStore {
  /**
   * Claims a key for a request. `claimed`: the caller answers it, and calls `finish` or `abandon`.
   *
   * @param hash SHA-256 of the request: another one under the same key is a `mismatch`
   */
  begin(
    tenantId: string,
    request: { readonly key: string; readonly hash: Uint8Array },
  ): Promise<
    | { readonly state: "claimed" | "under_way" | "mismatch" }
    | ({ readonly state: "answered" } & StoredAnswer)
  >;
  finish(tenantId: string, key: string, stored: StoredAnswer): Promise<void>;
  /** Frees a key whose request failed, so that it can be sent again. */
  abandon(tenantId: string, key: string): Promise<void>;
}

/** Sums of a day in UTC. */
export interface DayUsage {
  readonly requests: number;
  readonly tokens: number;
  readonly costUsd: number;
}

/** The usage of tenants and their limits of a day. A limit that is left out does not exist. */
export interface QuotaStore {
  usage(tenantId: string, day: string): Promise<DayUsage>;
  limits(tenantId: string): Promise<Partial<DayUsage>>;
  addRequests(tenantId: string, day: string, requests: number): Promise<void>;
}

/** Who changed what. Values are hashed. */
export interface AuditLog {
  write(entry: {
    readonly tenantId: string;
    /** As in `key:<id>`. */
    readonly actor: string;
    /** As in `agent.create`. */
    readonly action: string;
    readonly subject: string;
    readonly before?: unknown;
    readonly after?: unknown;
  }): Promise<void>;
}

/** A version of an agent. */
export interface StoredAgent {
  /** Of this version. */
  readonly id: string;
  /** The same for all versions. */
  readonly agentId: string;
  readonly name: string;
  readonly version: string;
  readonly definition: Readonly<Record<string, unknown>>;
  readonly isActive: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface PageRequest {
  readonly limit?: number;
  readonly cursor?: string;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
}

/** The agents of tenants. */
export interface AgentStore {
  create(
    tenantId: string,
    given: { readonly name: string; readonly definition: object; readonly version?: string },
  ): Promise<StoredAgent>;
  get(tenantId: string, agentId: string, version?: string): Promise<StoredAgent>;
  list(
    tenantId: string,
    filter: PageRequest & { readonly name?: string },
  ): Promise<Page<StoredAgent>>;
  versions(tenantId: string, agentId: string, page: PageRequest): Promise<Page<StoredAgent>>;
  newVersion(
    tenantId: string,
    given: {
      readonly agentId: string;
      readonly base: string;
      readonly definition: object;
      readonly version?: string;
    },
  ): Promise<StoredAgent>;
  deactivate(tenantId: string, agentId: string): Promise<void>;
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

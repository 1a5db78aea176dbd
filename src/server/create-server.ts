import type { OpenAPIHono } from "@hono/zod-openapi";
import { type Clock, type IdSource, systemClock, systemIds } from "../clock.ts";
import { agentRoutes, type AgentRoutesOptions } from "./agents/routes.ts";
import type { Authentication } from "./authenticate.ts";
import { ServerClosedError } from "./errors.ts";
import { createClientAddress } from "./http/client-address.ts";
import {
  type ConnectionLimits,
  listenOn,
  type ListenOptions,
  type NodeServer,
} from "./http/node-server.ts";
import { createHttpApp } from "./http-app.ts";
import { InspectorPage } from "./inspector/inspector-page.ts";
import { IdempotentRequests } from "./idempotency.ts";
import { Metrics } from "./metrics.ts";
import type { PipelineOptions } from "./pipeline.ts";
import type { IdempotencyStore, ServerLogger, TenantLimitStores } from "./ports.ts";
import { RateLimiter, type RateLimits } from "./rate-limits.ts";
import type { Route } from "./route.ts";
import { type ReadinessCheck, serviceRoutes } from "./service-routes.ts";
import { TenantLimits } from "./tenant-limits.ts";

/** Limits of requests. */
export interface RequestLimits extends ConnectionLimits {
  /** Bytes of a body, unless its route says otherwise. Default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** Levels of nesting of a body. Default 100. */
  readonly maxBodyDepth?: number;
  /** Keys and list entries of a body. Default 50,000. */
  readonly maxBodyValues?: number;
  /** Characters of path and query. Default 4,096. */
  readonly maxUrlLength?: number;
  /** Default 64. */
  readonly maxHeaders?: number;
  /** Milliseconds until an answer, unless its route says otherwise. Default 60,000. */
  readonly answerTimeoutMs?: number;
}

/** Options that do not depend on where things are stored. */
export interface HttpOptions {
  readonly limits?: RequestLimits;
  readonly rates?: RateLimits;
  /** Origins of web pages that may call the API; `*` for all, with keys only. Default none: no CORS headers. */
  readonly corsOrigins?: readonly string[];
  /** Host names, apart from localhost, that a server without keys answers to. Default none. */
  readonly allowedHosts?: readonly string[];
  /** IP addresses and ranges of proxies whose X-Forwarded-For counts. Default none. */
  readonly trustedProxies?: readonly string[];
  /** Path of the inspector, one segment. Default `/inspector`; null for none. */
  readonly inspector?: string | null;
  /** Who may read /metrics. Default: keys with the scope `admin`; without keys, clients on loopback. */
  readonly metricsFor?: "admin" | "loopback";
  /** Default: logs nothing. */
  readonly logger?: ServerLogger;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

/** The parts that the server stands on. */
export interface ServerParts {
  readonly authentication: Authentication;
  readonly agents: AgentRoutesOptions;
  /** Null: Idempotency-Key is ignored. */
  readonly idempotency: IdempotencyStore | null;
  /** Null: tenants have no limits of their own. */
  readonly tenantLimits: TenantLimitStores | null;
  readonly readiness: readonly ReadinessCheck[];
  /** Version in the document. */
  readonly version: string;
  /** Further routes. */
  readonly routes?: readonly Route[];
  /** Called when the server begins to close, while it gives its last answers, with the milliseconds that they have. */
  readonly drain?: (graceMs: number) => Promise<void>;
  /** Called once when the server closes, after its last answer. */
  readonly close?: () => Promise<void>;
}

export interface StratagraphServer {
  /**
   * The Hono app, to be mounted into another one: `outer.route("/", server.app)`. It answers its own routes only, and
   * adds nothing to others. Mount it after middleware of all routes, before a route that answers every path.
   */
  readonly app: OpenAPIHono;
  /** Answers a request without a socket. */
  readonly fetch: (request: Request, env?: object) => Promise<Response> | Response;
  readonly metrics: Metrics;
  /** Routes that were added, each of which is in the OpenAPI document. */
  readonly routes: readonly Route[];
  /**
   * Listens on an address.
   *
   * @throws UnprotectedServerError on another host than loopback without keys; ListenError; ServerClosedError
   */
  listen(options?: ListenOptions): Promise<NodeServer>;
  /**
   * Refuses new requests with 503, waits for those under way, and closes. Twice is once.
   *
   * @param graceMs milliseconds for requests under way; default 10,000
   */
  close(graceMs?: number): Promise<void>;
}

const silent: ServerLogger = { info: () => {}, warn: () => {}, error: () => {} };
const mebibyte = 1_048_576;

/** Creates the server of the API on given parts. */
export function createServerWith(parts: ServerParts, options: HttpOptions = {}): StratagraphServer {
  const { clock = systemClock, ids = systemIds, logger = silent, limits = {} } = options;
  const isOpen = "development" in parts.authentication;
  const closing = new AbortController();
  const closedSignal = new AbortController();
  const metrics = new Metrics();
  const pipeline: PipelineOptions = {
    authentication: parts.authentication,
    rates: new RateLimiter(options.rates ?? {}, clock),
    logger,
    tenantLimits: parts.tenantLimits === null ? null : new TenantLimits(parts.tenantLimits, clock),
    idempotency:
      parts.idempotency && new IdempotentRequests({ store: parts.idempotency, logger, clock }),
    metrics,
    clock,
    body: {
      maxBytes: limits.maxBodyBytes ?? mebibyte,
      maxDepth: limits.maxBodyDepth ?? 100,
      maxValues: limits.maxBodyValues ?? 50_000,
    },
    answerTimeoutMs: limits.answerTimeoutMs ?? 60_000,
    closing: closing.signal,
    closed: closedSignal.signal,
  };
  const http = createHttpApp({
    ...pipeline,
    ids,
    browser: {
      origins: options.corsOrigins ?? [],
      isOpen,
      hosts: (options.allowedHosts ?? []).map((host) => host.toLowerCase()),
    },
    clientAddress: createClientAddress(options.trustedProxies ?? []),
    maxUrlLength: limits.maxUrlLength ?? 4096,
    maxHeaders: limits.maxHeaders ?? 64,
    version: parts.version,
    inspector:
      options.inspector === null ? null : new InspectorPage(options.inspector ?? "/inspector"),
  });
  const metricsFor = options.metricsFor ?? (isOpen ? "loopback" : "admin");
  for (const route of [
    ...serviceRoutes({ http, pipeline, readiness: parts.readiness, metricsFor }),
    ...agentRoutes(parts.agents),
    ...(parts.routes ?? []),
  ])
    http.add(route);

  const listening = new Set<NodeServer>();
  let closed: Promise<void> | undefined;
  const close = async (graceMs: number): Promise<void> => {
    closing.abort(new ServerClosedError());
    await Promise.all([
      parts.drain?.(graceMs),
      ...[...listening].map((server) => server.close(graceMs)),
    ]);
    closedSignal.abort(new ServerClosedError());
    await pipeline.idempotency?.close();
    try {
      await pipeline.tenantLimits?.flush();
    } catch (thrown) {
      logger.error({ err: thrown }, "requests not counted");
    }
    await parts.close?.();
  };
  return {
    app: http.app as unknown as OpenAPIHono,
    fetch: http.fetch,
    metrics,
    routes: http.routes,
    async listen(where = {}) {
      if (closing.signal.aborted) throw new ServerClosedError();
      const server = await listenOn(http.fetch, where, { limits, isOpen });
      listening.add(server);
      return server;
    },
    close: (graceMs = 10_000) => (closed ??= close(graceMs)),
  };
}

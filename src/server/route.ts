import type { z } from "zod";
import type { Principal } from "../storage/platform/platform.ts";
import type { Scope } from "../storage/platform/api-keys.ts";
import type { ProblemType } from "./problems.ts";

/** Facts of a request that all parts of the server share. */
export interface RequestFacts {
  readonly id: string;
  /** Address of the client; undefined where the server that mounts the app does not say. */
  readonly client: string | undefined;
  /** Monotonic milliseconds at which it came. */
  readonly startedAt: number;
  /** Path pattern of its route; undefined until one is found. */
  route: string | undefined;
  principal: Principal | undefined;
  /** Headers of the answer that were decided before the route's own. */
  readonly headers: Headers;
}

/** The answer of a route. */
export interface Answer {
  readonly status: number;
  /** Sent as JSON; absent for an answer without a body. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a route's handler gets. */
export interface Call<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly principal: Principal;
  readonly request: Request;
  readonly facts: RequestFacts;
  /** Aborts when the answer is no longer awaited: after the time limit of the route, or of the server's shutdown. */
  readonly signal: AbortSignal;
  /** Aborts when the server begins to shut down. Streams end then. */
  readonly closing: AbortSignal;
}

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

export interface RouteAnswer {
  readonly description: string;
  /** Absent for an answer without a body. */
  readonly schema?: z.ZodType;
  /** Default `application/json`. */
  readonly mediaType?: string;
  /** Whether callers may get events (`text/event-stream`) instead. */
  readonly orEvents?: true;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The media type of streams of events. */
export const eventStreamType = "text/event-stream";

/** A route: its documentation, its checks and its handler in one place. */
export interface Route<
  Params extends z.ZodObject | undefined = z.ZodObject | undefined,
  Query extends z.ZodObject | undefined = z.ZodObject | undefined,
  Body extends z.ZodType | undefined = z.ZodType | undefined,
> {
  readonly method: "get" | "post" | "patch" | "put" | "delete";
  /** Path with parameters in braces: `/v1/agents/{agent_id}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  /** All of them are required. `public`: no key is. */
  readonly scopes: readonly Scope[] | "public";
  readonly params?: Params;
  /** Strict: unknown parameters are refused. */
  readonly query?: Query;
  /** Parameters of the query that may come several times, and are read as one with commas. Others are refused then. */
  readonly repeated?: readonly string[];
  readonly body?: Body;
  /** JSON Schema of the body for the document. Default: of `body`. */
  readonly bodySchema?: { readonly id: string; readonly schema: object };
  /** Default `application/json`. */
  readonly bodyTypes?: readonly string[];
  /** Bytes. Default: that of the server. */
  readonly maxBodyBytes?: number;
  /** Milliseconds until the answer. Default: that of the server; 0 for none. */
  readonly timeoutMs?: number;
  /** Whether it uses a model or a tool, so that the quotas of tokens and cost apply. Default false. */
  readonly spends?: boolean;
  /** Request headers for the document, by name. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly answers: Readonly<Record<number, RouteAnswer>>;
  /** Problems of this route, apart from those of all routes. */
  readonly problems?: readonly ProblemType[];
  readonly handle: (
    call: Call<Parsed<Params>, Parsed<Query>, Parsed<Body>>,
  ) => Promise<Answer | Response>;
}

/** Declares a route, with the types of its parameters inferred. */
export function defineRoute<
  Params extends z.ZodObject | undefined = undefined,
  Query extends z.ZodObject | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(route: Route<Params, Query, Body>): Route {
  return route;
}

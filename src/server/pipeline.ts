import type { z } from "zod";
import { linkSignals } from "../async.ts";
import type { Clock } from "../clock.ts";
import { schemaProblems } from "../definition/check/schema-problems.ts";
import type { Principal } from "../storage/platform/platform.ts";
import { authenticate, type AuthenticateOptions, checkScopes } from "./authenticate.ts";
import { type BodyLimits, type JsonBody, readJsonBody } from "./http/read-body.ts";
import type { IdempotentRequests } from "./idempotency.ts";
import type { Metrics } from "./metrics.ts";
import { HttpProblem, type PointedProblem, pointedProblems, problemMediaType } from "./problems.ts";
import { type Answer, type Call, eventStreamType, type RequestFacts, type Route } from "./route.ts";
import type { TenantLimits } from "./tenant-limits.ts";

export interface PipelineOptions extends AuthenticateOptions {
  readonly tenantLimits: TenantLimits | null;
  readonly idempotency: IdempotentRequests | null;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly body: BodyLimits;
  /** Milliseconds until a route must answer. */
  readonly answerTimeoutMs: number;
  /** Aborts when the server begins to shut down. */
  readonly closing: AbortSignal;
  /** Aborts when the time for requests under way is over. */
  readonly closed: AbortSignal;
}

/** A request that was matched to a route. */
export interface MatchedRequest {
  readonly request: Request;
  readonly facts: RequestFacts;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/** The principal of a public route's call. */
const anonymous: Principal = { tenantId: "", keyId: "", scopes: [] };

/**
 * Takes a request through the checks of its route, in this order: key, rate, scopes, quota, Accept, parameters, body,
 * idempotency. A refused key therefore learns nothing of what the route expects.
 */
export async function runRoute(
  route: Route,
  { request, facts, params }: MatchedRequest,
  options: PipelineOptions,
): Promise<Response> {
  let principal = anonymous;
  if (route.scopes !== "public") {
    principal = await authenticate(request, facts, options);
    facts.principal = principal;
    const { tenantLimits, rates } = options;
    const { tenantId } = principal;
    rates.take(principal, { headers: facts.headers, ofTenant: await tenantLimits?.rate(tenantId) });
    checkScopes(principal, route.scopes);
    await tenantLimits?.take(tenantId, route.spends ?? false);
  }
  checkAccept(request.headers.get("accept"), route);
  const call = {
    params: parse(params, { schema: route.params, in: "path" }),
    query: parse(queryOf(request, route), { schema: route.query, in: "query" }),
  };
  const body = await readBody(route, request, options);
  const run = async (signal: AbortSignal) => {
    const parsed = body && parse(body.value, { schema: route.body });
    return route.handle({
      ...call,
      body: parsed,
      principal,
      request,
      facts,
      signal,
      closing: options.closing,
    } as Call<never, never, never>);
  };
  const isIdempotent = route.method === "post" && route.scopes !== "public";
  const idempotency = isIdempotent ? options.idempotency : null;
  const of = {
    tenantId: principal.tenantId,
    scopes: principal.scopes,
    request,
    bytes: body?.bytes ?? new Uint8Array(),
    requestId: facts.id,
  };
  // The key of a request that takes too long stays taken until its handler ends: that may still do its work.
  const answer = await withTimeout(route, options, (signal) =>
    idempotency === null ? run(signal) : idempotency.runOnce(of, () => run(signal)),
  );
  return answer instanceof Response ? answer : toResponse(answer);
}

function toResponse({ status, body, headers = {} }: Answer): Response {
  if (body === undefined) return new Response(null, { status, headers });
  return new Response(JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/json", ...headers },
  });
}

/** @throws HttpProblem `not_acceptable` */
function checkAccept(accept: string | null, route: Route): void {
  if (accept === null || accept.trim() === "") return;
  const offered = Object.values(route.answers).flatMap(({ schema, mediaType, orEvents }) => [
    ...(schema === undefined && mediaType === undefined ? [] : [mediaType ?? "application/json"]),
    ...(orEvents ? [eventStreamType] : []),
  ]);
  if (offered.length === 0) return;
  const types = [...offered, problemMediaType];
  const ranges = accept.split(",").map((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    return { type, isRefused: parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)) };
  });
  const isAccepted = types.some((type) => {
    const [family = ""] = type.split("/");
    return ranges.some(
      (range) => !range.isRefused && [type, `${family}/*`, "*/*"].includes(range.type),
    );
  });
  if (isAccepted) return;
  throw new HttpProblem("not_acceptable", {
    detail: `The answer is available as ${[...new Set(offered)].join(", ")}.`,
  });
}

function queryOf(
  request: Request,
  { repeated = [] }: Pick<Route, "repeated">,
): Record<string, string> {
  const { searchParams } = new URL(request.url);
  const query = Object.create(null) as Record<string, string>;
  for (const [name, value] of searchParams) {
    if (name in query && repeated.includes(name)) {
      query[name] = `${query[name]},${value}`;
      continue;
    }
    if (name in query) {
      throw new HttpProblem("invalid_request", {
        detail: "A query parameter is given twice.",
        errors: [{ pointer: `/${name.slice(0, 100)}`, in: "query", detail: "given twice" }],
      });
    }
    query[name] = value;
  }
  return { ...query };
}

/** @throws HttpProblem `invalid_request` with a pointer for each problem */
function parse(
  value: unknown,
  of: { readonly schema: z.ZodType | undefined; readonly in?: "path" | "query" },
): unknown {
  const { schema } = of;
  if (schema === undefined) {
    const names = of.in === "query" ? Object.keys(value as object) : [];
    if (names.length === 0) return undefined;
    throw invalid(
      names.map((name) => ({ pointer: `/${name.slice(0, 100)}`, detail: "unknown parameter" })),
      of.in,
    );
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid(pointedProblems(schemaProblems(value, schema)), of.in);
}

function invalid(
  errors: readonly PointedProblem[],
  where: "path" | "query" | undefined,
): HttpProblem {
  const count = errors.length === 1 ? "1 problem" : `${errors.length} problems`;
  const subject = where === undefined ? "body" : where;
  return new HttpProblem("invalid_request", {
    detail: `The ${subject} has ${count}.`,
    errors: errors.map((error) => ({ ...error, ...(where !== undefined && { in: where }) })),
  });
}

async function readBody(
  route: Route,
  request: Request,
  { body: limits }: PipelineOptions,
): Promise<JsonBody | undefined> {
  if (route.body === undefined) return undefined;
  const maxBytes = route.maxBodyBytes ?? limits.maxBytes;
  return readJsonBody(request, route.bodyTypes ?? ["application/json"], { ...limits, maxBytes });
}

/** @throws HttpProblem `timeout` when the time limit of the route is over; the handler's signal is aborted then */
async function withTimeout<T>(
  route: Route,
  { clock, answerTimeoutMs, closed }: PipelineOptions,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limitMs = route.timeoutMs ?? answerTimeoutMs;
  const own = linkSignals(closed);
  let cancel = () => {};
  const late = new Promise<never>((_resolve, reject) => {
    if (limitMs === 0) return;
    cancel = clock.after(limitMs, () => {
      const problem = new HttpProblem("timeout", {
        detail: `The answer took more than ${limitMs / 1000} s.`,
      });
      reject(problem);
      own.abort(problem);
    });
  });
  try {
    return await Promise.race([late, run(own.signal)]);
  } finally {
    cancel();
    own.release();
  }
}

import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { routePath } from "hono/route";
import type { IdSource } from "../clock.ts";
import {
  type BrowserRules,
  checkBrowser,
  corsHeaders,
  preflightHeaders,
} from "./http/browser-rules.ts";
import type { ClientAddress } from "./http/client-address.ts";
import type { InspectorPage } from "./inspector/inspector-page.ts";
import { ApiDocument } from "./openapi.ts";
import { type PipelineOptions, runRoute } from "./pipeline.ts";
import { problemOfError } from "./problem-of-error.ts";
import { HttpProblem, problemDocument, problemMediaType } from "./problems.ts";
import type { RequestFacts, Route } from "./route.ts";

const standalone = Symbol("standalone");

/** What the server that mounts the app may say of a connection. */
interface Bindings {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
  /** Whether no other app is around this one. */
  readonly [standalone]?: true;
}

export interface HttpAppOptions extends PipelineOptions {
  readonly browser: BrowserRules;
  readonly clientAddress: ClientAddress;
  readonly ids: IdSource;
  /** Characters of a URL. */
  readonly maxUrlLength: number;
  readonly maxHeaders: number;
  readonly version: string;
  /** Null: no page is served. */
  readonly inspector: InspectorPage | null;
}

export interface HttpApp {
  /** To be mounted into another app, whose own paths it leaves alone. */
  readonly app: OpenAPIHono<{ Bindings: Bindings }>;
  /** Answers every request, also those of no route. */
  readonly fetch: (request: Request, env?: object) => Promise<Response> | Response;
  /** Adds a route, with its place in the document. */
  add(route: Route): void;
  /** The OpenAPI document of all routes. */
  document(): object;
  /** Routes that were added. */
  readonly routes: readonly Route[];
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

const securityHeaders = {
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
} as const;

/** Creates the app: every answer passes here, with its id, headers, log line and metrics. */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const app = new OpenAPIHono<{ Bindings: Bindings }>({ strict: true });
  const document = new ApiDocument(app.openAPIRegistry);
  const routes: Route[] = [];
  let documented = 0;
  const facts = new WeakMap<Request, RequestFacts>();

  app.use("*", async (context, next) => {
    const { env, req } = context;
    const isAlone = (env as Bindings | undefined)?.[standalone] === true;
    const mountedAt = routePath(context).replace(/\/\*$/, "");
    const isPage = options.inspector?.owns(req.path.slice(mountedAt.length)) ?? false;
    if (!isAlone && !isPage && !isOwnPath(routes, req.path)) return next();
    const own = startRequest(context, options);
    facts.set(req.raw, own);
    options.metrics.add(inFlight, inFlightHelp, 1);
    try {
      const refused = checkRequest(context.req.raw, own, { options, routes, isPage });
      if (refused === undefined) await next();
      else context.res = refused;
    } finally {
      options.metrics.add(inFlight, inFlightHelp, -1);
    }
    context.res = finishRequest(context.req.raw, { facts: own, response: context.res, options });
    return undefined;
  });
  const { inspector } = options;
  if (inspector !== null) {
    for (const path of [inspector.path, `${inspector.path}/*`]) {
      app.on(["GET", "HEAD"], path, ({ req }) => {
        const own = facts.get(req.raw);
        if (own !== undefined) own.route = inspector.path;
        return inspector.respond(req.raw);
      });
    }
  }
  app.notFound((context) => {
    const { pathname } = new URL(context.req.url);
    const isAlone = (context.env as Bindings | undefined)?.[standalone] === true;
    if (inspector !== null && isAlone && pathname === "/" && context.req.method === "GET")
      return context.redirect(`${inspector.path}/`);
    const allowed = allowedMethods(routes, pathname);
    const { id } = facts.get(context.req.raw) ?? { id: "" };
    if (allowed.length === 0) return problemResponse(new HttpProblem("not_found"), id);
    const detail = `Allowed here: ${allowed.join(", ")}.`;
    const headers = { Allow: allowed.join(", ") };
    return problemResponse(new HttpProblem("method_not_allowed", { detail, headers }), id);
  });
  app.onError((thrown, context) => {
    const own = facts.get(context.req.raw);
    return refusalOf(thrown, own?.id ?? "", options);
  });

  return {
    app,
    fetch: (request, env) => app.fetch(request, { ...env, [standalone]: true }),
    routes,
    document() {
      // On request: converting the schemas of all routes takes a tenth of a second, which a start should not.
      for (const route of routes.slice(documented)) document.add(route);
      documented = routes.length;
      return app.getOpenAPI31Document({
        openapi: "3.1.0",
        info: {
          title: "Stratagraph API",
          version: options.version,
          description: "Agents, runs and threads over HTTP.",
        },
      });
    },
    add(route) {
      routes.push(route);
      const pattern = route.path.replaceAll(/\{(\w+)\}/g, ":$1");
      app.on(route.method.toUpperCase(), pattern, async (context) => {
        const request = context.req.raw;
        const own = facts.get(request);
        // No request comes here past the checks above.
        if (own === undefined) throw new HttpProblem("internal");
        own.route = route.path;
        return runRoute(route, { request, facts: own, params: context.req.param() }, options);
      });
    },
  };
}

const inFlight = "stratagraph_http_requests_in_flight";
const inFlightHelp = "Requests that are being answered.";

function startRequest(
  { req, env }: Pick<Context<{ Bindings: Bindings }>, "req" | "env">,
  { ids, clock, clientAddress }: HttpAppOptions,
): RequestFacts {
  const given = req.header("x-request-id");
  const isValid = given !== undefined && /^[\w.:-]{1,128}$/.test(given);
  return {
    id: isValid ? given : ids(),
    // Without a server around it, as in `app.request`, there is no environment.
    client: clientAddress(
      (env as Bindings | undefined)?.incoming?.socket?.remoteAddress,
      req.header("x-forwarded-for") ?? null,
    ),
    startedAt: clock.monotonic(),
    route: undefined,
    principal: undefined,
    headers: new Headers(),
  };
}

/** Returns the answer to a request that no route is to see. */
function checkRequest(
  request: Request,
  facts: RequestFacts,
  {
    options,
    routes,
    isPage,
  }: {
    readonly options: HttpAppOptions;
    readonly routes: readonly Route[];
    readonly isPage: boolean;
  },
): Response | undefined {
  try {
    const url = new URL(request.url);
    if (options.closing.aborted && !/^\/(?:healthz|readyz|metrics)$/.test(url.pathname)) {
      const headers = { "Retry-After": "5" };
      throw new HttpProblem("unavailable", { detail: "The server is shutting down.", headers });
    }
    if (url.pathname.length + url.search.length > options.maxUrlLength) {
      const detail = `The URL may have ${options.maxUrlLength} characters.`;
      throw new HttpProblem("url_too_long", { detail });
    }
    if ([...request.headers.keys()].length > options.maxHeaders) {
      const detail = `A request may have ${options.maxHeaders} headers.`;
      throw new HttpProblem("headers_too_large", { detail });
    }
    checkBrowser(request, options.browser, { isPage });
    const origin = request.headers.get("origin");
    for (const [name, value] of Object.entries(corsHeaders(origin, options.browser)))
      facts.headers.set(name, value);
    const isPreflight =
      request.method === "OPTIONS" && request.headers.has("access-control-request-method");
    if (!isPreflight) return undefined;
    if (!facts.headers.has("access-control-allow-origin")) {
      throw new HttpProblem("forbidden_origin", {
        detail: "The origin is not on the list of this server.",
      });
    }
    const allowed = allowedMethods(routes, url.pathname);
    return new Response(null, { status: 204, headers: preflightHeaders(allowed) });
  } catch (thrown) {
    return refusalOf(thrown, facts.id, options);
  }
}

function refusalOf(thrown: unknown, id: string, { logger, metrics }: HttpAppOptions): Response {
  const problem = problemOfError(thrown);
  if (problem.status >= 500 && problem.facts.cause !== undefined) {
    logger.error({ request_id: id, err: problem.facts.cause }, "request failed");
  }
  if (problem.status === 429) {
    const { limit, quota } = problem.facts.extensions ?? {};
    const by = typeof quota === "string" ? `quota:${quota}` : String(limit);
    metrics.count("stratagraph_http_limited_total", "Requests refused by a limit.", { limit: by });
  }
  return problemResponse(problem, id);
}

function problemResponse(problem: HttpProblem, id: string): Response {
  return new Response(JSON.stringify(problemDocument(problem, id)), {
    status: problem.status,
    headers: { "Content-Type": problemMediaType, ...problem.facts.headers },
  });
}

/** Adds the headers of all answers, and writes the log line and the metrics of the request. */
function finishRequest(
  request: Request,
  of: {
    readonly facts: RequestFacts;
    readonly response: Response;
    readonly options: HttpAppOptions;
  },
): Response {
  const { facts, response, options } = of;
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(securityHeaders))
    if (!headers.has(name)) headers.set(name, value);
  for (const [name, value] of facts.headers) headers.set(name, value);
  headers.set("X-Request-Id", facts.id);
  // Otherwise the server waits for the next request of the connection, or for its time to be idle.
  if (options.closing.aborted) headers.set("Connection", "close");
  const { status } = response;
  const ms = options.clock.monotonic() - facts.startedAt;
  const method = methods.has(request.method) ? request.method : "OTHER";
  const route = facts.route ?? "unmatched";
  options.metrics.count("stratagraph_http_requests_total", "Answered requests.", {
    route,
    method,
    status: String(status),
  });
  const seconds = { labels: { route, method }, seconds: ms / 1000 };
  options.metrics.observe(
    "stratagraph_http_request_duration_seconds",
    "Seconds until the headers of the answer.",
    seconds,
  );
  const { tenantId, keyId } = facts.principal ?? {};
  options.logger.info(
    {
      request_id: facts.id,
      method,
      route,
      status,
      ms: Math.round(ms * 10) / 10,
      ...(tenantId !== undefined && { tenant: tenantId, key: keyId }),
    },
    "request",
  );
  return new Response(response.body, { status, headers });
}

/** Whether a path may be one of the routes, under whatever prefix the app is mounted. */
function isOwnPath(routes: readonly Route[], path: string): boolean {
  const longest = Math.max(...routes.map((route) => route.path.split("/").length - 1));
  const parts = path.split("/").slice(1).slice(-longest);
  return parts.some((_, at) => allowedMethods(routes, `/${parts.slice(at).join("/")}`).length > 0);
}

function allowedMethods(routes: readonly Route[], pathname: string): string[] {
  const parts = pathname.split("/");
  const own = routes.filter(({ path }) => {
    const pattern = path.split("/");
    return (
      pattern.length === parts.length &&
      pattern.every((part, at) => (part.startsWith("{") ? parts[at] !== "" : part === parts[at]))
    );
  });
  const named = own.map(({ method }) => method.toUpperCase());
  return [...new Set(named.flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : [name])))];
}

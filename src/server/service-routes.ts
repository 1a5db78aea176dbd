import { z } from "zod";
import { authenticate, checkScopes } from "./authenticate.ts";
import { isLoopback } from "./http/client-address.ts";
import type { HttpApp } from "./http-app.ts";
import type { PipelineOptions } from "./pipeline.ts";
import { HttpProblem } from "./problems.ts";
import { referencePagePolicy, renderReference } from "./http/reference-page.ts";
import { defineRoute, type Route } from "./route.ts";

/** A part that must work before the server takes requests. */
export interface ReadinessCheck {
  /** As in `database`. */
  readonly name: string;
  /** Throws if it does not work. */
  readonly check: () => Promise<void>;
}

export interface ServiceRoutesOptions {
  readonly http: HttpApp;
  readonly pipeline: PipelineOptions;
  readonly readiness: readonly ReadinessCheck[];
  /**
   * Who may read /metrics: keys with the scope `admin`, or clients on loopback. Behind a proxy on the same machine all
   * clients are on loopback.
   */
  readonly metricsFor: "admin" | "loopback";
}

const healthSchema = z.strictObject({ status: z.literal("ok") }).meta({ id: "Health" });
const readySchema = z
  .strictObject({
    status: z.enum(["ready", "not_ready"]),
    checks: z.record(z.string(), z.enum(["ok", "failed"])),
  })
  .meta({ id: "Readiness" });

/** Milliseconds that a check of readiness may take. */
const checkMs = 3000;

/** Creates the routes about the server itself: health, readiness, metrics, the document and its page. */
export function serviceRoutes(options: ServiceRoutesOptions): readonly Route[] {
  const { http, pipeline } = options;
  let page: string | undefined;
  return [
    defineRoute({
      method: "get",
      path: "/healthz",
      operationId: "getHealth",
      summary: "Says that the process answers.",
      tag: "service",
      scopes: "public",
      answers: { 200: { description: "It answers.", schema: healthSchema } },
      handle: async () => ({ status: 200, body: { status: "ok" } }),
    }),
    defineRoute({
      method: "get",
      path: "/readyz",
      operationId: "getReadiness",
      summary:
        "Says whether requests may be sent here: the database answers, and the server is not shutting down.",
      tag: "service",
      scopes: "public",
      answers: {
        200: { description: "Ready.", schema: readySchema },
        503: { description: "Not ready.", schema: readySchema },
      },
      handle: async () => {
        const checks = await Promise.all(
          options.readiness.map(async ({ name, check }) => [name, await runCheck(check, pipeline)]),
        );
        const all = [...checks, ["accepting", pipeline.closing.aborted ? "failed" : "ok"]];
        const isReady = all.every(([, result]) => result === "ok");
        return {
          status: isReady ? 200 : 503,
          body: {
            status: isReady ? "ready" : "not_ready",
            checks: Object.fromEntries(all) as object,
          },
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/metrics",
      operationId: "getMetrics",
      summary: "Metrics of this process for Prometheus.",
      description:
        "Needs a key with the scope admin, or a client on loopback, as the server is configured.",
      tag: "service",
      scopes: "public",
      answers: { 200: { description: "Metrics.", schema: z.string(), mediaType: "text/plain" } },
      problems: ["unauthorized", "missing_scope", "not_found"],
      handle: async ({ request, facts }) => {
        if (options.metricsFor === "admin") {
          const principal = await authenticate(request, facts, pipeline);
          pipeline.rates.take(principal, { headers: facts.headers });
          checkScopes(principal, ["admin"]);
        } else if (facts.client === undefined || !isLoopback(facts.client)) {
          throw new HttpProblem("not_found");
        }
        const text = await pipeline.metrics.render();
        return new Response(text, {
          headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" },
        });
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/openapi.json",
      operationId: "getOpenApi",
      summary: "This document: OpenAPI 3.1.",
      tag: "service",
      scopes: "public",
      answers: {
        200: { description: "The document.", schema: z.looseObject({ openapi: z.string() }) },
      },
      handle: async () => ({ status: 200, body: http.document() }),
    }),
    defineRoute({
      method: "get",
      path: "/v1/docs",
      operationId: "getReference",
      summary: "The document as a page without scripts.",
      tag: "service",
      scopes: "public",
      answers: { 200: { description: "The page.", schema: z.string(), mediaType: "text/html" } },
      handle: async () => {
        page ??= renderReference(http.document());
        return new Response(page, {
          headers: {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Security-Policy": referencePagePolicy,
          },
        });
      },
    }),
  ];
}

async function runCheck(
  check: () => Promise<void>,
  { clock, logger }: PipelineOptions,
): Promise<"ok" | "failed"> {
  let cancel = () => {};
  const late = new Promise<never>((_resolve, reject) => {
    cancel = clock.after(checkMs, () => reject(new Error("took too long")));
  });
  try {
    await Promise.race([check(), late]);
    return "ok";
  } catch (thrown) {
    logger.warn({ err: thrown }, "not ready");
    return "failed";
  } finally {
    cancel();
  }
}

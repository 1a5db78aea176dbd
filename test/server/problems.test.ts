import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineRoute } from "../../src/server/route.ts";
import { StratagraphError } from "../../src/errors.ts";
import { problemOfError } from "../../src/server/problem-of-error.ts";
import { startApi } from "../helpers/api-server.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

const agent = { name: "helper" };

/** A route whose handler does what a test needs. */
function route(handle: () => Promise<{ status: number; body: unknown }>) {
  return defineRoute({
    method: "get",
    path: "/v1/probe",
    operationId: "probe",
    summary: "Probe.",
    tag: "probe",
    scopes: [],
    answers: { 200: { description: "ok", schema: z.unknown() } },
    handle,
  });
}

describe("a problem", () => {
  it.each([
    [400, "invalid_request", "GET", "/v1/agents?limit=0", {}],
    [400, "invalid_request", "GET", "/v1/agents?limit=1&limit=2", {}],
    [400, "invalid_request", "GET", "/v1/agents?what=1", {}],
    [400, "invalid_json", "POST", "/v1/agents", { body: "{" }],
    [400, "invalid_json", "POST", "/v1/agents", { body: '{"name":"a","name":"b"}' }],
    [400, "invalid_json", "POST", "/v1/agents", { body: '{"__pro\\u0074o__":{}}' }],
    [400, "invalid_json", "POST", "/v1/agents", { body: "[".repeat(101) + "]".repeat(101) }],
    [400, "invalid_json", "POST", "/v1/agents", { body: `[${"0,".repeat(50_001)}0]` }],
    [401, "unauthorized", "GET", "/v1/agents", { key: null }],
    [403, "missing_scope", "GET", "/v1/agents", { key: "sg_a_runs:read" }],
    [404, "not_found", "GET", "/v1/nothing", {}],
    [404, "not_found", "GET", "/v1/agents/none", {}],
    [405, "method_not_allowed", "PUT", "/v1/agents", {}],
    [406, "not_acceptable", "GET", "/v1/agents", { headers: { accept: "text/html" } }],
    [409, "conflict", "POST", "/v1/agents", { body: agent }],
    [
      412,
      "version_mismatch",
      "PATCH",
      "/v1/agents/{id}",
      { body: {}, headers: { "if-match": '"9.0.0"' } },
    ],
    [413, "body_too_large", "POST", "/v1/agents", { body: `"${"a".repeat(1_048_576)}"` }],
    [414, "url_too_long", "GET", `/v1/agents?name=${"a".repeat(5000)}`, {}],
    [
      415,
      "unsupported_media_type",
      "POST",
      "/v1/agents",
      { body: "a=1", headers: { "content-type": "text/plain" } },
    ],
    [
      415,
      "unsupported_media_type",
      "POST",
      "/v1/agents",
      { body: "{}", headers: { "content-encoding": "gzip" } },
    ],
    [422, "invalid_definition", "POST", "/v1/agents", { body: { name: "A B" } }],
  ] as const)("%i %s is a document: %s (case %#)", async (status, type, method, path, options) => {
    const api = await startApi();
    const created = await api.send("POST", "/v1/agents", { body: agent });
    const answer = await api.send(
      method,
      path.replace("{id}", String(created.json["id"])),
      options,
    );
    expect(answer.status).toBe(status);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.json).toMatchObject({
      type: `/problems/${type}`,
      title: expect.any(String),
      status,
      instance: `urn:request:${answer.headers.get("x-request-id")}`,
    });
  });

  it("points at each place in the body, with what is allowed there", async () => {
    const api = await startApi();
    const body = { name: "A B", execution_config: { mode: "slow" }, "a/b~c": 1 };
    const { json } = await api.send("POST", "/v1/agents", { body });
    expect(json["errors"]).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ pointer: "/name" }),
        expect.objectContaining({ pointer: "/execution_config/mode", allowed: ["fast", "deep"] }),
        expect.objectContaining({ pointer: "/a~1b~0c" }),
      ]),
    );
  });

  it("names the methods that a path takes", async () => {
    const api = await startApi();
    const { headers } = await api.send("PUT", "/v1/agents/some");
    expect(headers.get("allow")).toBe("GET, HEAD, PATCH, DELETE");
  });

  it("of an unexpected error has neither its message nor a stack, which are logged", async () => {
    const fails = () => Promise.reject(new Error("password hunter2"));
    const api = await startApi({ routes: [route(fails)] });
    const answer = await api.send("GET", "/v1/probe");
    expect(answer.status).toBe(500);
    expect(answer.json).toEqual({
      type: "/problems/internal",
      title: "An unexpected error occurred",
      status: 500,
      instance: `urn:request:${answer.headers.get("x-request-id")}`,
    });
    expect(api.logs).toContainEqual(
      expect.objectContaining({
        level: "error",
        err: expect.objectContaining({ message: "password hunter2" }),
      }),
    );
  });

  it("says that an answer takes too long, and aborts its handler", async () => {
    const clock = new ManualClock();
    let aborted = false;
    const slow = defineRoute({
      ...route(() => Promise.reject(new Error("never"))),
      timeoutMs: 5000,
      handle: ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            aborted = true;
            reject(new Error("aborted"));
          });
          clock.advance(5000);
        }),
    });
    const api = await startApi({ routes: [slow] }, { clock });
    const answer = await api.send("GET", "/v1/probe");
    expect([answer.status, aborted]).toEqual([504, true]);
  });

  class Fault extends StratagraphError {
    constructor(
      readonly code: string,
      override readonly kind: "usage" | "run" = "usage",
    ) {
      super("the message");
    }
  }

  it.each([
    ["thread_busy", "usage", "conflict", 409],
    ["unknown_thread", "usage", "not_found", 404],
    ["any_usage_error", "usage", "invalid_input", 422],
    ["any_run_error", "run", "internal", 500],
    ["corrupt_checkpoint", "run", "internal", 500],
    ["tenant_isolation", "usage", "internal", 500],
    ["database_unavailable", "run", "unavailable", 503],
  ] as const)("of the error %s (%s) is %s", (code, kind, type, status) => {
    expect(problemOfError(new Fault(code, kind))).toMatchObject({ type, status });
  });

  it("keeps messages about the server to itself", () => {
    const { facts } = problemOfError(new Fault("missing_api_key"));
    expect(facts.detail).not.toContain("the message");
    expect(problemOfError(new Fault("database_busy")).facts.detail).toBeUndefined();
  });
});

import { describe, expect, it } from "vitest";
import { classifyFailure } from "../../src/models/failure.ts";
import { redactor } from "../../src/models/redact.ts";
import { retryDelay } from "../../src/models/calls/metered-model.ts";

function error(message: string, facts: object = {}): Error {
  return Object.assign(new Error(message), facts);
}

describe("classifyFailure", () => {
  it.each([
    [error("fetch failed", { cause: error("", { code: "ECONNREFUSED" }) }), "outage", true],
    [error("terminated"), "outage", true],
    [error("Overloaded", { status: 529 }), "outage", true],
    [error("busy", { statusCode: 429 }), "rate_limit", true],
    [error("busy", { response: { status: 429 } }), "rate_limit", true],
    [
      error("prompt is too long: 210000 tokens > 200000 maximum", { status: 400 }),
      "context_overflow",
      false,
    ],
    [
      error("the input token count exceeds the maximum", { status: 400 }),
      "context_overflow",
      false,
    ],
    [error("Payment required", { status: 402 }), "quota", false],
    [error("no", { status_code: 404 }), "model_not_found", false],
    [error("no", { status_code: 422 }), "bad_request", false],
    [new SyntaxError("Unexpected token < in JSON"), "bad_reply", false],
    [error("Something of its own"), "outage", false],
    ["a string", "outage", false],
  ])("%s is %s", (thrown, reason, transient) => {
    expect(classifyFailure(thrown)).toMatchObject({ reason, transient });
  });
});

describe("retryDelay", () => {
  const policy = { maxRetries: 10, backoffMs: 500, random: () => 1 };
  const failure = classifyFailure(error("busy", { status: 503 }));

  it("doubles up to eight seconds", () => {
    const delays = [1, 2, 3, 4, 5, 6].map((tried) => retryDelay(failure, tried, policy));
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000]);
  });

  it("ends with the retries", () => {
    expect(retryDelay(failure, 11, policy)).toBeNull();
  });

  it("keeps what the server asks for", () => {
    const headers = { "retry-after": "7" };
    const asked = classifyFailure(error("busy", { status: 429, headers }));
    expect(retryDelay(asked, 1, policy)).toBe(7_000);
    const exact = new Headers({ "retry-after": "7", "retry-after-ms": "250" });
    expect(retryDelay(classifyFailure(error("", { status: 429, headers: exact })), 1, policy)).toBe(
      250,
    );
  });
});

describe("redactor", () => {
  it("takes keys out by value and by form", () => {
    const redact = redactor({ ACME_API_KEY: "very-secret-value", HOME: "/home/ada-lovelace" });
    expect(redact("very-secret-value sk-proj-abc123XYZ sk-ab*****yz at /home/ada-lovelace")).toBe(
      "[redacted] [redacted] [redacted] at /home/ada-lovelace",
    );
  });
});

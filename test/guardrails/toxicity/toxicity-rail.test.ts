import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { toxicityConfigSchema } from "../../../src/definition/schema/guardrails.ts";
import { passFinding, type RailContext } from "../../../src/definition/rail.ts";
import { ModerationError, toxicityRail } from "../../../src/guardrails/toxicity/toxicity-rail.ts";

const context = (signal = new AbortController().signal): RailContext =>
  ({
    signal,
    resolveSecrets: async (text: string) => text.replace("{{secret:MOD_KEY}}", "k-123"),
  }) as RailContext;

function check(
  config: object,
  text: string,
  options: { signal?: AbortSignal; timeoutMs?: number } = {},
) {
  const { signal, ...rest } = options;
  const rail = toxicityRail(toxicityConfigSchema.parse(config), { onError: "block", ...rest });
  return Promise.resolve(
    rail.check({ on: "output", text, value: text, tool: null }, context(signal)),
  );
}

interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** Answers each request with the next of the answers; none for null. */
async function moderationServer(
  ...answers: ({ status?: number; location?: string; body: unknown } | null)[]
) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      asked.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) });
      const answer = answers.shift();
      if (answer == null) return;
      const { status = 200, location } = answer;
      response.writeHead(status, {
        "content-type": "application/json",
        ...(location !== undefined && { location }),
      });
      response.end(JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    moderation: {
      endpoint: `http://127.0.0.1:${port}/v1/moderations`,
      model: "m-1",
      headers: { Authorization: "Bearer {{secret:MOD_KEY}}" },
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const scores = (category_scores: Record<string, number>) => ({
  body: { results: [{ flagged: true, category_scores }] },
});

describe("toxicityRail", () => {
  it("passes clean texts", async () => {
    expect(await check({}, "Have a good day.")).toEqual(passFinding);
    expect(await check({ threshold: 0 }, "Have a good day.")).toEqual(passFinding);
    expect(await check({}, " ")).toBe(passFinding);
  });

  it.each(["block", "flag", "redact"])("does as its action says: %s", async (action) => {
    const finding = await check({ action }, "you stupid bitch");
    expect(finding).toMatchObject({
      verdict: action,
      spans: [{ start: 11, end: 16, label: "TOXIC" }],
    });
    expect(finding.reasons.join()).not.toContain("bitch");
  });

  it("passes what is below the threshold, with its score", async () => {
    const finding = await check(
      { threshold: 0.9 },
      "what a long and shitty day this was for us all",
    );
    expect(finding).toMatchObject({ verdict: "pass", spans: [], reasons: [] });
    expect(finding.score).toBeGreaterThan(0.5);
  });
});

describe("moderation", () => {
  it("is asked with the model, the text and resolved headers; its highest score counts", async () => {
    await using server = await moderationServer(scores({ hate: 0.1, harassment: 0.8 }));
    const { moderation } = server;
    expect(await check({ moderation }, "a mean text")).toEqual({
      verdict: "block",
      score: 0.8,
      spans: [],
      reasons: [
        "The moderation API objects to the text as harassment. Write it so that it is not.",
      ],
    });
    expect(server.asked[0]?.body).toEqual({ model: "m-1", input: "a mean text" });
    expect(server.asked[0]?.headers.authorization).toBe("Bearer k-123");
  });

  it("passes what neither objects to", async () => {
    await using server = await moderationServer(scores({ hate: 0.2 }));
    const { moderation } = server;
    expect(await check({ moderation }, "fine")).toMatchObject({ verdict: "pass", score: 0.2 });
  });

  it("is not asked about what the lexicon blocks", async () => {
    await using server = await moderationServer();
    const { moderation } = server;
    expect(await check({ moderation }, "fuck you")).toMatchObject({ verdict: "block" });
    expect(server.asked).toEqual([]);
  });

  it("is asked what is left of a text to be redacted, and blocks that", async () => {
    await using server = await moderationServer(scores({ hate: 0.1 }), scores({ hate: 0.9 }));
    const { moderation } = server;
    const first = await check({ moderation, action: "redact" }, "a shitty day");
    expect(first).toMatchObject({ verdict: "redact", spans: [{ start: 2, end: 8 }] });
    expect(server.asked[0]?.body).toEqual({ model: "m-1", input: "a  day" });
    expect(await check({ moderation, action: "redact" }, "a mean text")).toMatchObject({
      verdict: "block",
      spans: [],
    });
  });

  it.each([
    [429, true],
    [503, true],
    [401, false],
  ])("throws on status %i", async (status, transient) => {
    await using server = await moderationServer({ status, body: { error: "no" } });
    const { moderation } = server;
    const failure = await check({ moderation }, "fine").catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(ModerationError);
    expect(failure).toMatchObject({ code: "moderation_failed", kind: "run", status, transient });
  });

  it.each([301, 302, 303, 307, 308])("does not follow a redirect of status %i", async (status) => {
    await using other = await moderationServer(scores({ hate: 0.1 }));
    const location = other.moderation.endpoint;
    await using server = await moderationServer({ status, location, body: null });
    const { moderation } = server;
    const failure = await check({ moderation }, "private").catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: "moderation_failed", status, transient: false });
    expect(String(failure)).toContain("a redirect, which is not followed");
    expect([server.asked.length, other.asked]).toEqual([1, []]);
  });

  it("throws on an answer of another form", async () => {
    await using server = await moderationServer({ body: { results: [] } });
    const { moderation } = server;
    await expect(check({ moderation }, "fine")).rejects.toThrow("no results[0].category_scores");
  });

  it("throws where nothing listens, and where no answer comes in time", async () => {
    const server = await moderationServer(null);
    const { moderation } = server;
    const late = await check({ moderation }, "fine", { timeoutMs: 50 }).catch((e: unknown) => e);
    expect(late).toMatchObject({ code: "moderation_failed", transient: true, status: null });
    expect(String(late)).toContain("no answer within 50 ms");
    await server[Symbol.asyncDispose]();
    await expect(check({ moderation }, "fine")).rejects.toThrow(ModerationError);
  });

  it("ends with the signal's reason", async () => {
    await using server = await moderationServer(null);
    const { moderation } = server;
    const stop = new AbortController();
    const checked = check({ moderation }, "fine", { signal: stop.signal });
    const reason = new Error("the turn is over");
    stop.abort(reason);
    await expect(checked).rejects.toBe(reason);
  });

  it("never shows a header's value", async () => {
    const moderation = { endpoint: "http://127.0.0.1:1/", headers: { Authorization: "se\ncret" } };
    const failure = (await check({ moderation }, "fine").catch((e: unknown) => e)) as Error;
    expect(failure).toBeInstanceOf(ModerationError);
    expect([failure.message, failure.cause]).toEqual([
      expect.not.stringContaining("cret cannot"),
      undefined,
    ]);
    expect(failure.message).not.toContain("se\ncret");
  });
});

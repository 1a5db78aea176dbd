import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import {
  createEmbeddings,
  type CreateEmbeddingsOptions,
} from "../../../src/models/embeddings/create-embeddings.ts";
import { EmbeddingError, type Embeddings } from "../../../src/models/embeddings/embeddings.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

/** How a server answers the next request; the last entry answers all further ones. */
type Entry =
  | { readonly dimensions: number }
  | { readonly vectors: unknown }
  | { readonly status: number; readonly retryAfter?: number; readonly message?: string }
  | "silent"
  | "destroyed";

interface Asked {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly texts: readonly string[];
  readonly closed: Promise<void>;
}

const key = "sk-test-0123456789abcdef";

/** A server of embeddings in the words of all providers, each at a path of its own. */
async function embeddingServer(...script: readonly Entry[]) {
  const queue = [...script];
  const asked: Asked[] = [];
  let notify: () => void = () => undefined;
  const first = new Promise<void>((resolve) => (notify = resolve));
  const server = createServer((request, response) => {
    void read(request).then((body) => {
      const path = request.url ?? "";
      const closed = new Promise<void>((resolve) => response.on("close", resolve));
      const { authorization = request.headers["x-goog-api-key"] } = request.headers;
      const texts = textsOf(body);
      asked.push({ path, authorization: String(authorization), texts, closed });
      const entry = queue.length > 1 ? queue.shift() : queue[0];
      answer(entry ?? { status: 500 }, { path, texts, response });
      notify();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    env: {
      OPENAI_API_KEY: key,
      GOOGLE_API_KEY: "AIza0123456789abcdef",
      MISTRAL_API_KEY: "mistral-0123456789abcdef",
      OPENAI_BASE_URL: `${url}/openai/v1`,
      GOOGLE_GEMINI_BASE_URL: `${url}/google`,
      MISTRAL_BASE_URL: `${url}/mistral`,
      OLLAMA_BASE_URL: url.replace("//", "//user:secret-password@"),
    },
    asked,
    first,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function read(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
}

function textsOf(body: Record<string, unknown>): readonly string[] {
  const { input, content } = body as { input?: string | string[]; content?: Content };
  return content === undefined ? [input ?? []].flat() : content.parts.map(({ text }) => text);
}

interface Content {
  readonly parts: readonly { readonly text: string }[];
}

interface Answered {
  readonly path: string;
  readonly texts: readonly string[];
  readonly response: ServerResponse;
}

function answer(entry: Entry, { path, texts, response }: Answered): void {
  if (entry === "silent") return;
  if (entry === "destroyed") return void response.destroy();
  const send = (status: number, body: object, headers: Record<string, string> = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
  if ("status" in entry) {
    const { status, retryAfter, message = "refused" } = entry;
    const headers: Record<string, string> =
      retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
    const error = { message, type: "error", param: null, code: null };
    return send(status, path.startsWith("/api") ? { error: message } : { error }, headers);
  }
  const vectors =
    "vectors" in entry
      ? (entry.vectors as number[][])
      : texts.map(({ length }) =>
          Array.from({ length: entry.dimensions }, (_, at) => (at === length ? 2 : 0)),
        );
  if (path.startsWith("/api")) return send(200, { embeddings: vectors });
  if (path.startsWith("/google")) return send(200, { embedding: { values: vectors[0] } });
  const data = vectors.map((embedding, index) => ({ object: "embedding", embedding, index }));
  const usage = { prompt_tokens: 1, total_tokens: 1, completion_tokens: 0 };
  send(200, { id: "e", object: "list", model: "m", data, usage });
}

async function embeddingsOn(
  ref: string,
  options: Partial<CreateEmbeddingsOptions> & Pick<CreateEmbeddingsOptions, "env">,
): Promise<Embeddings> {
  const source = createEmbeddings({ clock: new ManualClock(), maxRetries: 0, ...options });
  const embeddings = await source.resolve(ref);
  if (embeddings === null) throw new TypeError("no embeddings");
  return embeddings;
}

const failureOf = (call: Promise<unknown>) => call.then(String, (thrown: unknown) => thrown);
const hot = (vectors: readonly Float32Array[]) => vectors.map((vector) => vector.indexOf(1));

const models = [
  ["openai:served", "/openai/v1/embeddings", `Bearer ${key}`],
  ["google:served", "/google/v1beta/models/served:embedContent", "AIza0123456789abcdef"],
  ["mistral:served", "/mistral/v1/embeddings", "Bearer mistral-0123456789abcdef"],
  ["ollama:served:latest", "/api/embed", `Basic ${btoa("user:secret-password")}`],
] as const;

describe("embeddings of a service", () => {
  it.each(models)("are vectors of length 1 in order: %s", async (ref, path, authorization) => {
    await using server = await embeddingServer({ dimensions: 20 });
    const embeddings = await embeddingsOn(ref, server);
    expect([embeddings.id, embeddings.dimensions]).toEqual([ref, 0]);
    expect(server.asked).toEqual([]);
    expect(hot(await embeddings.embed(["abc", " ", "a"]))).toEqual([3, -1, 1]);
    expect(embeddings.dimensions).toBe(20);
    expect(new Set(server.asked.map((one) => one.path))).toEqual(new Set([path]));
    expect(new Set(server.asked.map((one) => one.authorization))).toEqual(new Set([authorization]));
    const before = server.asked.length;
    await embeddings.embed(["ab"]);
    // The length of its vectors is known by now.
    expect(server.asked.slice(before).flatMap(({ texts }) => texts)).toEqual(["ab"]);
  });

  it.each([
    ["openai:text-embedding-3-small", 1_536],
    ["openai:text-embedding-3-large", 3_072],
    ["google:gemini-embedding-001", 3_072],
    ["mistral:mistral-embed", 1_024],
    ["ollama:nomic-embed-text:latest", 768],
  ])("of %s have %i numbers, without a request", async (ref, dimensions) => {
    await using server = await embeddingServer({ dimensions });
    const embeddings = await embeddingsOn(ref, server);
    expect(embeddings.dimensions).toBe(dimensions);
    expect(hot(await embeddings.embed(["abc"]))).toEqual([3]);
    expect(server.asked).toHaveLength(1);
  });

  it("are asked in batches, with the beginning of long texts", async () => {
    await using server = await embeddingServer({ dimensions: 1_536 });
    const embeddings = await embeddingsOn("openai:text-embedding-3-small", server);
    const texts = Array.from({ length: 70 }, (_, at) => "x".repeat(at === 69 ? 20_000 : at + 1));
    const vectors = await embeddings.embed(texts);
    expect(hot(vectors).slice(0, 69)).toEqual(Array.from({ length: 69 }, (_, at) => at + 1));
    expect(server.asked.map((one) => one.texts.length)).toEqual([64, 6]);
    expect(server.asked[1]?.texts.at(-1)).toHaveLength(8_000);
  });
});

describe("a service that fails", () => {
  it("is asked again after an outage, as long as it asks to wait", async () => {
    await using server = await embeddingServer(
      { status: 429, retryAfter: 20 },
      { status: 503 },
      { dimensions: 1_536 },
    );
    const clock = new ManualClock();
    const { env } = server;
    const settings = { env, clock, maxRetries: 2, random: () => 1 };
    const embeddings = await embeddingsOn("openai:text-embedding-3-small", settings);
    const call = embeddings.embed(["abc"]);
    await expect.poll(() => clock.isDueWithin(20_000)).toBe(true);
    clock.advance(19_999);
    expect(server.asked).toHaveLength(1);
    clock.advance(1);
    await expect.poll(() => clock.isDueWithin(1_000)).toBe(true);
    clock.advance(1_000);
    expect(hot(await call)).toEqual([3]);
    expect(server.asked).toHaveLength(3);
    expect(clock.pending).toBe(0);
  });

  it.each([
    ["openai:text-embedding-3-small", 401, "the API key was not accepted (HTTP 401)", false],
    ["openai:text-embedding-3-small", 429, "it is rate limited (HTTP 429)", true],
    ["google:gemini-embedding-001", 503, "it could not be reached or broke off (HTTP 503)", true],
    ["mistral:mistral-embed", 500, "it could not be reached or broke off (HTTP 500)", true],
    [
      "ollama:all-minilm",
      404,
      "its provider does not have it, or has retired it (HTTP 404)",
      false,
    ],
  ])("is named: %s with %i", async (ref, status, said, transient) => {
    const message = `no entry for ${key} or secret-password`;
    await using server = await embeddingServer({ status, message });
    const thrown = await failureOf((await embeddingsOn(ref, server)).embed(["abc"]));
    expect(thrown).toBeInstanceOf(EmbeddingError);
    expect(thrown).toMatchObject({ embeddings: ref, transient });
    expect(String(thrown)).toContain(`The embedding model "${ref}" did not answer: ${said}`);
    expect(String(thrown)).not.toContain(key);
  });

  it("shows no password of an address", async () => {
    await using server = await embeddingServer({
      status: 400,
      message: "is secret-password right?",
    });
    const embeddings = await embeddingsOn("ollama:all-minilm", server);
    const thrown = await failureOf(embeddings.embed(["abc"]));
    expect(String(thrown)).toContain("is [redacted] right?");
  });

  it.each([
    ["too few vectors", [[1, 0]], /answered with 1 vectors for 2 texts/],
    ["other dimensions", [[1], [1]], /vectors of 1 numbers where 1,024 were expected/],
    ["no numbers", [Array(1_024).fill("a"), Array(1_024).fill("b")], /something else than numbers/],
    ["nothing", [], /answered with 0 vectors for 2 texts/],
  ])("answers with %s", async (_, vectors, said) => {
    await using server = await embeddingServer({ vectors });
    const embeddings = await embeddingsOn("ollama:bge-m3", server);
    const thrown = await failureOf(embeddings.embed(["a", "b"]));
    expect(thrown).toBeInstanceOf(EmbeddingError);
    expect(String(thrown)).toMatch(said);
  });

  it("breaks off", async () => {
    await using server = await embeddingServer("destroyed");
    const embeddings = await embeddingsOn("openai:text-embedding-3-small", server);
    const thrown = await failureOf(embeddings.embed(["a"]));
    expect(thrown).toMatchObject({ code: "embedding", transient: true });
  });

  it("is silent for its time, and its connection is closed", async () => {
    await using server = await embeddingServer("silent");
    const clock = new ManualClock();
    const embeddings = await embeddingsOn("ollama:bge-m3", { ...server, clock });
    const call = failureOf(embeddings.embed(["a"]));
    await server.first;
    clock.advance(300_000);
    expect(String(await call)).toContain(
      "it sent nothing in time: it did not answer within 300 s.",
    );
    await server.asked[0]?.closed;
    expect(clock.pending).toBe(0);
  });

  it("is not asked any more for a while after five failures", async () => {
    await using server = await embeddingServer({ status: 503 });
    const clock = new ManualClock();
    const embeddings = await embeddingsOn("openai:text-embedding-3-small", { ...server, clock });
    for (let at = 0; at < 7; at += 1) await failureOf(embeddings.embed(["a"]));
    expect(server.asked).toHaveLength(5);
    clock.advance(30_000);
    await failureOf(embeddings.embed(["a"]));
    expect(server.asked).toHaveLength(6);
  });

  it("is asked for its dimensions again after it failed", async () => {
    await using server = await embeddingServer({ status: 503 }, { dimensions: 9 });
    const embeddings = await embeddingsOn("ollama:own", server);
    expect(await failureOf(embeddings.embed(["a"]))).toBeInstanceOf(EmbeddingError);
    expect(hot(await embeddings.embed(["a"]))).toEqual([1]);
  });
});

it.each(["openai:text-embedding-3-small", "ollama:bge-m3"])(
  "ends the request to %s when a signal aborts",
  async (ref) => {
    await using server = await embeddingServer("silent");
    const embeddings = await embeddingsOn(ref, server);
    const controller = new AbortController();
    const call = failureOf(embeddings.embed(["a"], controller));
    await server.first;
    const reason = new Error("The turn's time is over.");
    controller.abort(reason);
    expect(await call).toBe(reason);
    await server.asked[0]?.closed;
  },
);

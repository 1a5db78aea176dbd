import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import { systemIds } from "../../src/clock.ts";
import type { NodeServer } from "../../src/server/http/node-server.ts";
import {
  createServerWith,
  type HttpOptions,
  type ServerParts,
  type StratagraphServer,
} from "../../src/server/create-server.ts";
import { type ApiDocument, patternOf } from "./api-fuzz/document.ts";
import type { AgentStore, IdempotencyStore, KeyVerifier } from "../../src/server/ports.ts";
import type { AgentSummary, ListedAgent, StoredAgent } from "../../src/storage/platform/agents.ts";
import {
  ConflictError,
  NotFoundError,
  VersionConflictError,
} from "../../src/storage/platform/errors.ts";

export const tenantA = "00000000-0000-7000-8000-00000000000a";
const tenantB = "00000000-0000-7000-8000-00000000000b";

/** Keys of test servers: `sg_<tenant>_<scopes joined by +>`, and four that are refused. */
const testKeys: KeyVerifier = {
  verify(secret) {
    const [, tenant, scopes = ""] = /^sg_([ab])_(.+)$/.exec(secret) ?? [];
    if (tenant === undefined) {
      const refusals = ["expired", "revoked", "suspended"] as const;
      const refusal = refusals.find((one) => secret === `sg_${one}`) ?? "unknown";
      return Promise.resolve({ principal: null, refusal, keyId: null });
    }
    const tenantId = tenant === "a" ? tenantA : tenantB;
    const principal = { tenantId, keyId: secret, scopes: scopes.split("+") };
    return Promise.resolve({ principal, refusal: null });
  },
};

/** Agents in this process, with the behavior of the stored ones. */
export function memoryAgents(): AgentStore {
  const rows: (StoredAgent & { readonly tenantId: string; isActive: boolean })[] = [];
  const own = (tenantId: string, agentId: string) => {
    const found = rows.filter((row) => row.tenantId === tenantId && row.agentId === agentId);
    if (found.length === 0) throw new NotFoundError("agent", agentId);
    return found;
  };
  const page = <Item>(
    all: readonly StoredAgent[],
    { limit = 50, cursor }: { limit?: number; cursor?: string },
    toItem: (row: StoredAgent) => Item,
  ) => {
    const from = cursor === undefined ? 0 : Number(cursor);
    const next = from + limit < all.length ? String(from + limit) : null;
    return { items: all.slice(from, from + limit).map(toItem), next };
  };
  const summaryOf = ({ definition: _definition, ...summary }: StoredAgent): AgentSummary => summary;
  const listed = (row: StoredAgent): ListedAgent => {
    const { llm_config: config, tools } = row.definition;
    const { default_model: model } = Object(config) as { readonly default_model?: string };
    const toolCount = Array.isArray(tools) ? tools.length : 0;
    return { ...summaryOf(row), model: model ?? null, toolCount };
  };
  const add = (row: Omit<(typeof rows)[number], "id" | "isActive" | "createdAt" | "updatedAt">) => {
    const at = "2026-01-02T03:04:05.000Z";
    const stored = { ...row, id: systemIds(), isActive: true, createdAt: at, updatedAt: at };
    rows.unshift(stored);
    return stored;
  };
  return {
    async create(tenantId, { name, definition, version = "1.0.0" }) {
      if (rows.some((row) => row.tenantId === tenantId && row.name === name))
        throw new ConflictError("agent", `There is an agent ${JSON.stringify(name)} already.`);
      const agentId = systemIds();
      return add({ tenantId, agentId, name, version, definition: { ...definition } });
    },
    async get(tenantId, agentId, version) {
      const found = own(tenantId, agentId).find((row) =>
        version === undefined ? row.isActive : row.version === version,
      );
      if (found === undefined) throw new NotFoundError("agent", agentId);
      return found;
    },
    async list(tenantId, filter) {
      const { name, ...rest } = filter ?? {};
      const found = rows.filter(
        (row) => row.tenantId === tenantId && row.isActive && (name ?? row.name) === row.name,
      );
      return page(found, rest, listed);
    },
    versions: async (tenantId, agentId, rest) =>
      page(own(tenantId, agentId), rest ?? {}, summaryOf),
    async newVersion(tenantId, { agentId, base, definition, version }) {
      const versions = own(tenantId, agentId);
      const active = versions.find(({ isActive }) => isActive);
      if (active?.version !== base) throw new VersionConflictError(base, active?.version ?? null);
      active.isActive = false;
      const next = version ?? base.replace(/\d+$/, (last) => String(Number(last) + 1));
      const { name } = active;
      return add({ tenantId, agentId, name, version: next, definition: { ...definition } });
    },
    async deactivate(tenantId, agentId) {
      for (const row of own(tenantId, agentId)) row.isActive = false;
    },
  };
}

export function memoryIdempotency(): IdempotencyStore {
  const rows = new Map<string, { hash: string; stored?: { status: number; answer: unknown } }>();
  const nameOf = (tenantId: string, key: string) => `${tenantId} ${key}`;
  return {
    async begin(tenantId, { key, requestHash: bytes }) {
      const hash = Buffer.from(bytes).toString("hex");
      const row = rows.get(nameOf(tenantId, key));
      if (row === undefined) {
        rows.set(nameOf(tenantId, key), { hash });
        return { state: "new" };
      }
      if (row.hash !== hash) return { state: "other_request" };
      return row.stored === undefined
        ? { state: "under_way" }
        : { state: "answered", ...row.stored };
    },
    async finish(tenantId, { key }, stored) {
      const row = rows.get(nameOf(tenantId, key));
      // As a database stores it.
      if (row) row.stored = JSON.parse(JSON.stringify(stored)) as typeof stored;
    },
    async abandon(tenantId, { key }) {
      rows.delete(nameOf(tenantId, key));
    },
  };
}

/** A server that listens, and checks its answers against its document. */
export interface CheckedServer {
  readonly listening: NodeServer;
  /** Sends a request; its answer must be as the document says. `key`: default all scopes of tenant A; null for none. */
  readonly send: (method: string, path: string, options?: SendOptions) => Promise<TestAnswer>;
}

export interface TestApi extends CheckedServer {
  readonly server: StratagraphServer;
  readonly audited: readonly unknown[];
  readonly logs: readonly {
    readonly level: string;
    readonly message: string;
    readonly [field: string]: unknown;
  }[];
  /** Sends bytes, and returns all that came back until the connection was closed. */
  raw(text: string | readonly string[]): Promise<string>;
}

export interface SendOptions {
  readonly key?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

/** Starts a server on a free port for one test, with stores in this process. */
export async function startApi(
  parts: Partial<ServerParts> = {},
  options: HttpOptions = {},
): Promise<TestApi> {
  const audited: unknown[] = [];
  const logs: { level: string; message: string; [field: string]: unknown }[] = [];
  const log = (level: string) => (fields: object, message: string) => {
    logs.push({ ...fields, level, message });
  };
  const server = createServerWith(
    {
      authentication: { keys: testKeys },
      agents: {
        store: memoryAgents(),
        audit: { append: async (tenant, entry) => void audited.push({ tenant, ...entry }) },
        draw: async () => ({ mermaid: "flowchart TD", graph: { nodes: [], edges: [] } }),
      },
      idempotency: memoryIdempotency(),
      tenantLimits: null,
      readiness: [],
      version: "1.2.3",
      ...parts,
    },
    { logger: { info: log("info"), warn: log("warn"), error: log("error") }, ...options },
  );
  return { ...(await listenForTest(server)), audited, logs };
}

/**
 * Listens on a free port until the test ends. The answers of `send` must be as the document says; without `key` it sends
 * that of all scopes of tenant A of {@link startApi}.
 */
export async function listenForTest(
  server: StratagraphServer,
): Promise<Pick<TestApi, "server" | "listening" | "send" | "raw">> {
  onTestFinished(() => server.close(0));
  const checked = await listenChecked(server);
  return {
    ...checked,
    server,
    raw: (text) => exchangeRaw(checked.listening.port, typeof text === "string" ? [text] : text),
  };
}

/** Lets a server listen on a free port. The caller closes it. */
export async function listenChecked(server: StratagraphServer): Promise<CheckedServer> {
  const listening = await server.listen({ port: 0 });
  const check = await answerCheckOf(server);
  return {
    listening,
    async send(method, path, { key = "sg_a_*", body, headers = {} } = {}) {
      const answer = await exchange(listening.port, {
        method,
        path,
        headers: {
          ...(key !== null && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        body: typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body),
      });
      expect(check(method, path, answer)).toEqual([]);
      return answer;
    },
  };
}

const answerChecks = new Map<string, AnswerCheck>();

/** Returns the check of a server's answers, which servers with the same routes share: its schemas take long to compile. */
async function answerCheckOf(server: StratagraphServer): Promise<AnswerCheck> {
  const key = JSON.stringify(server.routes, (_name, value: unknown) =>
    value instanceof z.ZodType ? [value.def.type, Object.keys(shapeOf(value))] : value,
  );
  const check = answerChecks.get(key) ?? answerCheck(await documentOf(server));
  answerChecks.set(key, check);
  return check;
}

function shapeOf(schema: z.ZodType): object {
  return schema instanceof z.ZodObject ? schema.shape : {};
}

/** Returns the OpenAPI document of a server. */
export async function documentOf(server: StratagraphServer): Promise<ApiDocument> {
  const response = await server.fetch(new Request("http://127.0.0.1/v1/openapi.json"));
  return (await response.json()) as ApiDocument;
}

/** Returns what is wrong with an answer by the document; nothing for an answer of no route. */
export type AnswerCheck = (
  method: string,
  path: string,
  answer: Pick<TestAnswer, "status" | "headers" | "json">,
) => readonly unknown[];

/** Creates a check of answers against the schemas of a document. */
export function answerCheck(document: ApiDocument): AnswerCheck {
  const ajv = new Ajv2020({ strict: false, validateFormats: true });
  (ajvFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addSchema(document, "api");
  const compiled = new Map<string, ValidateFunction>();
  const part = (text: string) => text.replaceAll("~", "~0").replaceAll("/", "~1");
  return (given, path, { status, headers, json }) => {
    const method = given.toLowerCase();
    const fixed = { "x-request-id": /./, "x-content-type-options": /^nosniff$/ };
    const missing = Object.entries(fixed).filter(
      ([name, form]) => !form.test(headers.get(name) ?? ""),
    );
    if (missing.length > 0) return missing.map(([name]) => `the header ${name} is missing`);
    const [pathname = ""] = path.split("?");
    const pattern = patternOf(document, method, pathname);
    if (pattern === undefined) return [];
    const responses = document.paths[pattern]?.[method]?.responses ?? {};
    const response = responses[status];
    if (response === undefined) return [`the status ${status} is not documented`];
    const [type = ""] = (headers.get("content-type") ?? "").split(";");
    const documented = Object.keys(response.content ?? {});
    if (type === "") return documented.length === 0 ? [] : ["the content is missing"];
    if (!documented.includes(type)) return [`the media type ${type} is not documented`];
    if (!type.endsWith("json")) return [];
    const ref = `api#/paths/${part(pattern)}/${method}/responses/${status}/content/${part(type)}/schema`;
    const validate = compiled.get(ref) ?? ajv.compile({ $ref: ref });
    compiled.set(ref, validate);
    return validate(json) ? [] : (validate.errors ?? []);
  };
}

/** `fetch` would not send a Host or an Origin of choice. */
function exchange(
  port: number,
  {
    body,
    ...options
  }: { method: string; path: string; headers: Record<string, string>; body: string },
): Promise<TestAnswer> {
  return new Promise((resolve, reject) => {
    const length = body === "" ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const headers = { ...length, ...options.headers };
    const outgoing = httpRequest(
      { ...options, headers, port, host: "127.0.0.1", agent: false },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          const isJson = /json/.test(incoming.headers["content-type"] ?? "") && text !== "";
          resolve({
            status: incoming.statusCode ?? 0,
            headers: new Headers(Object.entries(incoming.headers) as [string, string][]),
            text,
            json: (isJson ? JSON.parse(text) : {}) as Record<string, unknown>,
          });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function exchangeRaw(port: number, parts: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let received = "";
    socket.on("data", (chunk) => {
      received += String(chunk);
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(received));
    for (const part of parts) socket.write(part);
  });
}

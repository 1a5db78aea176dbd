import { seededRandom, type Random } from "../random.ts";
import type { ApiDocument, Operation } from "./document.ts";
import { type IdTuple, type Knowledge, namesOf, type TenantName } from "./knowledge.ts";
import { hostileTexts, mutate, pick, randomUuid, type ValueSource, valueOf } from "./values.ts";

/** Keys of the tenants, as `Authorization` takes them. */
export interface FuzzKeys {
  readonly all: Readonly<Record<TenantName, string>>;
  /** With the scope `agents:read` alone. */
  readonly limited: Readonly<Record<"a" | "b", string>>;
  /** Revoked, unknown, and mixed ones. */
  readonly refused: readonly string[];
}

export interface FuzzRequest {
  readonly index: number;
  readonly operation: Operation;
  /** Upper case. */
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  /** Whose key it has; null for none or one that is refused. */
  readonly tenant: TenantName | null;
  /** Scopes of its key. */
  readonly scopes: readonly string[];
  /** Path parameters as drawn. */
  readonly params: IdTuple;
  /** Everything that it says, for comparison with what comes back. */
  readonly sent: string;
}

export interface RequestDraw {
  readonly document: ApiDocument;
  readonly operations: readonly Operation[];
  readonly knowledge: Knowledge;
  readonly keys: FuzzKeys;
  readonly seed: number;
  /** Requests that had success, newest last. */
  readonly history: readonly FuzzRequest[];
  /** Null: A or B, or a key that is refused. */
  readonly only: TenantName | null;
}

/** Draws a request. The same seed, index and knowledge draw the same. */
export function drawRequest(draw: RequestDraw, index: number): FuzzRequest {
  const random = seededRandom(`api-fuzz ${draw.only ?? ""} ${index}`, draw.seed);
  const tenant = draw.only ?? (random() < 0.5 ? "a" : "b");
  if (draw.only === null && draw.history.length > 0 && random() < 0.04)
    return again(draw, { random, tenant, index });
  const operation = chooseOperation(draw, { random, tenant });
  let count = 0;
  const marker = () => `marker${tenant}${draw.seed.toString(36)}n${index}x${(count += 1)}`;
  const plain = { document: draw.document, random, marker, idFor: () => undefined };
  const params = paramsOf(draw, { tenant, operation, source: plain });
  const source: ValueSource = {
    ...plain,
    idFor: (key) => idFor(draw.knowledge, { random, tenant, key, params }),
  };
  const path = pathOf(operation, params) + queryText(source, operation);
  // All tenants send the same request under the same key: each gets an answer of its own.
  const isTwin = operation === agentCreation(draw) && random() < 0.1;
  const twin = `twin-${random.int(0, 20)}`;
  const { body, mediaType } = isTwin
    ? { body: Buffer.from(JSON.stringify({ name: twin })), mediaType: "application/json" }
    : bodyOf(source, operation);
  const key = keyOf(draw, { random, tenant });
  const headers = {
    ...headersOf(random, operation),
    ...(key.secret !== null && keyHeader(random, key.secret)),
    ...(mediaType !== null && { "content-type": mediaType }),
    ...(isTwin && { "idempotency-key": twin }),
  };
  const isOddMethod = draw.only === null && random() < 0.01;
  const method = isOddMethod
    ? pick(random, ["PUT", "HEAD", "OPTIONS", "PATCH", "DELETE", "POST", "PROPFIND"])
    : operation.method.toUpperCase();
  return finish({ index, operation, method, path, headers, body, params, ...key });
}

function agentCreation({ operations }: RequestDraw): Operation | undefined {
  return operations.find(({ method, path }) => method === "post" && path === "/v1/agents");
}

function finish(request: Omit<FuzzRequest, "sent">): FuzzRequest {
  const { path, headers, body } = request;
  let decoded = path;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // A path that decodes to no text is compared as it is.
  }
  const text = `${path}\n${decoded}\n${JSON.stringify(headers)}\n${body?.toString() ?? ""}`;
  return { ...request, sent: text };
}

/** Sends a request that had success once more: with its key, or with that of another tenant and its own texts. */
function again(
  { history, keys }: RequestDraw,
  of: { readonly random: Random; readonly tenant: TenantName; readonly index: number },
): FuzzRequest {
  const { random, tenant, index } = of;
  const before = pick(random, history);
  const own = (text: string) => text.replaceAll(/marker[abc]/g, `marker${tenant}`);
  const { authorization: _key, "x-api-key": _other, ...headers } = before.headers;
  return finish({
    ...before,
    index,
    path: own(before.path),
    body: before.body && Buffer.from(own(before.body.toString())),
    headers: { ...headers, authorization: `Bearer ${keys.all[tenant]}` },
    tenant,
    scopes: ["*"],
  });
}

function chooseOperation(
  { operations, knowledge }: RequestDraw,
  { random, tenant }: { readonly random: Random; readonly tenant: TenantName },
): Operation {
  const weights = operations.map((operation) => {
    if (operation.isPublic) return 0.1;
    const isKnown = operation.pathParameters.every((name) =>
      namesOf(operation.path, name).some((known) => knowledge.has(tenant, known)),
    );
    const isCreation = operation.method === "post" && !operation.path.includes("}/runs/");
    const usual = operation.method === "delete" ? 0.2 : isCreation ? 2 : 1;
    return isKnown ? usual : usual * 0.15;
  });
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0);
  const at = weights.findIndex((weight) => (left -= weight) < 0);
  return operations[at === -1 ? 0 : at] as Operation;
}

function paramsOf(
  { knowledge, only }: RequestDraw,
  of: {
    readonly tenant: TenantName;
    readonly operation: Operation;
    readonly source: ValueSource;
  },
): IdTuple {
  const { tenant, operation, source } = of;
  const { random } = source;
  const names = operation.pathParameters;
  const all = names.flatMap((name) => namesOf(operation.path, name));
  const chance = only === null ? random() : 0;
  const others = (["a", "b", "c"] as const).filter((name) => name !== tenant);
  const own = knowledge.tuple(tenant, all, random);
  const other = pick(random, others);
  const foreign = knowledge.tuple(other, all, random);
  const read = (tuple: IdTuple, name: string) => {
    const known = namesOf(operation.path, name).find((one) => one in tuple);
    return known === undefined ? undefined : tuple[known];
  };
  const draw = (name: string): string => {
    if (chance >= 0.9 && random() < 0.6) return pick(random, hostileTexts);
    const isForeign = chance >= 0.82 ? random() < 0.5 : chance >= 0.62;
    const owner = isForeign ? other : tenant;
    const known =
      read(isForeign ? foreign : own, name) ??
      read(knowledge.tuple(owner, namesOf(operation.path, name), random), name);
    // What PUT creates under a name is not known before.
    if (known !== undefined && (operation.method !== "put" || random() < 0.5))
      // It may store the name, in which no tenant's texts but its own may be.
      return operation.method === "put"
        ? known.replaceAll(/marker[abc]/g, `marker${tenant}`)
        : known;
    const made = random() < 0.7 ? valueOf(source, operation.pathSchemas[name] ?? {}) : undefined;
    return typeof made === "string" ? made : randomUuid(random);
  };
  return Object.fromEntries(names.map((name) => [name, draw(name)]));
}

function idFor(
  knowledge: Knowledge,
  of: {
    readonly random: Random;
    readonly tenant: TenantName;
    readonly key: string;
    readonly params: IdTuple;
  },
): string | undefined {
  const { random, tenant, key, params } = of;
  const name =
    /cursor|before|after/.test(key) && random() < 0.7 ? "next_cursor" : key.replace(/s$/, "");
  if (name in params) return params[name];
  const owner = random() < 0.15 ? pick(random, ["a", "b", "c"] as const) : tenant;
  const names = [name, `${name}_id`, `${name}_name`];
  const tuple = knowledge.tuple(owner, names, random);
  const found =
    names.find((one) => one in tuple) ?? (random() < 0.2 ? Object.keys(tuple)[0] : undefined);
  const id = found === undefined ? undefined : tuple[found];
  // Names have texts of their tenant, which no other may store.
  return id !== undefined && /marker/i.test(id) && owner !== tenant ? undefined : id;
}

function pathOf({ path }: Operation, params: IdTuple): string {
  return path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => encode(params[name] ?? ""));
}

/** As `encodeURIComponent`, which throws for half a surrogate pair. */
function encode(text: string): string {
  return /\p{Surrogate}/u.test(text) ? "%ED%A0%80" : encodeURIComponent(text);
}

function queryText(source: ValueSource, { query }: Operation): string {
  const { random } = source;
  const parts = query.flatMap(({ name, isRequired, schema }) => {
    if (!isRequired && random() >= 0.3) return [];
    const value = random() < 0.12 ? pick(random, hostileTexts) : valueOf(source, schema, name);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return [`${name}=${encode(text)}`];
  });
  const chance = random();
  if (chance < 0.02) parts.push(...parts, "limit=1", "limit=2");
  else if (chance < 0.04) parts.push(`${pick(random, ["x", "__proto__", "%00", "a[b]"])}=1`);
  else if (chance < 0.05) parts.push("%ZZ&=&&=%");
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

function bodyOf(
  source: ValueSource,
  operation: Operation,
): { readonly body: Buffer | null; readonly mediaType: string | null } {
  const { random } = source;
  if (operation.body === null) {
    const isOdd = random() < 0.02 && operation.method !== "get";
    return { body: isOdd ? Buffer.from("{}") : null, mediaType: isOdd ? "application/json" : null };
  }
  const { mediaTypes, schema } = operation.body;
  const isAgent = operation.path === "/v1/agents" && operation.method === "post";
  const isPatch = operation.path === "/v1/agents/{agent_id}" && operation.method === "patch";
  let value: unknown;
  if (isAgent && random() < 0.75) value = smallAgent(source);
  else if (isPatch && random() < 0.75) value = smallPatch(source);
  else value = valueOf(source, schema);
  for (let faults = random() < 0.3 ? random.int(1, 4) : 0; faults > 0; faults -= 1)
    value = mutate(random, value);
  const text = JSON.stringify(value) ?? "";
  const mediaType =
    random() < 0.97
      ? pick(random, mediaTypes)
      : pick(random, ["text/plain", "application/xml", "application/json; charset=utf-16", "*/*"]);
  return { body: random() < 0.05 ? brokenJson(random, text) : Buffer.from(text), mediaType };
}

function brokenJson(random: Random, text: string): Buffer {
  const half = text.slice(0, random.int(0, text.length + 1));
  const forms: readonly (() => string | Buffer)[] = [
    () => half,
    () => "",
    () => "null",
    () => "[]",
    () => '"text"',
    () => "NaN",
    () => `\uFEFF${text}`,
    () => `${text}${text}`,
    () => text.replace(/^\{/, '{"name":"x","name":"y",'),
    () => text.replace(/\d+/, "1e999"),
    () => text.replace(/"/, "'"),
    () => "[".repeat(3000),
    () => `{"a":"${"x".repeat(70_000)}"}`,
    () =>
      Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff, 0xfe, 0xc0]), Buffer.from('"}')]),
  ];
  const made = pick(random, forms)();
  return typeof made === "string" ? Buffer.from(made) : made;
}

/** Returns a definition that needs neither key nor network. */
function smallAgent({ random, marker }: ValueSource): Record<string, unknown> {
  const agent = {
    name: marker(),
    description: marker(),
    system_prompt: random() < 0.5 ? marker() : { role: marker(), instructions: marker() },
    llm_config: { default_model: "offline:rules" },
  };
  const chance = random();
  if (chance < 0.4) return agent;
  if (chance < 0.55) return { ...agent, tools: ["calculator"] };
  if (chance < 0.7) {
    const tool = { name: marker(), description: marker(), input_schema: { type: "object" } };
    return { ...agent, tools: [{ ...tool, transport: { type: "client" } }] };
  }
  if (chance < 0.9) {
    const config = {
      kind: "approval",
      prompt: marker(),
      proposed: marker(),
      writes: "execution.out",
    };
    return {
      ...agent,
      workflow_graph: {
        entry_point: "ask",
        nodes: [{ name: "ask", type: "human", config }],
        edges: [{ from: "ask", to: "END" }],
        output: { message: marker() },
      },
    };
  }
  return { ...agent, memory_config: { long_term: { enabled: true } } };
}

function smallPatch({ random, marker }: ValueSource): Record<string, unknown> {
  return pick(random, [
    { description: marker() },
    { system_prompt: marker(), tools: null },
    { tools: ["calculator"] },
    { system_prompt: { role: marker() } },
    { version: `${random.int(1, 4)}.${random.int(0, 5)}.0`, description: marker() },
  ]);
}

function keyOf(
  { keys, only }: RequestDraw,
  { random, tenant }: { readonly random: Random; readonly tenant: TenantName },
): { secret: string | null; tenant: TenantName | null; scopes: readonly string[] } {
  const chance = only === null ? random() : 1;
  if (chance < 0.03) return { secret: null, tenant: null, scopes: [] };
  if (chance < 0.07) return { secret: pick(random, keys.refused), tenant: null, scopes: [] };
  if (chance < 0.11 && tenant !== "c")
    return { secret: keys.limited[tenant], tenant, scopes: ["agents:read"] };
  return { secret: keys.all[tenant], tenant, scopes: ["*"] };
}

function keyHeader(random: Random, secret: string): Record<string, string> {
  return random() < 0.1 ? { "x-api-key": secret } : { authorization: `Bearer ${secret}` };
}

function headersOf(random: Random, operation: Operation): Record<string, string> {
  const headers: Record<string, string> = {};
  const has = (name: string) => operation.headers.includes(name);
  // Both tenants use the same keys.
  if (has("idempotency-key") && random() < 0.2)
    headers["idempotency-key"] =
      random() < 0.05 ? "\u00E9 x".repeat(100) : `key-${random.int(0, 400)}`;
  const tags = ['"1.0.0"', '"1.0.1"', "*", 'W/"1"', '"', "1.0.0, x"];
  if (has("if-match") && random() < 0.4) headers["if-match"] = pick(random, tags);
  const numbers = ["0", "1", "2", "-1", "99999999999999999999", "x", "1.5", "0x1"];
  if (has("last-event-id") && random() < 0.5) headers["last-event-id"] = pick(random, numbers);
  for (const name of operation.headers) {
    const isDrawn = ["idempotency-key", "if-match", "last-event-id"].includes(name);
    if (!isDrawn && random() < 0.2) headers[name] = pick(random, numbers);
  }
  const accepts = [
    "*/*",
    "text/event-stream",
    "application/json",
    "text/html;q=0",
    "a,,;=",
    "image/png",
  ];
  if (random() < 0.06) headers["accept"] = pick(random, accepts);
  if (random() < 0.02) headers["x-request-id"] = pick(random, ["a", "x".repeat(200), "a b", "<b>"]);
  if (random() < 0.01) headers["origin"] = "https://example.org";
  if (random() < 0.01) headers["content-encoding"] = "gzip";
  return headers;
}

/** Returns a request as text, to be sent again by hand. */
export function requestText({ method, path, headers, body }: FuzzRequest): string {
  const shown = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path}`, ...shown, "", body?.toString().slice(0, 4000) ?? ""].join("\n");
}

import { defineTool, InvalidToolError } from "../definition/tool/define-tool.ts";
import type { HttpToolSpec } from "../definition/schema/data-tools.ts";
import {
  type AgentTool,
  type HttpTransport,
  resolveToolExecution,
  type ToolContext,
  type ToolDefinition,
} from "../definition/tool/tool.ts";
import { errorMessage } from "../errors.ts";
import { deepFreeze } from "../values/json.ts";
import { headOf } from "../values/text.ts";
import {
  type HostLookup,
  HttpStatusFailure,
  resolveHost,
  systemLookup,
} from "./builtins/http/addresses.ts";
import {
  type AllowEntry,
  entryFor,
  type HttpAllow,
  publicHosts,
  readAllowList,
} from "./builtins/http/allow-list.ts";
import { type Answer, exchange, isRedirect } from "./builtins/http/exchange.ts";
import { bodyText, jsonValue } from "./builtins/http/http-get.ts";
import { checkQuery, searchJson } from "./builtins/json-query/search-json.ts";
import { buildRequest, type HttpRequest, HttpToolError } from "./http-request.ts";
import { ToolFailure } from "./tool-result.ts";

export interface HttpToolOptions {
  /** Hosts in private networks that may be called, and hosts that a redirect may lead to. Default none. */
  readonly httpAllow?: readonly HttpAllow[] | undefined;
  /** Default: as the system resolves names. */
  readonly lookup?: HostLookup;
}

const maxRedirects = 5;

/** Bytes of an answer, after decompression, that are read. */
const maxAnswerBytes = 2 * 1024 * 1024;

/** Characters of a body that an error shows; a result's error is cut further, after secrets were taken out. */
const maxShownBody = 16_000;

/**
 * Makes the tool of an entry of `tools` that describes an HTTP request. A call goes to the host of its endpoint, at public
 * addresses unless the allow list has it.
 *
 * @throws InvalidToolError, also for a `select` that is not JMESPath; HttpAllowError
 */
export async function createHttpTool(
  spec: HttpToolSpec,
  options: HttpToolOptions = {},
): Promise<AgentTool> {
  const { name, transport, output_schema, display_name, version } = spec;
  const { select } = transport.response;
  if (select !== undefined) {
    await checkQuery(select).catch((cause: unknown) => {
      const reason = errorMessage(cause).replace(/\.$/, "");
      throw new InvalidToolError(name, `transport.response.select: ${reason}`);
    });
  }
  const entries = readAllowList(options.httpAllow ?? []);
  const execution = resolveToolExecution({
    idempotent: transport.method === "GET",
    ...(spec.execution as ToolDefinition["execution"] | undefined),
  });
  const { idempotent: isIdempotent } = execution;
  const made = defineTool({
    name,
    description: spec.description,
    input_schema: spec.input_schema,
    ...(output_schema && { output_schema }),
    ...(display_name !== undefined && { display_name }),
    ...(version !== undefined && { version }),
    permissions: spec.permissions ?? [],
    requires_approval: spec.requires_approval ?? false,
    handler: async (input, context) => {
      const request = await buildRequest(
        transport,
        input as Readonly<Record<string, unknown>>,
        (secret) => context.secret(secret),
      );
      const by = { transport, entries, lookup: options.lookup ?? systemLookup, context };
      const answer = await send(request, by);
      if (answer.status >= 300) throw statusFailure(request.url, answer, { isIdempotent, context });
      return readAnswer(transport, request.url, answer);
    },
  });
  const definition: ToolDefinition = deepFreeze({ ...made.definition, transport, execution });
  return Object.freeze({ ...made, definition });
}

interface Sending {
  readonly transport: HttpTransport;
  readonly entries: readonly AllowEntry[];
  readonly lookup: HostLookup;
  readonly context: ToolContext;
}

/** Follows redirects of GET: within the origin, and to hosts of the allow list, which get no headers. */
async function send({ url: first, headers, body }: HttpRequest, by: Sending): Promise<Answer> {
  const { transport, entries, lookup, context } = by;
  const { method } = transport;
  const { signal } = context;
  let url = first;
  for (let redirects = 0; ; redirects += 1) {
    const isOwn = url.origin === first.origin;
    const entry = entryFor(url, entries) ?? (isOwn ? publicHosts : undefined);
    if (entry === undefined) {
      throw new ToolFailure(
        `The redirect to ${url.origin} is not followed: it is another origin, and the operator's httpAllow does not have it.`,
      );
    }
    const addresses = await resolveHost(url, entry, { lookup, signal });
    const sent = isOwn ? headers : {};
    const about = { method, headers: sent, body, addresses, signal, maxBytes: maxAnswerBytes };
    const answer = await exchange(url, about);
    if (!isRedirect(answer)) return answer;
    if (method !== "GET") {
      throw new ToolFailure(
        `${url.host} answered ${method} with a redirect (status ${answer.status}), which is followed for GET only.`,
      );
    }
    if (redirects === maxRedirects) {
      throw new ToolFailure(`There were more than ${maxRedirects} redirects from ${first.host}.`);
    }
    url = redirectTarget(answer, url);
  }
}

function redirectTarget({ headers: { location = "" } }: Answer, from: URL): URL {
  const url = URL.canParse(location, from.href) ? new URL(location, from.href) : null;
  const isHttp = url !== null && /^https?:$/.test(url.protocol);
  if (!isHttp || url.username !== "" || url.password !== "") {
    throw new ToolFailure(
      `${from.host} redirects to what is no http or https URL without a user and password.`,
    );
  }
  url.hash = "";
  return url;
}

function statusFailure(
  url: URL,
  { status, headers, body, truncated }: Answer,
  of: { readonly isIdempotent: boolean; readonly context: ToolContext },
): HttpStatusFailure {
  const text = bodyText(body, headers["content-type"] ?? "", truncated)?.trim() ?? "";
  const says = text === "" ? "" : ` It says: ${headOf(text, maxShownBody)}`;
  const isTemporary = status === 408 || status === 429 || status >= 500;
  const now = of.context.now().getTime();
  return new HttpStatusFailure(status, `${url.host} answered with status ${status}.${says}`, {
    // A limit of requests turned the call away, so that it had no effect.
    retryable: status === 429 || (of.isIdempotent && isTemporary),
    retryAfterMs: retryAfter(headers["retry-after"], now),
  });
}

/** Returns milliseconds from now. The header has seconds or a date (RFC 9110 10.2.3). */
function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** @throws HttpToolError; ToolFailure for a body that is too deep, or that `select` does not suit */
async function readAnswer(
  { response }: HttpTransport,
  url: URL,
  { headers, body, truncated }: Answer,
): Promise<unknown> {
  const contentType = headers["content-type"] ?? "";
  const text = bodyText(body, contentType, truncated);
  const shownType = headOf(contentType, 100) || "no type";
  if (response.type === "text") {
    if (text !== undefined) return text;
    throw new HttpToolError(`${url.host} answered with ${shownType}, which is not text.`);
  }
  if (truncated) {
    throw new HttpToolError(
      `${url.host} answered with more than ${maxAnswerBytes.toLocaleString("en")} bytes, which is too much JSON to read.`,
    );
  }
  if (text?.trim() === "") return null;
  const value = text === undefined ? undefined : jsonValue(text);
  // The text itself is returned for what is not JSON; a JSON text has quotes that its value lacks.
  if (text === undefined || value === text) {
    const begins = text === undefined ? "" : ` that begins with: ${headOf(text.trim(), 200)}`;
    throw new HttpToolError(`${url.host} answered with ${shownType}, which is not JSON${begins}`);
  }
  return response.select === undefined ? value : searchJson(value, response.select);
}

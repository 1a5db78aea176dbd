import { z } from "zod";
import { replaceSecrets, findSecretNames } from "../../../definition/schema/servers.ts";
import type { ToolContext } from "../../../definition/tool/tool.ts";
import { truncateText } from "../../../values/text.ts";
import type { Secrets } from "../../secrets.ts";
import { ToolFailure } from "../../tool-result.ts";
import { builtinTool } from "../builtin-tool.ts";
import {
  DeepJsonFailure,
  type HostLookup,
  HttpStatusFailure,
  resolveHost,
  systemLookup,
} from "./addresses.ts";
import {
  type AllowEntry,
  entryFor,
  type HttpAllow,
  mayCarryHeaders,
  readAllowList,
} from "./allow-list.ts";
import { type Answer, exchange, isRedirect } from "./exchange.ts";

export interface HttpGetOptions {
  /** What may be asked. Default: nothing. */
  readonly allow?: readonly HttpAllow[];
  /** Where the secrets in headers come from. Default: those of the run that calls it. */
  readonly secrets?: Secrets;
  /** Default: as the system resolves names. */
  readonly lookup?: HostLookup;
  /** Bytes of a body, decompressed, that are read; the rest is left out. Default 2 MiB. */
  readonly maxBytes?: number;
}

const maxRedirects = 5;

/** Characters of a body that a failure shows. */
const maxShownBody = 1_000;

const input = z.strictObject({
  url: z.string().min(1).max(8_192).describe("The http or https URL to read"),
});

/**
 * Reads URLs of hosts that are on an allow-list. Every redirect is checked by the same rules, and addresses within the
 * own network are asked only where an entry names them.
 * @throws HttpAllowError
 */
export function httpGetTool(options: HttpGetOptions = {}) {
  const entries = readAllowList(options.allow ?? []);
  const { secrets } = options;
  return builtinTool({
    name: "http_get",
    display_name: "HTTP GET",
    description: `Reads a URL over HTTP and gives status, content type and body: JSON as a value, text and HTML as text. ${hostsOf(entries)}`,
    input_schema: input,
    permissions: ["network:http"],
    async handler({ url }, context) {
      const found = await new Reading(entries, options, context).get(url);
      return secrets === undefined ? found : secrets.scrubValue(found);
    },
  });
}

function hostsOf(entries: readonly AllowEntry[]): string {
  return entries.length === 0
    ? "No host is allowed yet."
    : `Allowed are: ${truncateText(entries.map(({ shown }) => shown).join(", "), 1_000)}.`;
}

class Reading {
  readonly #entries: readonly AllowEntry[];
  readonly #options: HttpGetOptions;
  readonly #context: ToolContext;

  constructor(entries: readonly AllowEntry[], options: HttpGetOptions, context: ToolContext) {
    this.#entries = entries;
    this.#options = options;
    this.#context = context;
  }

  async get(text: string) {
    let url = this.#parsed(text);
    const { origin } = url;
    for (let redirects = 0; ; redirects += 1) {
      const answer = await this.#ask(url, url.origin === origin);
      const next = nextUrl(answer, url);
      if (next === undefined) return this.#result(url, answer);
      if (redirects === maxRedirects) {
        throw new ToolFailure(
          `There were more than ${maxRedirects} redirects, the last to ${next.host}.`,
        );
      }
      url = this.#checked(next);
    }
  }

  #parsed(text: string): URL {
    if (!URL.canParse(text)) {
      throw new ToolFailure(
        `${JSON.stringify(truncateText(text, 200))} is no URL such as https://example.com/data.json.`,
      );
    }
    return this.#checked(new URL(text));
  }

  #checked(url: URL): URL {
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new ToolFailure(`Only http and https are read, not ${url.protocol.slice(0, 50)}`);
    }
    if (url.username !== "" || url.password !== "") {
      throw new ToolFailure("The URL has a user or a password in it; such are not asked.");
    }
    url.hash = "";
    return url;
  }

  async #ask(url: URL, isFirstHost: boolean): Promise<Answer> {
    const entry = entryFor(url, this.#entries);
    if (entry === undefined) throw notAllowed(url, this.#entries, isFirstHost);
    const { signal } = this.#context;
    const { lookup = systemLookup, maxBytes = 2 * 1024 * 1024 } = this.#options;
    const addresses = await resolveHost(url, entry, { lookup, signal });
    const headers = isFirstHost ? await this.#headers(url, entry) : {};
    return exchange(url, { headers, addresses, signal, maxBytes });
  }

  async #headers(url: URL, entry: AllowEntry): Promise<Readonly<Record<string, string>>> {
    if (!mayCarryHeaders(entry, url)) {
      throw new ToolFailure(
        `${url.host} is asked with a secret, which goes over https only. Use an https URL.`,
      );
    }
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(entry.headers)) {
      headers[name] = await this.#resolved(value);
      if (/[^\t\x20-\x7e\x80-\xff]/.test(headers[name])) {
        throw new ToolFailure(`The header ${name} has a character that no header can have.`);
      }
    }
    return headers;
  }

  async #resolved(value: string): Promise<string> {
    const { secrets } = this.#options;
    if (secrets !== undefined) return secrets.resolve(value);
    const values = new Map<string, string>();
    for (const name of findSecretNames(value)) values.set(name, await this.#context.secret(name));
    return replaceSecrets(value, (name) => values.get(name) ?? "");
  }

  #result(url: URL, { status, headers, body, truncated }: Answer) {
    const contentType = headers["content-type"] ?? "";
    if (status >= 400) {
      const text = shownBody(body, contentType, truncated);
      const shown = text.trim() === "" ? "" : ` It says: ${truncateText(text, maxShownBody)}`;
      const message = `${url.host} answered with status ${status}.${shown}`;
      throw new HttpStatusFailure(status, this.#options.secrets?.scrub(message) ?? message);
    }
    return {
      status,
      url: url.href,
      content_type: contentType,
      body: bodyValue(body, contentType, truncated),
      ...(truncated && { truncated }),
    };
  }
}

function shownBody(body: Buffer, contentType: string, truncated: boolean): string {
  try {
    const value = bodyValue(body, contentType, truncated);
    return typeof value === "string" ? value : JSON.stringify(value);
  } catch (thrown) {
    if (thrown instanceof DeepJsonFailure) return thrown.text;
    throw thrown;
  }
}

function nextUrl(answer: Answer, from: URL): URL | undefined {
  const { location } = answer.headers;
  if (location === undefined || !isRedirect(answer)) return undefined;
  if (URL.canParse(location, from.href)) return new URL(location, from.href);
  throw new ToolFailure(`${from.host} redirects to what is no URL.`);
}

function notAllowed(url: URL, entries: readonly AllowEntry[], isFirstHost: boolean): ToolFailure {
  const what = isFirstHost
    ? `${url.origin} is not among what http_get may ask.`
    : `The redirect to ${url.origin} is not followed, since http_get may not ask it.`;
  if (entries.length === 0) {
    return new ToolFailure(
      `${what} Nothing is: the operator allows hosts with createRuntime({ httpAllow: ["${url.host}"] }).`,
    );
  }
  return new ToolFailure(`${what} ${hostsOf(entries)}`);
}

/** What stands for a body that is no text. */
interface BinaryBody {
  readonly binary: true;
  readonly media_type: string;
  /** That were read. */
  readonly bytes: number;
}

/**
 * JSON as a value, text as text (HTML too, as it came), anything else as a description. A cut body is never JSON.
 * @throws DeepJsonFailure
 */
export function bodyValue(body: Buffer, contentType: string, truncated: boolean): unknown {
  const type = mediaTypeOf(contentType);
  const text = bodyText(body, contentType, truncated);
  if (text === undefined) {
    const found: BinaryBody = {
      binary: true,
      media_type: type === "" ? "application/octet-stream" : type,
      bytes: body.length,
    };
    return found;
  }
  if (truncated || !/[/+]json$/.test(type)) return text;
  return jsonValue(text);
}

/** Returns a body as text, or undefined if it is none. */
export function bodyText(
  body: Buffer,
  contentType: string,
  truncated: boolean,
): string | undefined {
  const type = mediaTypeOf(contentType);
  if (/^(?:image|audio|video|font)\//.test(type) && type !== "image/svg+xml") return undefined;
  const charset = /charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1];
  const decoder = decoderOf(charset);
  // Without a charset it must be valid UTF-8, whatever the server calls it.
  if (charset === undefined && body.includes(0)) return undefined;
  try {
    return decoder.decode(body, { stream: truncated });
  } catch {
    return undefined;
  }
}

function mediaTypeOf(contentType: string): string {
  const [type = ""] = contentType.toLowerCase().split(";");
  return type.trim();
}

function decoderOf(charset: string | undefined) {
  if (charset === undefined) return new TextDecoder("utf-8", { fatal: true });
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder("utf-8", { fatal: true });
  }
}

/** Levels of lists and objects within each other that are taken; code that walks results calls itself for each. */
const maxDepth = 200;

/**
 * The value of JSON text, without keys `__proto__`, which become a prototype where others copy the value key by key. The
 * text itself where it is no JSON.
 * @throws DeepJsonFailure
 */
export function jsonValue(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  let level = isNested(value) ? [value] : [];
  // Level by level: a walk that called itself would fail where the value is too deep.
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > maxDepth) throw new DeepJsonFailure(maxDepth, text);
    const next: object[] = [];
    for (const one of level) {
      if (Object.hasOwn(one, "__proto__")) Reflect.deleteProperty(one, "__proto__");
      for (const inner of Object.values(one) as unknown[]) if (isNested(inner)) next.push(inner);
    }
    level = next;
  }
  return value;
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

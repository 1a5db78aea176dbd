import type { HttpTransport, ToolContext } from "../definition/tool/tool.ts";
import {
  parseTemplate,
  soleInput,
  templateInputs,
  withSampleInputs,
} from "../definition/tool/request-template.ts";
import { StratagraphError } from "../errors.ts";
import { isRecord } from "../values/json.ts";

/** The request of one call. */
export interface HttpRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

type Input = Readonly<Record<string, unknown>>;

const maxUrlCharacters = 8_192;
const maxBodyBytes = 1_048_576;

/**
 * Puts a call's input into the request of its tool. Inputs are encoded for the place where they stand, and can change
 * neither the host nor the path's segments nor the headers.
 *
 * @throws HttpToolError for an input that cannot stand where it would be put; MissingSecretError
 */
export async function buildRequest(
  transport: HttpTransport,
  input: Input,
  secret: ToolContext["secret"],
): Promise<HttpRequest> {
  const { method, response } = transport;
  const rest = unusedInputs(transport, input);
  const takesBody = method !== "GET" && method !== "DELETE";
  const url = buildUrl(transport, input, takesBody ? {} : rest);
  const given = await buildHeaders(transport.headers, input, secret);
  const own = { accept: response.type === "json" ? "application/json" : "text/*, */*;q=0.5" };
  const template = transport.body ?? (takesBody ? rest : undefined);
  if (template === undefined) return { url, headers: { ...own, ...given } };
  const value = transport.body === undefined ? template : fillBody(template, input);
  const { type, text } = encodeBody(value, given["content-type"]);
  const body = Buffer.from(text);
  if (body.length > maxBodyBytes) {
    throw new HttpToolError(
      `The request's body would have ${body.length.toLocaleString("en")} bytes; at most ${maxBodyBytes.toLocaleString("en")} are sent.`,
    );
  }
  return { url, headers: { ...own, "content-type": type, ...given }, body };
}

/** The inputs that stand nowhere, for the default of the query or of the body; none where that is written. */
function unusedInputs({ method, endpoint, query, headers, body }: HttpTransport, input: Input) {
  const isWritten = method === "GET" || method === "DELETE" ? query : body;
  if (isWritten !== undefined) return {};
  const used = new Set(templateInputs([endpoint, query ?? {}, headers, body ?? null]));
  return Object.fromEntries(Object.entries(input).filter(([name]) => !used.has(name)));
}

function buildUrl({ endpoint, query = {} }: HttpTransport, input: Input, rest: Input): URL {
  let isQuery = false;
  const filled = parseTemplate(endpoint).map((part) => {
    if (part.kind === "text") isQuery ||= part.text.includes("?");
    if (part.kind !== "input") return part.kind === "text" ? part.text : "";
    const text = textOf(part.name, input[part.name]) ?? "";
    return isQuery ? encode(part.name, text) : pathText(part.name, text);
  });
  const url = new URL(filled.join(""));
  const sample = new URL(withSampleInputs(endpoint));
  const depth = (one: URL) => one.pathname.split("/").length;
  if (url.origin !== sample.origin || depth(url) !== depth(sample)) {
    throw new HttpToolError("The input would change the path of the request.");
  }
  for (const [name, template] of Object.entries(query)) {
    for (const text of queryTexts(template, input)) url.searchParams.append(name, text);
  }
  for (const [name, value] of Object.entries(rest)) {
    for (const text of textsOf(name, value)) url.searchParams.append(name, text);
  }
  if (url.href.length <= maxUrlCharacters) return url;
  throw new HttpToolError(
    `The URL would have ${url.href.length.toLocaleString("en")} characters; at most ${maxUrlCharacters.toLocaleString("en")} are sent.`,
  );
}

function queryTexts(template: string, input: Input): readonly string[] {
  const name = soleInput(template);
  return name === undefined ? [fillText(template, input)] : textsOf(name, input[name]);
}

/** Several for a list, none for null and an input that is left out. */
function textsOf(name: string, value: unknown): readonly string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.flatMap((one) => textOf(name, one) ?? []);
}

/** Inputs that were left out give the empty text. */
function fillText(template: string, input: Input): string {
  return parseTemplate(template)
    .map((part) => {
      if (part.kind === "text") return part.text;
      return part.kind === "input" ? (textOf(part.name, input[part.name]) ?? "") : "";
    })
    .join("");
}

/** Undefined for null and an input that is left out. */
function textOf(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new HttpToolError(
    `The input "${name}" must be a text, a number, true or false here, not ${Array.isArray(value) ? "a list" : "an object"}.`,
  );
}

function pathText(name: string, text: string): string {
  const refuse = (problem: string) => new HttpToolError(`The input "${name}" ${problem}.`);
  if (text === "") throw refuse("is empty, and stands in the path of a URL");
  if (/\p{Cc}/u.test(text)) throw refuse("has a control character");
  // Servers and proxies decode a path, some twice, before they look for `..` in it.
  let decoded = text;
  for (let times = 0; times < 3; times += 1) {
    const segments = decoded.split(/[/\\]/).map((segment) => segment.replace(/;.*$/, "").trim());
    if (segments.some((segment) => segment === "." || segment === "..")) {
      throw refuse('has a segment "." or "..", which leads out of its place in the path');
    }
    decoded = decoded.replaceAll(/%([0-7][0-9a-f])/gi, (_whole, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
  }
  return encode(name, text);
}

function encode(name: string, text: string): string {
  try {
    return encodeURIComponent(text);
  } catch (cause) {
    throw new HttpToolError(`The input "${name}" has half a character.`, { cause });
  }
}

/** By names in lower case. A header whose input is left out is left out. */
async function buildHeaders(
  templates: Readonly<Record<string, string>>,
  input: Input,
  secret: ToolContext["secret"],
): Promise<Readonly<Record<string, string>>> {
  const headers: Record<string, string> = {};
  for (const [name, template] of Object.entries(templates)) {
    const texts: (string | undefined)[] = [];
    for (const part of parseTemplate(template)) {
      if (part.kind === "text") texts.push(part.text);
      else if (part.kind === "secret") texts.push(await secret(part.name));
      else texts.push(textOf(part.name, input[part.name]));
    }
    if (texts.includes(undefined)) continue;
    const value = texts.join("").trim();
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      throw new HttpToolError(
        `The header ${name} would have a character that no header can have, such as a line break.`,
      );
    }
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** A text that consists of one placeholder becomes the input's value; left out where that is. */
function fillBody(template: unknown, input: Input): unknown {
  if (typeof template === "string") {
    const name = soleInput(template);
    return name === undefined ? fillText(template, input) : input[name];
  }
  if (Array.isArray(template)) {
    return template
      .map((one: unknown) => fillBody(one, input))
      .filter((value) => value !== undefined);
  }
  if (!isRecord(template)) return template;
  const entries = Object.entries(template).map(
    ([key, one]) => [key, fillBody(one, input)] as const,
  );
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

const formType = "application/x-www-form-urlencoded";

function encodeBody(value: unknown, type: string | undefined) {
  if (type?.toLowerCase().startsWith(formType) === true && isRecord(value)) {
    const form = new URLSearchParams();
    for (const [name, one] of Object.entries(value)) {
      for (const text of textsOf(name, one)) form.append(name, text);
    }
    return { type: formType, text: form.toString() };
  }
  if (typeof value === "string") return { type: "text/plain; charset=utf-8", text: value };
  return { type: "application/json", text: JSON.stringify(value ?? null) };
}

/** A call's input cannot be sent, or the server's answer cannot be read. Costs this call only, and is not retried. */
export class HttpToolError extends StratagraphError {
  readonly code = "http_tool";
  override readonly kind = "run";
}

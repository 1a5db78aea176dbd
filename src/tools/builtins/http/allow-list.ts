import { isIP } from "node:net";
import { hasMalformedReference, findSecretNames } from "../../../definition/schema/servers.ts";
import { headerProblem } from "../../../definition/tool/request-template.ts";
import { StratagraphError } from "../../../errors.ts";

export interface AllowEntry {
  /** As people wrote it. */
  readonly shown: string;
  readonly protocol: "http:" | "https:" | undefined;
  /** In the form that URL gives names and addresses, without the `*.`. */
  readonly hostname: string;
  readonly isWildcard: boolean;
  /** Empty for the scheme's own. */
  readonly port: string;
  /** Begins and ends with a slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly private: boolean;
}

/** Allows every host, but no address in a private network. */
export const publicHosts: AllowEntry = Object.freeze({
  shown: "",
  protocol: undefined,
  hostname: "",
  isWildcard: true,
  port: "",
  path: "/",
  headers: Object.freeze({}),
  private: false,
});

/** @throws HttpAllowError */
export function readAllowList(allow: readonly HttpAllow[]): readonly AllowEntry[] {
  return allow.map((entry) => readEntry(typeof entry === "string" ? { host: entry } : entry));
}

function readEntry({
  host,
  headers = {},
  private: isPrivate = false,
}: HttpAllowOptions): AllowEntry {
  const shown = host;
  const refuse = (problem: string) => new HttpAllowError(shown, problem);
  const [, scheme, wildcard, rest = ""] =
    /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*\.)?(.*)$/is.exec(shown.trim()) ?? [];
  const protocol = scheme === undefined ? undefined : `${scheme.toLowerCase()}:`;
  if (protocol !== undefined && protocol !== "http:" && protocol !== "https:") {
    throw refuse("only http and https are asked");
  }
  const text = `${protocol ?? "http:"}//${rest}`;
  if (rest.includes("*") || !URL.canParse(text)) throw refuse("it names no host");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") throw refuse("it has a user or a password");
  if (url.search !== "" || url.hash !== "") throw refuse("it has a query or a fragment");
  const hostname = plainHost(url.hostname);
  const isWildcard = wildcard !== undefined;
  if (isWildcard && (addressIn(hostname) !== undefined || !hostname.includes("."))) {
    throw refuse("a wildcard stands before a domain of two names or more");
  }
  checkHeaders(headers, refuse);
  return Object.freeze({
    shown,
    protocol,
    hostname,
    isWildcard,
    // A port that was written and is the scheme's own is left out by URL: of both schemes here, since there is one.
    port:
      url.port === "" && protocol === undefined
        ? (/:(\d+)(?:\/|$)/.exec(rest)?.[1] ?? "")
        : url.port,
    path: url.pathname.endsWith("/") ? url.pathname : `${url.pathname}/`,
    headers: Object.freeze({ ...headers }),
    private: isPrivate,
  });
}

function checkHeaders(
  headers: Readonly<Record<string, unknown>>,
  refuse: (problem: string) => HttpAllowError,
): void {
  for (const [name, value] of Object.entries(headers)) {
    const problem = headerProblem(name, value);
    if (problem !== undefined) throw refuse(problem);
    if (hasMalformedReference(String(value))) {
      throw refuse(`the header ${name} has a broken reference; write {{secret:NAME}}`);
    }
  }
}

/** The first entry that allows a URL. */
export function entryFor(url: URL, entries: readonly AllowEntry[]): AllowEntry | undefined {
  return entries.find((entry) => allows(entry, url));
}

function allows(entry: AllowEntry, url: URL): boolean {
  if (entry.protocol !== undefined && entry.protocol !== url.protocol) return false;
  const hostname = plainHost(url.hostname);
  const isHost = entry.isWildcard
    ? hostname.endsWith(`.${entry.hostname}`)
    : hostname === entry.hostname;
  return isHost && isPort(entry.port, url) && isBelow(entry.path, url.pathname);
}

function isPort(port: string, url: URL): boolean {
  const own = url.protocol === "https:" ? "443" : "80";
  return port === "" ? url.port === "" : port === (url.port === "" ? own : url.port);
}

/** `/api/` allows `/api` and all below. */
function isBelow(path: string, pathname: string): boolean {
  if (path === "/") return true;
  // A server may read an encoded slash as one, and then `..` behind it as the folder above; one that stands behind a
  // proxy may decode twice; and some take `..;a=b` for `..` with a parameter.
  if (/%(?:25)*(?:2f|5c)|%(?:25)+2e/i.test(pathname)) return false;
  if (/(?:^|\/)(?:\.|%2e){2}(?:;|%3b)/i.test(pathname)) return false;
  return `${pathname}/`.startsWith(path);
}

/** Whether the headers of an entry may be sent along; secrets are not for the open road. */
export function mayCarryHeaders(entry: AllowEntry, url: URL): boolean {
  if (url.protocol === "https:" || entry.protocol === "http:") return true;
  if (Object.values(entry.headers).every((value) => findSecretNames(value).length === 0))
    return true;
  return entry.hostname === "localhost" || addressIn(entry.hostname) !== undefined;
}

/** The address that a URL's host is, without brackets. */
export function addressIn(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(bare) === 0 ? undefined : bare;
}

function plainHost(hostname: string): string {
  return hostname.replace(/\.$/, "");
}

/**
 * What `http_get` may ask: `api.example.com`, `*.example.org` (its subdomains, not itself), `127.0.0.1:8080`, or
 * `https://example.com/api/` for what is below a path. Without a scheme both http and https, without a port the
 * scheme's own.
 */
export type HttpAllow = string | HttpAllowOptions;

export interface HttpAllowOptions {
  readonly host: string;
  /**
   * Sent to this host, and never to one that it redirects to. `{{secret:NAME}}` stands for a secret. Only over https,
   * unless `host` begins with `http://` or is an address or localhost.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the host may be in a private network. Addresses and localhost are by being named. Default false. */
  readonly private?: boolean;
}

/** An entry of the allow-list is invalid. */
export class HttpAllowError extends StratagraphError {
  readonly code = "http_allow";

  constructor(
    readonly entry: string,
    problem: string,
  ) {
    super(
      `The entry ${JSON.stringify(entry.slice(0, 200))} of the hosts that http_get may ask is refused: ${problem}. Entries are such as api.example.com, *.example.org, 127.0.0.1:8080 or https://example.com/api/.`,
    );
  }
}

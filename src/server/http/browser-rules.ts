import { HttpProblem } from "../problems.ts";
import { isLoopback } from "./client-address.ts";

/** The rules for requests from web pages. */
export interface BrowserRules {
  /** Origins whose pages may call the API, such as `https://app.example.com`; `*` for all of them, with keys only. */
  readonly origins: readonly string[];
  /** Whether no key is needed, so that any page that reaches the server would have all rights. */
  readonly isOpen: boolean;
  /** Host names that the server answers to without keys, apart from those of loopback. */
  readonly hosts: readonly string[];
}

/**
 * Refuses what a web page may send without the consent of its user. The API has no cookies: with keys, a page can only
 * send what it has a key for.
 *
 * @param of.isPage whether a page of the server is asked for, to which links of other sites may lead
 * @throws HttpProblem `forbidden_host`, `forbidden_origin`
 */
export function checkBrowser(
  request: Request,
  rules: BrowserRules,
  { isPage }: { readonly isPage: boolean },
): void {
  if (!rules.isOpen) return;
  const host = request.headers.get("host") ?? new URL(request.url).host;
  const name = host.replace(/:\d+$/, "");
  if (!isLoopback(name) && !rules.hosts.includes(name.toLowerCase())) {
    // DNS rebinding: a page whose host name resolves to this machine.
    throw new HttpProblem("forbidden_host", {
      detail: "Without keys the server answers to localhost and 127.0.0.1 only.",
    });
  }
  const origin = request.headers.get("origin");
  const isOwn = origin === null || origin === `http://${host}` || rules.origins.includes(origin);
  const site = request.headers.get("sec-fetch-site");
  const isLink = isPage && request.headers.get("sec-fetch-dest") === "document";
  if (!isOwn || (origin === null && site === "cross-site" && !isLink)) {
    throw new HttpProblem("forbidden_origin", {
      detail: "Without keys the server takes no requests from pages of other origins.",
    });
  }
}

function isAllowedOrigin(origin: string, { origins }: Pick<BrowserRules, "origins">): boolean {
  return origins.includes(origin) || origins.includes("*");
}

const allowedHeaders =
  "Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, X-Api-Key, X-Request-Id";
const exposedHeaders =
  "Content-Location, ETag, Idempotency-Replayed, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Pagination-Next, X-Pagination-Total, X-Request-Id";

/** Returns the CORS headers of an answer; none for origins that are not on the list. */
export function corsHeaders(
  origin: string | null,
  rules: Pick<BrowserRules, "origins">,
): Readonly<Record<string, string>> {
  if (rules.origins.length === 0) return {};
  if (origin === null || !isAllowedOrigin(origin, rules)) return { Vary: "Origin" };
  return {
    Vary: "Origin",
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Expose-Headers": exposedHeaders,
  };
}

/** Returns the further headers of the answer to a preflight request. */
export function preflightHeaders(methods: readonly string[]): Readonly<Record<string, string>> {
  return {
    "Access-Control-Allow-Methods": methods.join(", "),
    "Access-Control-Allow-Headers": allowedHeaders,
    "Access-Control-Max-Age": "600",
  };
}

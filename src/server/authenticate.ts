import type { Principal } from "../storage/platform/platform.ts";
import { isLoopback } from "./http/client-address.ts";
import { hasScope, type Scope, serverScopes } from "../storage/platform/api-keys.ts";
import type { KeyVerifier, ServerLogger } from "./ports.ts";
import { HttpProblem } from "./problems.ts";
import type { RateLimiter } from "./rate-limits.ts";
import type { RequestFacts } from "./route.ts";

/** How callers are identified. */
export type Authentication =
  | { readonly keys: KeyVerifier }
  /** Without keys every caller from this machine is this tenant, with all scopes. */
  | { readonly development: { readonly tenantId: string } };

export interface AuthenticateOptions {
  readonly authentication: Authentication;
  readonly rates: RateLimiter;
  readonly logger: ServerLogger;
}

/** Stands for the key of callers that need none. */
export const developmentKeyId = "development";

/** The longest key that is looked up. */
const maxKeyLength = 256;

/**
 * Identifies the caller of a request by `Authorization: Bearer` or `X-Api-Key`. Missing, unknown, expired, revoked and
 * suspended keys get the same answer.
 *
 * @throws HttpProblem `unauthorized`, `rate_limited`
 */
export async function authenticate(
  request: Request,
  facts: RequestFacts,
  { authentication, rates, logger }: AuthenticateOptions,
): Promise<Principal> {
  if ("development" in authentication) {
    if (facts.client !== undefined && !isLoopback(facts.client)) throw unauthorized();
    const { tenantId } = authentication.development;
    return { tenantId, keyId: developmentKeyId, scopes: ["*", ...serverScopes] };
  }
  rates.checkClient(facts.client);
  const secret = secretOf(request.headers);
  if (secret === undefined) throw unauthorized();
  const check = await authentication.keys.verify(secret);
  if (check.principal !== null) return check.principal;
  rates.countRefusal(facts.client);
  const { refusal, keyId: key } = check;
  const { id, client } = facts;
  logger.warn({ request_id: id, client, refusal, key }, "API key refused");
  throw unauthorized();
}

/** @throws HttpProblem `missing_scope` */
export function checkScopes(principal: Principal, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !hasScope(principal, scope));
  if (missing.length === 0) return;
  throw new HttpProblem("missing_scope", {
    detail: `The API key needs ${missing.length === 1 ? "the scope" : "the scopes"} ${missing.join(", ")}.`,
    extensions: { missing_scopes: missing },
    headers: {
      "WWW-Authenticate": `Bearer error="insufficient_scope", scope="${scopes.join(" ")}"`,
    },
  });
}

/** The key that a request names. */
export function secretOf(headers: Headers): string | undefined {
  const bearer = /^Bearer +([\x21-\x7e]+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  const secret = bearer ?? headers.get("x-api-key") ?? undefined;
  return secret === undefined || secret.length > maxKeyLength ? undefined : secret;
}

function unauthorized(): HttpProblem {
  return new HttpProblem("unauthorized", {
    detail: "Send a valid API key as Authorization: Bearer <key>, or as X-Api-Key.",
    headers: { "WWW-Authenticate": 'Bearer realm="stratagraph"' },
  });
}

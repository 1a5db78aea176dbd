import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { errorMessage } from "../../../errors.ts";
import { ToolFailure } from "../../tool-failure.ts";
import { kindOfAddress } from "./address-rule.ts";
import { addressIn, type AllowEntry } from "./allow-list.ts";
import { HttpUnreachableError } from "./errors.ts";

export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** The addresses of a host, in the order in which they are to be tried. */
export type HostLookup = (hostname: string) => Promise<readonly string[]>;

/** As the system resolves names. */
export const systemLookup: HostLookup = async (hostname) =>
  (await lookup(hostname, { all: true, verbatim: true })).map(({ address }) => address);

/**
 * The addresses to connect to, all of them checked: the connection is made to one of these and the name not asked for
 * again, so that an answer that changes in between (DNS rebinding) leads nowhere else.
 * @throws ToolFailure for an address that may not be asked; HttpUnreachableError; the signal's reason
 */
export async function resolveHost(
  url: URL,
  entry: AllowEntry,
  { lookup: ask, signal }: { readonly lookup: HostLookup; readonly signal: AbortSignal },
): Promise<readonly HostAddress[]> {
  const literal = addressIn(url.hostname);
  const found = literal === undefined ? await asked(url, ask, signal) : [literal];
  const addresses = found.flatMap((address) => {
    const family = isIP(address);
    return family === 4 || family === 6 ? [{ address, family } as const] : [];
  });
  if (addresses.length === 0) throw new HttpUnreachableError(url.host, "it has no address");
  for (const { address } of addresses) checkAddress(url, entry, address);
  return addresses;
}

async function asked(url: URL, ask: HostLookup, signal: AbortSignal): Promise<readonly string[]> {
  signal.throwIfAborted();
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([ask(url.hostname), aborted]);
  } catch (cause) {
    signal.throwIfAborted();
    throw new HttpUnreachableError(url.host, errorMessage(cause), { cause });
  } finally {
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}

function checkAddress(url: URL, entry: AllowEntry, address: string): void {
  const kind = kindOfAddress(address);
  if (kind === "public") return;
  const isNamed = addressIn(entry.hostname) !== undefined;
  // `allow-list.ts` has compared them: an address that an entry names is the URL's own.
  if (isNamed || (entry.hostname === "localhost" && !entry.isWildcard && kind === "loopback"))
    return;
  if (entry.private && (kind === "private" || kind === "loopback")) return;
  throw new ToolFailure(
    `${url.hostname} leads to ${kind === "special" ? "an address that is kept for special uses" : `a ${kind} address`}, which http_get does not ask unless its allow-list names that very address.`,
  );
}

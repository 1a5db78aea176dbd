import { abortable } from "../../../async.ts";
import { lookup } from "node:dns/promises";
import { BlockList, isIP, isIPv6 } from "node:net";
import { errorMessage, StratagraphError } from "../../../errors.ts";
import { ToolFailure } from "../../tool-result.ts";
import { addressIn, type AllowEntry } from "./allow-list.ts";

/** Where an address leads. `special` is what is neither a host on the Internet nor one in a private network. */
export type AddressKind = "public" | "private" | "loopback" | "special";

type Range = readonly [network: string, prefix: number];

/** IANA's special-purpose address registries (RFC 6890 and its updates). */
const ranges: Readonly<Record<Exclude<AddressKind, "public">, readonly Range[]>> = {
  loopback: [
    ["127.0.0.0", 8],
    ["::1", 128],
  ],
  private: [
    ["10.0.0.0", 8],
    ["172.16.0.0", 12],
    ["192.168.0.0", 16],
    ["100.64.0.0", 10],
    ["fc00::", 7],
    ["fec0::", 10],
  ],
  special: [
    // Metadata services of clouds: most are link-local; these two are not.
    ["100.100.100.200", 32],
    ["168.63.129.16", 32],
    ["fd00:ec2::254", 128],
    ["169.254.0.0", 16],
    ["0.0.0.0", 8],
    ["192.0.0.0", 24],
    ["192.0.2.0", 24],
    ["192.88.99.0", 24],
    ["198.18.0.0", 15],
    ["198.51.100.0", 24],
    ["203.0.113.0", 24],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4],
    ["::", 128],
    ["::ffff:0:0:0", 96],
    ["64:ff9b:1::", 48],
    ["100::", 64],
    ["2001::", 23],
    ["2001:db8::", 32],
    ["2002::", 16],
    ["3fff::", 20],
    ["5f00::", 16],
    ["fe80::", 10],
    ["ff00::", 8],
  ],
};

/** What an address of IPv6 may have before one of IPv4 (RFC 4291 2.5.5, RFC 6052). Node reads `::ffff:` so itself. */
const carriers = ["::", "64:ff9b::"] as const;

const lists = Object.entries(ranges).map(
  ([kind, members]) => [kind as AddressKind, listOf(members)] as const,
);

function listOf(members: readonly Range[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of members) {
    if (isIPv6(network)) {
      list.addSubnet(network, prefix, "ipv6");
      continue;
    }
    list.addSubnet(network, prefix, "ipv4");
    for (const carrier of carriers) list.addSubnet(carrier + network, 96 + prefix, "ipv6");
  }
  return list;
}

/** The most restricted kind that an address is of. */
export function kindOfAddress(address: string): AddressKind {
  const bare = address.replace(/%.*$/, "");
  const family = isIPv6(bare) ? "ipv6" : "ipv4";
  const kinds = lists.filter(([, list]) => list.check(bare, family)).map(([kind]) => kind);
  if (bare === "::1") return "loopback";
  return (
    (["special", "loopback", "private"] as const).find((one) => kinds.includes(one)) ?? "public"
  );
}

export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Returns the addresses of a host, in the order in which they will be tried. */
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
  try {
    return await abortable(ask(url.hostname), signal);
  } catch (cause) {
    signal.throwIfAborted();
    throw new HttpUnreachableError(url.host, errorMessage(cause), { cause });
  }
}

/**
 * Checks the address in a URL. A name is looked up when it is called, by {@link resolveHost}.
 *
 * @throws ToolFailure for an address that may not be asked
 */
export function checkLiteralAddress(url: URL, entry: AllowEntry): void {
  const literal = addressIn(url.hostname);
  if (literal !== undefined) checkAddress(url, entry, literal);
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
    `${url.hostname} leads to ${kind === "special" ? "an address that is kept for special uses" : `a ${kind} address`}, which is not called unless the allow list names that very address.`,
  );
}

/** No answer came, or it broke off. The system's code, such as ECONNREFUSED, is that of `cause`. */
export class HttpUnreachableError extends StratagraphError {
  readonly code = "http_unreachable";
  override readonly kind = "run";
  override readonly transient = true;

  constructor(
    /** With its port where it is not the scheme's own. */
    readonly host: string,
    reason: string,
    options?: { cause?: unknown },
  ) {
    super(`${host} cannot be reached: ${reason.replace(/\.$/, "")}.`, options);
  }
}

/** The server answered with a status of 400 or more. */
export class HttpStatusFailure extends ToolFailure {
  /** Whether the same request may succeed a little later. Default: for statuses 429 and 503. */
  readonly retryable: boolean;
  /** Milliseconds after which the server wants to be asked again, if it says so. */
  readonly retryAfterMs: number | undefined;
  override readonly transient: boolean;

  constructor(
    readonly status: number,
    message: string,
    {
      retryable = status === 429 || status === 503,
      retryAfterMs,
    }: { readonly retryable?: boolean; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message);
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
    this.transient = retryable;
  }
}

/** A body is JSON that is nested more deeply than those who walk a result can go. */
export class DeepJsonFailure extends ToolFailure {
  constructor(
    /** Levels of lists and objects within each other that are taken. */
    readonly maxDepth: number,
    /** The body. */
    readonly text: string,
  ) {
    super(
      `The body is JSON that is nested more than ${maxDepth} levels deep, which cannot be taken. Ask for a part of it.`,
    );
  }
}

import { BlockList, isIP } from "node:net";
import { InvalidProxyError } from "../errors.ts";

/** Finds out the address of a client from that of its connection and X-Forwarded-For. */
export type ClientAddress = (
  connection: string | undefined,
  forwardedFor: string | null,
) => string | undefined;

/** The most addresses of X-Forwarded-For that are looked at. */
const maxHops = 32;

/**
 * Creates a function that returns the address of a client. X-Forwarded-For counts only as far as trusted proxies wrote
 * it: from its end, up to the first address that is no trusted proxy.
 *
 * @param trusted IP addresses and ranges
 * @throws InvalidProxyError
 */
export function createClientAddress(trusted: readonly string[]): ClientAddress {
  const proxies = new BlockList();
  for (const proxy of trusted) {
    const [address = "", bits, ...others] = proxy.split("/");
    const version = isIP(address);
    const most = version === 6 ? 128 : 32;
    const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (version === 0 || others.length > 0 || !(prefix >= 0 && prefix <= most)) {
      throw new InvalidProxyError(proxy);
    }
    proxies.addSubnet(address, prefix, version === 6 ? "ipv6" : "ipv4");
  }
  const isTrusted = (address: string) =>
    isIP(address) !== 0 && proxies.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  return (connection, forwardedFor) => {
    if (connection === undefined) return undefined;
    let client = plainAddress(connection);
    if (forwardedFor === null) return client;
    const hops = forwardedFor.split(",").slice(-maxHops).toReversed();
    for (const hop of hops) {
      if (!isTrusted(client)) return client;
      const address = plainAddress(hop.trim());
      if (isIP(address) === 0) return client;
      client = address;
    }
    return client;
  };
}

/** An IPv4 address that a socket for both versions gives as `::ffff:127.0.0.1`, as IPv4. */
function plainAddress(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}

/** Whether an IP address or host name is of this machine. Other names are not resolved. */
export function isLoopback(host: string): boolean {
  const address = plainAddress(host.replace(/^\[(.*)\]$/, "$1"));
  if (isIP(address) === 4) return address.startsWith("127.");
  return address === "::1" || address.toLowerCase() === "localhost";
}

import { BlockList, isIPv6 } from "node:net";

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

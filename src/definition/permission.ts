/** A segment of a permission, or `*` in a grant. */
const segment = /^(?:[A-Za-z0-9_.-]+|\*)$/;

/** A permission is named by segments: `file:read`, `network:http`. A grant may have `*` for a segment. */
export function isPermission(
  text: string,
  { wildcards }: { readonly wildcards: boolean },
): boolean {
  const segments = text.split(":");
  return segments.every((one) => segment.test(one) && (wildcards || one !== "*"));
}

/**
 * Whether one of the grants covers a permission, segment by segment: `*` stands for one segment, and as the last segment
 * for all that are left. `network:*` covers `network:http` and `network:http:get`, and not `network`.
 */
export function isGranted(permission: string, grants: readonly string[]): boolean {
  const asked = permission.split(":");
  return grants.some((grant) => covers(grant.split(":"), asked));
}

function covers(grant: readonly string[], asked: readonly string[]): boolean {
  const isOpen = grant.at(-1) === "*";
  if (isOpen ? asked.length < grant.length : asked.length !== grant.length) return false;
  return grant.every((one, at) => one === "*" || one === asked[at]);
}

/** Grants that cover what two lists of grants both cover, and nothing else. */
export function commonGrants(a: readonly string[], b: readonly string[]): readonly string[] {
  const common = a.flatMap((one) => b.flatMap((other) => commonGrant(one, other) ?? []));
  const all = [...new Set(common)];
  return all.filter((one) => !all.some((other) => other !== one && coversGrant(other, one)));
}

function commonGrant(a: string, b: string): string | null {
  const [short = [], long = []] = [a.split(":"), b.split(":")].toSorted(
    (one, other) => one.length - other.length,
  );
  if (short.length < long.length && short.at(-1) !== "*") return null;
  const common = long.map((segmentOfLong, at) => {
    const segmentOfShort = short[at] ?? "*";
    if (segmentOfShort === "*") return segmentOfLong;
    return segmentOfLong === "*" || segmentOfLong === segmentOfShort ? segmentOfShort : null;
  });
  return common.every((one) => one !== null) ? common.join(":") : null;
}

/** Whether everything that the grant `b` covers `a` covers too. */
function coversGrant(a: string, b: string): boolean {
  return commonGrant(a, b) === b;
}

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

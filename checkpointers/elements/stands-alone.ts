/**
 * Whether the serializer can go all the way through the value, so that each part of it is stored the same whether alone
 * or within the whole: nothing in it contains itself, and there are no bigints, which fail as a whole.
 */
export function standsAlone(value: unknown): boolean {
  const sound = new Set<object>();
  const path = new Set<object>();

  function visit(inner: unknown): boolean {
    if (typeof inner === "bigint") return false;
    if (typeof inner !== "object" || inner === null || sound.has(inner)) return true;
    if (path.has(inner)) return false;
    path.add(inner);
    const stands = partsOf(inner).every(visit);
    path.delete(inner);
    sound.add(inner);
    return stands;
  }

  return visit(value);
}

function partsOf(value: object): unknown[] {
  if (value instanceof Uint8Array) return [];
  const collected = value instanceof Map || value instanceof Set ? [...value] : [];
  return [...collected, ...(Object.values(value) as unknown[])];
}

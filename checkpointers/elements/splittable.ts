/** A list whose elements can be stored one by one: the serializer treats each as it would within the list. */
export function isSplittableList(value: unknown): value is readonly unknown[] {
  return (
    Array.isArray(value) &&
    Object.getPrototypeOf(value) === Array.prototype &&
    !Object.hasOwn(value, "toJSON")
  );
}

/** Keys by which the serializer takes an object for something else than itself. */
const READ_BY_SERIALIZER: ReadonlySet<string> = new Set(["lc", "lg_name", "toJSON", "__proto__"]);

/** An object whose values can be stored one by one. */
export function isSplittableObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return !Object.keys(value).some((key) => READ_BY_SERIALIZER.has(key));
}

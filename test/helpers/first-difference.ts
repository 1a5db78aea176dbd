import { types } from "node:util";

/**
 * Where two values are not the same in some way that a program could tell, or null. Compares prototypes, own properties in
 * their order and with their attributes, what accessors give, symbols, what is inside maps, sets and expressions, minus zero, and which objects
 * are one and the same. Only the stacks of errors may differ.
 */
export function firstDifference(actual: unknown, expected: unknown): string | null {
  const counterparts = new Map<object, object>();
  const taken = new Set<object>();

  function compare(left: unknown, right: unknown, path: string): string | null {
    if (!isObject(left) || !isObject(right)) return Object.is(left, right) ? null : path;
    if (counterparts.has(left) || taken.has(right))
      return counterparts.get(left) === right ? null : `${path}: not the same object as before`;
    counterparts.set(left, right);
    taken.add(right);
    if (Array.isArray(left) !== Array.isArray(right)) return `${path}: not both lists`;
    if (types.isRegExp(left) && !(types.isRegExp(right) && left.toString() === right.toString()))
      return path;
    const inherited = comparePrototypes(left, right, `${path}.__proto__`);
    return inherited ?? compareKeys(left, right, path) ?? compareContents(left, right, path);
  }

  function comparePrototypes(left: object, right: object, path: string): string | null {
    const of: unknown = Object.getPrototypeOf(left);
    const expectedOf: unknown = Object.getPrototypeOf(right);
    // Classes are the same class; data that serves as a prototype is compared like other data.
    return of === expectedOf ? null : compare(of, expectedOf, path);
  }

  function compareKeys(left: object, right: object, path: string): string | null {
    const keys = Reflect.ownKeys(left);
    const expectedKeys = Reflect.ownKeys(right);
    if (keys.map(String).join() !== expectedKeys.map(String).join())
      return `${path}: keys ${keys.map(String).join()}, expected ${expectedKeys.map(String).join()}`;
    for (const key of keys) {
      if (types.isNativeError(left) && key === "stack") continue;
      const one = Object.getOwnPropertyDescriptor(left, key);
      const other = Object.getOwnPropertyDescriptor(right, key);
      const place = `${path}.${String(key)}`;
      for (const attribute of ["enumerable", "configurable"] as const)
        if (one?.[attribute] !== other?.[attribute]) return `${place}: ${attribute}`;
      if (isWritable(one) !== isWritable(other)) return `${place}: writable`;
      // LangChain parses what a piece of an answer calls when that is read or written first.
      const difference = compare(Reflect.get(left, key), Reflect.get(right, key), place);
      if (difference !== null) return difference;
    }
    return null;
  }

  function compareContents(left: object, right: object, path: string): string | null {
    if (types.isMap(left) !== types.isMap(right)) return path;
    if (types.isSet(left) !== types.isSet(right)) return path;
    if (!(isCollection(left) && isCollection(right))) return null;
    return compare(
      [...left] as readonly unknown[],
      [...right] as readonly unknown[],
      `${path} contents`,
    );
  }

  return compare(actual, expected, "value");
}

function isWritable(property: PropertyDescriptor | undefined): boolean {
  return property?.writable ?? property?.set !== undefined;
}

function isCollection(object: object): object is Map<unknown, unknown> | Set<unknown> {
  return types.isMap(object) || types.isSet(object);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

import { deepFreeze } from "../values/json.ts";

export type Awaitable<T> = T | Promise<T>;

/** The two tiers as handlers and validators see them. */
export interface AgentState<Exec = Record<string, unknown>, Attempt = Record<string, unknown>> {
  /** Tier 1: survives failed attempts of a turn. */
  readonly execution: Exec;
  /** Tier 2: fresh for every attempt. */
  readonly attempt: Attempt;
}

/**
 * A stateful tool. It gets frozen state and returns the whole new state; it returns an unchanged tier as it is.
 * Throwing fails only this call.
 */
export type ToolReducerHandler<Exec, Attempt, ToolInput> = (
  state: AgentState<Exec, Attempt>,
  input: ToolInput,
) => Awaitable<{ newState: AgentState<Exec, Attempt>; toolResult: unknown }>;

/**
 * The type itself if all its values are JSON, as far as types tell; other parts become `never`. Optional members,
 * interfaces and `unknown` pass.
 */
export type JsonOf<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends NotJson
      ? never
      : T extends object
        ? { [Key in keyof T]: JsonOf<T[Key]> }
        : never;

type NotJson =
  | bigint
  | symbol
  | Date
  | RegExp
  | Error
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | ArrayBufferView
  | ((...args: never[]) => unknown);

/** The result of {@link checkJson}. */
export type JsonCheck =
  | {
      readonly ok: true;
      /** Freezes the value deeply in place. Later checks do not walk it again. */
      freeze(): void;
    }
  | {
      readonly ok: false;
      /** Such as `execution.items[3].when`. */
      readonly path: string;
      /** The type of the offending value, such as "a Date"; never its contents. */
      readonly found: string;
    };

/** Maximum nesting of objects and lists in a tier. */
const maxDepth = 500;

/** Nesting depth of each container that was checked and then frozen, itself included. */
const frozenJson = new WeakMap<object, number>();

/**
 * Checks that a value is plain JSON, so that a restart restores exactly what was written: objects, lists, texts,
 * booleans, null and finite numbers, at most 500 levels deep and without cycles. Undefined members of objects are
 * allowed and left out. Linear in what was not already checked and frozen.
 *
 * @param name first element of the path
 */
export function checkJson(value: unknown, name: string): JsonCheck {
  const walk = new JsonWalk();
  if (walk.height(value) === refused)
    return { ok: false, path: name + walk.path, found: walk.found };
  return {
    ok: true,
    freeze() {
      deepFreeze(value);
      // Objects of another realm are not frozen.
      if (![...walk.heights.keys()].every(Object.isFrozen)) return;
      for (const [container, height] of walk.heights) frozenJson.set(container, height);
    },
  };
}

const refused = -1;

/** Stops at the first value that is not JSON. {@link maxDepth} bounds the recursion. */
class JsonWalk {
  readonly heights = new Map<object, number>();
  found = "";
  readonly #within = new Set<object>();
  readonly #keys: (string | number)[] = [];

  /** Path from the root value to where the walk stopped. */
  get path(): string {
    const parts = this.#keys.map(pathPart);
    return parts.length <= 12
      ? parts.join("")
      : `${parts.slice(0, 8).join("")}…${parts.slice(-3).join("")}`;
  }

  /** Returns the nesting depth of a value, or `refused`. */
  height(value: unknown): number {
    switch (typeof value) {
      case "string":
      case "boolean":
        return 0;
      case "number":
        return Number.isFinite(value) ? 0 : this.#refuse(String(value));
      case "object":
        return value === null ? 0 : this.#container(value);
      case "undefined":
        return this.#refuse("undefined");
      case "bigint":
      case "function":
      case "symbol":
        return this.#refuse(`a ${typeof value}`);
    }
  }

  #refuse(found: string): typeof refused {
    this.found = found;
    return refused;
  }

  #container(value: object): number {
    if (this.#within.has(value)) return this.#refuse("a circular reference");
    const known = this.heights.get(value) ?? frozenJson.get(value);
    if (this.#within.size + (known ?? 1) > maxDepth) {
      return this.#refuse(`more than ${maxDepth} levels deep`);
    }
    if (known !== undefined) return known;
    const other = otherThanJson(value);
    if (other !== null) return this.#refuse(other);
    this.#within.add(value);
    const inner = Array.isArray(value) ? this.#list(value) : this.#object(value);
    if (inner === refused) return refused;
    this.#within.delete(value);
    this.heights.set(value, inner + 1);
    return inner + 1;
  }

  #list(list: readonly unknown[]): number {
    let highest = 0;
    for (let at = 0; at < list.length; at += 1) {
      this.#keys.push(at);
      const item = list[at];
      const isHole = item === undefined && !(at in list);
      const height = isHole ? this.#refuse("a hole in a list") : this.height(item);
      if (height === refused) return refused;
      this.#keys.pop();
      if (height > highest) highest = height;
    }
    return highest;
  }

  #object(object: object): number {
    let highest = 0;
    for (const key of Object.keys(object)) {
      const member = (object as Readonly<Record<string, unknown>>)[key];
      // As JSON.stringify does, which leaves it out.
      if (member === undefined) continue;
      this.#keys.push(key);
      // Readers of checkpoints would take it for the prototype.
      const height =
        key === "__proto__"
          ? this.#refuse("a key that readers take for the prototype")
          : this.height(member);
      if (height === refused) return refused;
      this.#keys.pop();
      if (height > highest) highest = height;
    }
    return highest;
  }
}

/** Returns the type of an object that is neither plain nor a list; else null. */
function otherThanJson(object: object): string | null {
  if (!isPlain(object)) return instanceName(object);
  const isKey = (key: symbol) => Object.getOwnPropertyDescriptor(object, key)?.enumerable === true;
  return Object.getOwnPropertySymbols(object).some(isKey) ? "an object with a symbol as key" : null;
}

/** Returns whether a value is a list or an object without a class, of this or another realm. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (Array.isArray(object)) return Array.isArray(prototype);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function instanceName(object: object): string {
  const { constructor } = Object.getPrototypeOf(object) as { constructor?: { name?: unknown } };
  const name = constructor?.name;
  if (typeof name !== "string" || name === "") return "an instance of a class";
  return `${/^[aeiou]/i.test(name) ? "an" : "a"} ${name}`;
}

function pathPart(key: string | number): string {
  if (typeof key === "number") return `[${key}]`;
  return /^[a-z_$][\w$]{0,59}$/i.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, 60))}]`;
}

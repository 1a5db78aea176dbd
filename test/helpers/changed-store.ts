import type { MemoryStore } from "../../src/memory/store.ts";

/** A store with some methods replaced. */
export function changedStore(store: MemoryStore, methods: Partial<MemoryStore>): MemoryStore {
  return new Proxy(store, {
    get(target, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name) as unknown;
      const value = Reflect.get(target, name) as unknown;
      // Bound: private fields are not those of the proxy.
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

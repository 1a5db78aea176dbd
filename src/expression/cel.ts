import { createRequire } from "node:module";

type Cel = typeof import("@bufbuild/cel");
type CelExtensions = typeof import("@bufbuild/cel/ext");

const load = createRequire(import.meta.url);
let library: Cel | undefined;
let engine: typeof import("@bufbuild/re2") | undefined;

/**
 * Returns the CEL library, loaded on the first expression. Loading it takes longer than loading the rest of this
 * package, and most definitions contain no expression. Synchronous, because definition checks are.
 */
export function cel(): Cel {
  library ??= load("@bufbuild/cel") as Cel;
  return library;
}

/** Returns CEL's extension functions. */
export function celExtensions(): CelExtensions {
  return load("@bufbuild/cel/ext") as CelExtensions;
}

/** Returns the regular expression engine behind CEL's `matches`, which runs in linear time. */
export function re2(): typeof import("@bufbuild/re2") {
  // Resolving a module takes longer than compiling a short pattern.
  engine ??= load("@bufbuild/re2") as typeof import("@bufbuild/re2");
  return engine;
}

/** Returns a function that creates a value on its first call and caches it. */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

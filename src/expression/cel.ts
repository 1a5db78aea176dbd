import { createRequire } from "node:module";

type Cel = typeof import("@bufbuild/cel");
type CelExtensions = typeof import("@bufbuild/cel/ext");

const load = createRequire(import.meta.url);
let library: Cel | undefined;

/**
 * The CEL library, loaded with the first expression: definitions are checked without waiting, and most have none, while
 * loading it takes longer than loading the rest of this package.
 */
export function cel(): Cel {
  library ??= load("@bufbuild/cel") as Cel;
  return library;
}

/** CEL's optional functions. */
export function celExtensions(): CelExtensions {
  return load("@bufbuild/cel/ext") as CelExtensions;
}

/** The engine of CEL's `matches`, which matches regular expressions in linear time. */
export function re2(): typeof import("@bufbuild/re2") {
  return load("@bufbuild/re2") as typeof import("@bufbuild/re2");
}

/** Makes a value when it is first asked for, and keeps it. */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

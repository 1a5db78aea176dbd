// oxlint-disable typescript/unbound-method, typescript/no-extraneous-class, typescript/no-useless-default-assignment -- the forms of functions are what is tested
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { functionSource } from "../../src/definition/function-source.ts";

type Handler = (input: { a: number }) => unknown;

const key = "computed";

const methods = {
  plain({ a }: { a: number }) {
    return a + 1;
  },
  async later({ a }: { a: number }) {
    return a + 1;
  },
  "with spaces"({ a }: { a: number }) {
    return a + 1;
  },
  get({ a }: { a: number }) {
    return a + 1;
  },
  async({ a }: { a: number }) {
    return a + 1;
  },
  [key]({ a }: { a: number }) {
    return a + 1;
  },
  *generated() {
    yield 1;
  },
  get read() {
    return 1;
  },
};

class Counter {
  static async count({ a }: { a: number }) {
    return a + 1;
  }
}

function declared({ a }: { a: number }) {
  return a + 1;
}

async function declaredLater({ a }: { a: number }) {
  return a + 1;
}

function problemOf(handler: unknown): string {
  const found = functionSource(handler as Handler);
  return found.ok ? "" : found.problem;
}

describe("functionSource", () => {
  it.each<[string, Handler]>([
    ["an arrow function", ({ a }) => a + 1],
    ["an async arrow function", async ({ a }) => a + 1],
    ["an arrow function with a bare parameter", (given) => given.a + 1],
    [
      "a function expression",
      function ({ a }) {
        return a + 1;
      },
    ],
    ["a function with a default", ({ a = 2 } = { a: 3 }) => a + 1],
    ["a function with a comment at its end", ({ a }) => a + 1 /* one more */],
    ["a declaration", declared],
    ["an async declaration", declaredLater],
    ["a method", methods.plain],
    ["an async method", methods.later],
    ["a method with a quoted name", methods["with spaces"]],
    ["a method named get", methods.get],
    ["a method named async", methods.async],
    ["a static method", Counter.count],
  ])("gives %s as an expression that can be called elsewhere", async (_name, handler) => {
    const found = functionSource(handler);
    const copy = found.ok && (runInNewContext(`(${found.source})`) as Handler);
    expect(copy && (await copy({ a: 1 }))).toBe(2);
  });

  it("gives what esbuild's names need with it", () => {
    const handler = runInNewContext(
      '({ a }) => { const next = __name((n) => n + 1, "next"); return next(a); }',
    ) as Handler;
    const found = functionSource(handler);
    const copy = found.ok && (runInNewContext(found.source) as Handler);
    expect(copy && copy({ a: 1 })).toBe(2);
  });

  it.each<[string, unknown, string]>([
    ["a bound function", declared.bind(null), "has no source text"],
    ["a built-in function", Math.max, "has no source text"],
    ["a class", Counter, "is a class"],
    ["a generator", methods.generated, "is a generator"],
    ["a getter", Object.getOwnPropertyDescriptor(methods, "read")?.get, "is a getter"],
    ["a method with a computed name", methods.computed, "name is computed"],
    ["a function that takes a context", (a: unknown, b: unknown) => [a, b], "more than its input"],
  ])("refuses %s", (_name, handler, problem) => {
    expect(problemOf(handler)).toContain(problem);
  });

  it("never calls the function", () => {
    const handler = () => {
      throw new Error("called");
    };
    expect(functionSource(handler).ok).toBe(true);
  });
});

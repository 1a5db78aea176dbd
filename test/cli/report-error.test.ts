import { expect, it } from "vitest";
import { reportError } from "../../src/cli/report-error.ts";
import { StratagraphError } from "../../src/errors.ts";
import { memoryIo, memorySink } from "./memory-io.ts";

class OutageError extends StratagraphError {
  readonly code = "outage";
  override readonly kind = "run";
  readonly lastTry = { at: "noon", tries: [1, 2] };
  readonly connection = new Map();

  constructor(message = "It is down.") {
    super(message, { cause: new Error("secret") });
  }
}

it("says message and code, and tells an error of the run from wrong use", () => {
  const io = memoryIo({ cwd: "/" });
  expect(reportError(new OutageError(), io, false)).toBe(1);
  expect(io.stderr.take()).toBe("error: It is down. [outage]\n");
  expect(io.stdout.take()).toBe("");
});

it("puts the code behind the first line, and neutralises what acts on a terminal", () => {
  const io = memoryIo({ cwd: "/" });
  reportError(new OutageError("Two things:\n  one\u001B[2J\n  two\u0007"), io, false);
  expect(io.stderr.take()).toBe("error: Two things: [outage]\n  one\n  two␇\n");
});

it("gives JSON the facts of an error, and neither its cause nor what is no data", () => {
  const io = memoryIo({ cwd: "/" });
  expect(reportError(new OutageError(), io, true)).toBe(1);
  expect(JSON.parse(io.stdout.take())).toEqual({
    error: { code: "outage", message: "It is down.", last_try: { at: "noon", tries: [1, 2] } },
  });
  expect(io.stderr.take()).toBe("");
});

it("prints the stack of what nobody threw on purpose", () => {
  const io = memoryIo({ cwd: "/" });
  expect(reportError(new TypeError("a bug"), io, true)).toBe(1);
  expect(JSON.parse(io.stdout.take())).toEqual({ error: { code: "internal", message: "a bug" } });
  expect(io.stderr.take()).toMatch(/^error: TypeError: a bug\n {4}at /);
  expect(reportError("a word", io, false)).toBe(1);
  expect(io.stderr.take()).toBe("error: a word\n");
});

it("wraps what it says on a terminal at words", () => {
  const stderr = memorySink({ isTerminal: true, columns: 30 });
  const io = { ...memoryIo({ cwd: "/", env: { NO_COLOR: "1" } }), stderr };
  reportError(
    new OutageError("The model server cannot be reached:\n  nobody listens on that port"),
    io,
    false,
  );
  expect(stderr.take()).toBe(
    "error: The model server cannot\nbe reached: [outage]\n  nobody listens on that port\n",
  );
});

import { expect, it } from "vitest";
import { httpFailure } from "../../../src/tools/mcp/remote-link.ts";

const withCode = (error: Error, code: string) => Object.assign(error, { cause: { code } });
const lost = { status: null, isLost: true, isUnsent: false, isSessionLost: false };

it("takes a code of the network for a lost connection, whatever error has it", () => {
  expect(httpFailure(withCode(new Error("read failed"), "ECONNRESET"))).toEqual({
    ...lost,
    problem: "the connection broke off (ECONNRESET)",
  });
});

it.each(["fetch failed", "terminated"])("takes fetch's %j for a lost connection", (message) => {
  expect(httpFailure(new TypeError(message))).toEqual({
    ...lost,
    problem: `the connection broke off (${message})`,
  });
});

it("knows that nothing was sent where nothing listens", () => {
  const refused = withCode(new TypeError("fetch failed"), "ECONNREFUSED");
  expect(httpFailure(refused)).toMatchObject({ isLost: true, isUnsent: true });
});

it.each([new Error("terminated"), new TypeError("x is not a function"), "fetch failed"])(
  "is none of %s",
  (thrown) => {
    expect(httpFailure(thrown)).toBeUndefined();
  },
);

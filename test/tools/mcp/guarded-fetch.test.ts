import { describe, expect, it } from "vitest";
import { answeredRequest } from "../../../src/tools/mcp/guarded-fetch.ts";

function answered(line: string, pending: readonly number[]) {
  return answeredRequest({ head: line.slice(0, 512), tail: line.slice(-512) }, new Set(pending));
}

describe("answeredRequest", () => {
  it("finds the id at the start or the end of a line", () => {
    expect(answered('{"jsonrpc":"2.0","id":3,"result":{', [2, 3])).toBe(3);
    expect(answered('{"id": 3, "jsonrpc": "2.0", "result":{', [2, 3])).toBe(3);
    expect(answered('{"result":{"text":"…},"jsonrpc":"2.0","id":2}', [2, 3])).toBe(2);
    expect(answered('{"result":{"text":"…},"id":2,"jsonrpc":"2.0"}', [2, 3])).toBe(2);
  });

  it("finds an id that came back as text", () => {
    expect(answered('{"jsonrpc":"2.0","id":"3","result":{', [2, 3])).toBe(3);
    expect(answered('{"result":{"text":"…},"id":"2","jsonrpc":"2.0"}', [2, 3])).toBe(2);
  });

  it("takes the only request under way where a message has no id that fits", () => {
    expect(answered('{"jsonrpc":"2.0","result":{', [2])).toBe(2);
    expect(answered('{"jsonrpc":"2.0","id":7,"result":{', [2])).toBe(2);
    expect(answered('{"jsonrpc":"2.0","result":{', [2, 3])).toBeUndefined();
    expect(answered('{"jsonrpc":"2.0","result":{', [])).toBeUndefined();
  });

  it("passes over what is no message", () => {
    expect(answered("Server is ready.", [2])).toBeUndefined();
    expect(answered('{"level":"info","id":2}', [2])).toBeUndefined();
  });
});

import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import {
  curlCommand,
  type Operation,
  prepareRequest,
  searchOperations,
  shellQuoted,
} from "../../web/views/reference/operations.ts";

const operation = (of: Partial<Operation>): Operation => ({
  operationId: "getThing",
  method: "get",
  path: "/v1/things/{id}",
  tag: "things",
  responses: {},
  ...of,
});

describe("a request of the reference", () => {
  it("encodes each part of the path, so that none leads to another route", () => {
    const of = (id: unknown) => prepareRequest(operation({}), { path: { id } }, "http://h").url;
    expect(of("a/../b?c#d")).toBe("http://h/v1/things/a%2F..%2Fb%3Fc%23d");
    for (const id of ["..", ".", "%2e%2e", "../.."])
      expect(new URL(of(id)).pathname.startsWith("/v1/things/")).toBe(true);
    expect(of(12)).toBe("http://h/v1/things/12");
  });

  it("leaves out what is not given, and sends a body as JSON", () => {
    const request = prepareRequest(
      operation({
        method: "post",
        path: "/v1/things",
        requestBody: { content: { "application/json": { schema: {} } } },
      }),
      {
        query: { limit: 5, cursor: "", after: null, text: "a&b" },
        headers: { "Idempotency-Key": "k", "If-Match": undefined },
        body: { a: [1] },
      },
      "http://h",
    );
    expect(request).toEqual({
      method: "POST",
      url: "http://h/v1/things?limit=5&text=a%26b",
      headers: { "Content-Type": "application/json", "Idempotency-Key": "k" },
      body: '{"a":[1]}',
    });
  });

  it("is a curl command that a shell reads as it is, whatever is in it", () => {
    const texts = ["it's", '$(touch x) `id` \\ " !', "@/etc/passwd", "--help", "a\nb"];
    for (const text of texts) {
      const said = execFileSync("sh", ["-c", `printf %s ${shellQuoted(text)}`], {
        encoding: "utf8",
      });
      expect(said).toBe(text.replace("\n", ""));
    }
    const request = { method: "POST", url: "http://h/'x'", headers: { A: "b'c" }, body: "@file" };
    expect(curlCommand(request, { hasKey: true })).toBe(
      [
        String.raw`curl -X POST 'http://h/'\''x'\''' \
  -H "Authorization: Bearer $STRATAGRAPH_API_KEY" \
  -H 'A: b'\''c' \
  --data-raw '@file'`,
      ].join("\n"),
    );
  });

  it("is found by words of its path, name, summary and scopes", () => {
    const all = [
      operation({ "x-scopes": ["things:read"] }),
      operation({ operationId: "dropThing", method: "delete", summary: "Drops a thing." }),
    ];
    const found = (search: string) => searchOperations(all, search).map((one) => one.operationId);
    expect(found("")).toEqual(["getThing", "dropThing"]);
    expect(found("THINGS:read")).toEqual(["getThing"]);
    expect(found("delete drops")).toEqual(["dropThing"]);
    expect(found("nothing")).toEqual([]);
  });
});

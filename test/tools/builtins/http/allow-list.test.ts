import { describe, expect, it } from "vitest";
import {
  entryFor,
  HttpAllowError,
  mayCarryHeaders,
  readAllowList,
} from "../../../../src/tools/builtins/http/allow-list.ts";

const allows = (entry: string, url: string) =>
  entryFor(new URL(url), readAllowList([entry])) !== undefined;

describe("readAllowList", () => {
  it.each([
    ["api.example.com", "https://api.example.com/a?b=c", true],
    ["api.example.com", "http://API.example.com./", true],
    ["api.example.com", "https://api.example.com:8443/", false],
    ["api.example.com", "https://api.example.com.evil.org/", false],
    ["api.example.com", "https://evil-api.example.com/", false],
    ["api.example.com", "https://evil.org/?api.example.com", false],
    ["*.example.org", "https://a.b.example.org/", true],
    ["*.example.org", "https://example.org/", false],
    ["*.example.org", "https://notexample.org/", false],
    ["127.0.0.1:8080", "http://127.0.0.1:8080/x", true],
    ["127.0.0.1:8080", "http://127.0.0.1/x", false],
    ["127.0.0.1:8080", "http://2130706433:8080/x", true],
    ["127.0.0.1:8080", "http://0177.0.0.1:8080/x", true],
    ["[::1]:8080", "http://[0:0::1]:8080/x", true],
    ["example.com:443", "https://example.com/", true],
    ["example.com:443", "http://example.com/", false],
    ["example.com:80", "http://example.com/", true],
    ["bücher.example", "https://xn--bcher-kva.example/", true],
    ["https://example.com/api/", "https://example.com/api/v1", true],
    ["https://example.com/api/", "https://example.com/api", true],
    ["https://example.com/api", "https://example.com/api-secret", false],
    ["https://example.com/api/", "http://example.com/api/v1", false],
    ["https://example.com/api/", "https://example.com/api/../admin", false],
    ["https://example.com/api/", "https://example.com/api/%2e%2e/admin", false],
    ["https://example.com/api/", "https://example.com/api/..%2fadmin", false],
    ["https://example.com/api/", "https://example.com/api/..%5Cadmin", false],
    ["https://example.com/api/", "https://example.com/api/..;/admin", false],
    ["https://example.com/api/", "https://example.com/api/a/..;b=c/admin", false],
    ["https://example.com/api/", "https://example.com/api/%2e%2E;/admin", false],
    ["https://example.com/api/", "https://example.com/api/..%3B/admin", false],
    ["https://example.com/api/", "https://example.com/api/%252e%252E/admin", false],
    ["https://example.com/api/", "https://example.com/api/..%252fadmin", false],
    ["https://example.com/api/", "https://example.com/api/..%25255Cadmin", false],
    ["https://example.com/api/", "https://example.com/api/a..;b", true],
    ["https://example.com/api/", "https://example.com/api/100%25;a=b", true],
    ["https://example.com/api/", "https://example.com/api/?a=..;/%252f", true],
    ["example.com", "https://example.com/api/..;/a%2fb", true],
  ])("%s: whether it allows %s is %s", (entry, url, allowed) => {
    expect(allows(entry, url)).toBe(allowed);
  });

  it.each([
    ["", "it names no host"],
    ["*", "it names no host"],
    ["*.com", "a wildcard stands before a domain of two names or more"],
    ["*.127.0.0.1", "a wildcard stands before a domain of two names or more"],
    ["a.*.example.com", "it names no host"],
    ["ftp://example.com", "only http and https are asked"],
    ["user:word@example.com", "it has a user or a password"],
    ["example.com/?a=b", "it has a query or a fragment"],
  ])("refuses the entry %j", (entry, problem) => {
    expect(() => readAllowList([entry])).toThrow(HttpAllowError);
    expect(() => readAllowList([entry])).toThrow(problem);
  });

  it.each([
    [{ Host: "evil.org" }, 'the header "Host" cannot be set'],
    [{ "a b": "c" }, 'the header "a b" cannot be set'],
    [{ "X-Key": "a\r\nb: c" }, "the header X-Key must be a text of one line"],
    [{ "X-Key": "{{secret:}}" }, "the header X-Key has a broken reference"],
  ])("refuses the headers %j", (headers, problem) => {
    expect(() => readAllowList([{ host: "example.com", headers }])).toThrow(problem);
  });

  it.each([
    ["example.com", "https://example.com/", true],
    ["example.com", "http://example.com/", false],
    ["http://example.com", "http://example.com/", true],
    ["localhost:1", "http://localhost:1/", true],
    ["127.0.0.1:1", "http://127.0.0.1:1/", true],
  ])("%s: whether a secret may go to %s is %s", (host, url, may) => {
    const [entry] = readAllowList([{ host, headers: { Key: "{{secret:KEY}}" } }]);
    expect(mayCarryHeaders(entry as never, new URL(url))).toBe(may);
  });
});

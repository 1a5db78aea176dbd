import { describe, expect, it } from "vitest";
import { checkDefinition } from "../../../src/definition/check/check-definition.ts";
import { formatPath } from "../../../src/definition/check/problems.ts";
import { defineAgent } from "../../../src/definition/define-agent.ts";

const input_schema = {
  type: "object",
  properties: { id: { type: "string" }, q: { type: "string" } },
  required: ["id"],
};
const endpoint = "https://api.example.com/orders/{id}";

function problemsOf(transport: object, more: object = {}): readonly string[] {
  const tool = { name: "get_order", description: "Finds one.", input_schema, ...more };
  const written = { name: "desk", tools: [{ ...tool, transport: { type: "http", ...transport } }] };
  const checked = checkDefinition(written);
  if (checked.ok) return [];
  return checked.problems.map(
    ({ path, message, suggestion }) =>
      `${formatPath(path)}: ${message}${suggestion === undefined ? "" : ` (${suggestion}?)`}`,
  );
}

const at = "tools[0].transport";

describe("the check of an HTTP tool", () => {
  it("accepts a tool with all keys, and fills in its defaults", () => {
    const headers = { Authorization: "Bearer {{secret:KEY}}" };
    const response = { select: "data" };
    const { spec } = defineAgent({
      name: "desk",
      tools: [
        {
          name: "get_order",
          display_name: "Order lookup",
          description: "Finds one.",
          input_schema,
          transport: { type: "http", endpoint, query: { q: "{q}" }, headers, response },
          version: "1.2.0",
        },
      ],
    });
    expect(spec.tools[0]).toMatchObject({
      transport: { method: "GET", query: { q: "{q}" }, response: { type: "json", select: "data" } },
    });
  });

  it.each([
    [
      { endpoint: "https://{q}.example.com/{id}" },
      `${at}.endpoint: placeholders stand in the path or the query only, never in the scheme or host`,
    ],
    [
      { endpoint: "{id}://example.com/" },
      `${at}.endpoint: placeholders stand in the path or the query only, never in the scheme or host`,
    ],
    [
      { endpoint: "https://example.com/{order id}" },
      `${at}.endpoint: expected placeholders such as {id}, of letters, digits, _ and -`,
    ],
    [{ endpoint: "ftp://example.com/{id}" }, `${at}.endpoint: expected an http or https URL`],
    [
      { endpoint: "https://user:pass@example.com/{id}" },
      `${at}.endpoint: a URL has no user or password; send them in a header, by reference`,
    ],
    [{ endpoint: `${endpoint}#{id}` }, `${at}.endpoint: a fragment is never sent`],
    [
      { endpoint: `${endpoint}?key={{secret:KEY}}` },
      `${at}.endpoint: a secret in a URL ends up in logs; send it in headers`,
    ],
    [
      { endpoint, query: { key: "{{secret:KEY}}" } },
      `${at}.query.key: a secret in a URL ends up in logs; send it in headers`,
    ],
    [
      { endpoint, method: "POST", body: { key: "{{secret:KEY}}" } },
      `${at}.body: a reference to a secret is not replaced here; send it in headers`,
    ],
    [
      { endpoint: "http://example.com/{id}", headers: { "X-Key": "{{secret:KEY}}" } },
      `${at}.endpoint: headers with a secret are sent over https only, except to an address or localhost`,
    ],
    [
      { endpoint: "https://api.example.com/{id}/{idd}" },
      `${at}.endpoint: the placeholder is not a property of input_schema (id?)`,
    ],
    [
      { endpoint, headers: { "X-Q": "{qq}" } },
      `${at}.headers.X-Q: the placeholder is not a property of input_schema (q?)`,
    ],
    [
      { endpoint: `${endpoint}/{q}` },
      `${at}.endpoint: the URL needs the input "q", which input_schema does not require; require it, or move it to query`,
    ],
    [
      { endpoint, headers: { Host: "evil" } },
      `${at}.headers.Host: the header "Host" cannot be set`,
    ],
    [
      { endpoint, headers: { "X-A": "a\r\nX-B: b" } },
      `${at}.headers.X-A: the header X-A must be a text of one line`,
    ],
    [{ endpoint, body: {} }, `${at}.body: a GET request has no body; use query`],
    [
      { endpoint, response: { type: "text", select: "a" } },
      `${at}.response.select: select is for JSON answers, and response.type is text`,
    ],
    [{ endpoint, method: "TRACE" }, `${at}.method: not one of the allowed values`],
    [{ endpoint, heders: {} }, `${at}.heders: unknown key (headers?)`],
  ])("reports %j", (transport, problem) => {
    expect(problemsOf(transport)).toEqual([problem]);
  });

  it("reports what is wrong with the tool itself, at its place", () => {
    expect(problemsOf({ endpoint }, { version: "one", descripton: "x" })).toEqual([
      "tools[0].descripton: unknown key (description?)",
      "tools[0].version: expected a semantic version such as 1.0.0",
    ]);
    expect(problemsOf({ endpoint }, { input_schema: { type: "string" } })).toEqual([
      'tools[0].input_schema.type: expected a JSON Schema of type "object"',
    ]);
    expect(problemsOf({ type: "sse", endpoint })).toEqual([
      `${at}.type: not one of the allowed values`,
    ]);
  });

  it("knows the tool's name: for rails, workflow nodes and clashes", () => {
    const tool = { name: "get_order", description: "Finds one.", input_schema };
    const entry = { ...tool, transport: { type: "http", endpoint } };
    const rails = { tool_rails: { require_approval: ["get_order"], allowed_tools: ["get_ordr"] } };
    const checked = checkDefinition({
      name: "desk",
      tools: [entry, "get_order"],
      guardrail_config: rails,
    });
    expect(checked.ok ? [] : checked.problems.map(({ message }) => message)).toEqual([
      '"get_order" is already named by tools[0]',
      "not one of the definition's tools",
    ]);
  });
});

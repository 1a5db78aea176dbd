import type { IncomingMessage, ServerResponse } from "node:http";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { httpToolSchema, type DataToolSpecInput } from "../../src/definition/schema/data-tools.ts";
import type { StatelessTool } from "../../src/definition/tool/tool.ts";
import { callStateless } from "../../src/tools/call.ts";
import { createHttpTool, type HttpToolOptions } from "../../src/tools/http-tool.ts";
import { createSecrets } from "../../src/tools/secrets.ts";
import { httpServer } from "../helpers/http-server.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

type Answer = (request: Seen, response: ServerResponse) => void;

const secretValue = "k3y-0f-the-orders-desk";
let seen: Seen[] = [];
let answer: Answer = () => {};

const serve = (request: IncomingMessage, response: ServerResponse) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { method = "", url = "", headers } = request;
    const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
    seen.push(one);
    answer(one, response);
  });
};
const host = await httpServer(serve);
const otherHost = await httpServer(serve);

const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };

const text = { type: "string" } as const;

function spec(
  transport: Partial<DataToolSpecInput["transport"]>,
  more: Partial<DataToolSpecInput> = {},
): DataToolSpecInput {
  return {
    name: "get_order",
    description: "Finds an order.",
    input_schema: {
      type: "object",
      properties: { id: text, q: text, tags: { type: "array" }, note: {} },
      required: ["id"],
    },
    transport: { type: "http", endpoint: `http://${host}/orders/{id}`, ...transport },
    ...more,
  };
}

async function call(
  given: DataToolSpecInput,
  args: Record<string, unknown>,
  options: HttpToolOptions & { readonly clock?: ManualClock } = {},
) {
  seen = [];
  const { clock = new ManualClock(), httpAllow = [host], ...rest } = options;
  const tool = await createHttpTool(httpToolSchema.parse(given), { httpAllow, ...rest });
  const secrets = createSecrets({
    get: (name) => (name === "ORDERS_KEY" ? secretValue : undefined),
  });
  const { signal } = new AbortController();
  const { result } = await callStateless(
    tool as StatelessTool,
    { id: "c1", name: tool.definition.name, args },
    { signal, clock, secrets, random: () => 0 },
  );
  return result;
}

describe("the request of an HTTP tool", () => {
  it("puts inputs into the path, the query and the headers, and resolves secrets in headers", async () => {
    answer = json({ id: "a b", total: 3 });
    const result = await call(
      spec({
        endpoint: `http://${host}/orders/{id}?v={id}`,
        query: { verbose: "true", q: "{q}", tag: "{tags}" },
        headers: {
          Authorization: "Bearer {{secret:ORDERS_KEY}}",
          "X-Note": "{q}",
          "X-None": "{note}",
        },
      }),
      { id: "a b/ü?#&", q: "x=1&y", tags: ["a", "b&c"] },
    );
    expect(result).toMatchObject({ outcome: "success", result: { id: "a b", total: 3 } });
    const [{ method, url, headers } = {} as Seen] = seen;
    expect(method).toBe("GET");
    expect(url).toBe(
      "/orders/a%20b%2F%C3%BC%3F%23%26?v=a+b%2F%C3%BC%3F%23%26&verbose=true&q=x%3D1%26y&tag=a&tag=b%26c",
    );
    expect(headers).toMatchObject({
      authorization: `Bearer ${secretValue}`,
      "x-note": "x=1&y",
      accept: "application/json",
    });
    expect(headers).not.toHaveProperty("x-none");
    expect(headers).not.toHaveProperty("cookie");
  });

  it("sends the inputs that are used nowhere else: in the query of GET, as JSON otherwise", async () => {
    answer = json(null);
    await call(spec({}), { id: "7", q: "x", tags: ["a"] });
    expect(seen[0]).toMatchObject({ url: "/orders/7?q=x&tags=a", body: "" });
    await call(spec({ method: "POST" }), { id: "7", q: "x", tags: ["a"] });
    expect(seen[0]).toMatchObject({ method: "POST", url: "/orders/7" });
    expect(seen[0]?.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(seen[0]?.body ?? "")).toEqual({ q: "x", tags: ["a"] });
  });

  it("fills a body: values keep their type, texts are joined, what is left out is left out", async () => {
    answer = json(null);
    const body = { items: "{tags}", title: "Order {id}", note: "{note}", fixed: [1, "{q}"] };
    await call(spec({ method: "PUT", body }), { id: "7", tags: [{ n: 1 }] });
    expect(JSON.parse(seen[0]?.body ?? "")).toEqual({
      items: [{ n: 1 }],
      title: "Order 7",
      fixed: [1],
    });
  });

  it("encodes a map as a form if its content type says so", async () => {
    answer = json(null);
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    await call(spec({ method: "POST", headers }), { id: "7", q: "a&b=c", tags: ["x", "y"] });
    expect(seen[0]?.body).toBe("q=a%26b%3Dc&tags=x&tags=y");
  });

  it("never reads an input as a template", async () => {
    answer = json(null);
    const given = "{{secret:ORDERS_KEY}} {id}";
    await call(
      spec({ method: "POST", headers: { "X-Q": "{q}" }, body: { q: "{q}", t: "is {q}" } }),
      { id: given, q: given },
    );
    expect(decodeURIComponent(seen[0]?.url ?? "")).toBe(`/orders/${given}`);
    expect(seen[0]?.headers["x-q"]).toBe(given);
    expect(JSON.parse(seen[0]?.body ?? "")).toEqual({ q: given, t: `is ${given}` });
  });

  it.each([
    ["..", "a segment"],
    [".", "a segment"],
    ["../../admin", "a segment"],
    ["..\\admin", "a segment"],
    ["%2e%2e", "a segment"],
    ["x/%252e%252e/admin", "a segment"],
    ["..;a=b", "a segment"],
    ["", "is empty"],
    ["a\r\nb", "a control character"],
    ["\ud800", "half a character"],
  ])("refuses %j in a path", async (id, problem) => {
    const result = await call(spec({ endpoint: `http://${host}/orders/{id}/lines` }), { id });
    expect(result).toMatchObject({ outcome: "error" });
    expect(result.error).toContain(problem);
    expect(seen).toEqual([]);
  });

  it("keeps host and path for every input", async () => {
    answer = json(null);
    const odd = fc.string({ unit: fc.constantFrom(...Array.from("./\\%2eE:@?#&;\r\n {}abü")) });
    await fc.assert(
      fc.asyncProperty(odd, odd, async (id, q) => {
        const endpoint = `http://${host}/a/{id}.{id}/z?x={q}`;
        const given = { type: "object", properties: { id: text, q: text }, required: ["id", "q"] };
        await call(spec({ endpoint }, { input_schema: given }), { id, q });
        for (const { url, headers } of seen) {
          expect(headers.host).toBe(host);
          expect(url.split("?")[0]).toMatch(/^\/a\/[^/]+\/z$/);
          expect(new URL(url, "http://h").searchParams.getAll("x")).toEqual([q]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("refuses a line break in a header, before it connects", async () => {
    const result = await call(spec({ headers: { "X-Q": "a {q}" } }), {
      id: "1",
      q: "x\r\nHost: evil",
    });
    expect(result).toMatchObject({
      outcome: "error",
      error: expect.stringContaining("no header can have"),
    });
    expect(seen).toEqual([]);
  });

  it("bounds the URL and the body", async () => {
    const long = "x".repeat(8_192);
    expect((await call(spec({}), { id: long })).error).toContain("at most 8,192 are sent");
    const post = spec({ method: "POST" });
    expect((await call(post, { id: "1", q: long.repeat(129) })).error).toContain(
      "at most 1,048,576 are sent",
    );
    expect(seen).toEqual([]);
  });
});

describe("the address check of an HTTP tool", () => {
  it("calls a private address only if the operator allows it", async () => {
    answer = json(1);
    const result = await call(spec({}), { id: "1" }, { httpAllow: [] });
    expect(result).toMatchObject({ outcome: "failure" });
    expect(result.error).toContain("leads to a loopback address");
    expect(seen).toEqual([]);
  });

  it.each(["10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1"])(
    "refuses a name that leads to %s",
    async (address) => {
      const given = spec({ endpoint: "https://api.example.com/{id}" });
      const result = await call(
        given,
        { id: "1" },
        { httpAllow: [], lookup: async () => [address] },
      );
      expect(result.error).toMatch(/^api\.example\.com leads to /);
    },
  );

  it("follows redirects within the origin, with its headers", async () => {
    answer = ({ url }, response) => {
      if (url === "/moved") return json({ ok: true })({} as Seen, response);
      response.writeHead(302, { location: "/moved" }).end();
    };
    const headers = { Authorization: "{{secret:ORDERS_KEY}}" };
    const result = await call(spec({ headers }), { id: "1" });
    expect(result.result).toEqual({ ok: true });
    expect(seen.map((one) => [one.url, one.headers.authorization])).toEqual([
      ["/orders/1", secretValue],
      ["/moved", secretValue],
    ]);
  });

  it("follows a redirect to another origin only if it is allowed, and without headers", async () => {
    answer = ({ headers }, response) => {
      if (headers.host === otherHost) return json("there")({} as Seen, response);
      response.writeHead(307, { location: `http://${otherHost}/x` }).end();
    };
    const given = spec({ headers: { Authorization: "{{secret:ORDERS_KEY}}", "X-Tenant": "{id}" } });
    const refused = await call(given, { id: "1" });
    expect(refused.error).toContain(`The redirect to http://${otherHost} is not followed`);
    expect(seen).toHaveLength(1);
    const followed = await call(given, { id: "1" }, { httpAllow: [host, otherHost] });
    expect(followed.result).toBe("there");
    expect(seen[1]?.headers).not.toHaveProperty("authorization");
    expect(seen[1]?.headers).not.toHaveProperty("x-tenant");
  });

  it("repeats no request with a body at a redirect, and follows no endless ones", async () => {
    answer = (_request, response) => response.writeHead(308, { location: "/again" }).end();
    expect((await call(spec({ method: "POST" }), { id: "1" })).error).toContain("for GET only");
    expect(seen).toHaveLength(1);
    expect((await call(spec({}), { id: "1" })).error).toContain("more than 5 redirects");
    expect(seen).toHaveLength(6);
  });
});

describe("the answer of an HTTP tool", () => {
  it("selects a part by JMESPath, and checks it by output_schema", async () => {
    answer = json({ data: { orders: [{ n: 1 }, { n: 2 }] } });
    const select = "data.orders[].n";
    const output_schema = { type: "array", items: { type: "integer" } };
    const given = spec({ response: { select } }, { output_schema });
    expect((await call(given, { id: "1" })).result).toEqual([1, 2]);
    answer = json({ data: { orders: [{ n: "one" }] } });
    expect(await call(given, { id: "1" })).toMatchObject({ outcome: "error" });
  });

  it("refuses a select that is no JMESPath when the tool is made", async () => {
    const made = createHttpTool(httpToolSchema.parse(spec({ response: { select: "a[" } })));
    await expect(made).rejects.toThrow("The query is no JMESPath");
  });

  it("reads an empty answer as null, and text as text", async () => {
    answer = (_request, response) => response.writeHead(204).end();
    expect(await call(spec({}), { id: "1" })).toMatchObject({ outcome: "success", result: null });
    answer = (_request, response) => response.writeHead(200).end("<p>hi</p>");
    const given = spec({ response: { type: "text" } });
    expect((await call(given, { id: "1" })).result).toBe("<p>hi</p>");
  });

  it("gives an error for an answer that is not JSON, and does not ask again", async () => {
    answer = (_request, response) => response.end("<html>Login</html>");
    const given = spec({}, { execution: { retry: { max_retries: 3 } } });
    const result = await call(given, { id: "1" });
    expect(result).toMatchObject({ outcome: "error" });
    expect(result.error).toContain("which is not JSON that begins with: <html>Login");
    expect(seen).toHaveLength(1);
  });

  it("gives a failure with the beginning of the body for a status of 400 or more", async () => {
    answer = json({ error: `no order for ${secretValue}`, more: "x".repeat(5_000) }, 404);
    const headers = { Authorization: "Bearer {{secret:ORDERS_KEY}}" };
    const result = await call(spec({ headers }), { id: "1" });
    expect(result.outcome).toBe("failure");
    expect(result.error).toContain("status 404");
    expect(result.error).toContain("no order for {{secret:ORDERS_KEY}}");
    expect(result.error?.length).toBeLessThan(2_100);
  });

  it("removes a secret from results and errors, also where a text would be cut within it", async () => {
    const headers = { Authorization: "Bearer {{secret:ORDERS_KEY}}" };
    answer = json({ echo: secretValue });
    expect((await call(spec({ headers }), { id: "1" })).result).toEqual({
      echo: "{{secret:ORDERS_KEY}}",
    });
    for (let room = 1_900; room < 2_000; room += 3) {
      answer = (_request, response) =>
        response.writeHead(500).end(`${"x".repeat(room)}${secretValue}`);
      const { error } = await call(spec({ method: "POST", headers }), { id: "1" });
      expect(error).not.toContain(secretValue.slice(0, 4));
    }
  });
});

describe("retries of an HTTP tool", () => {
  const retry = { max_retries: 2, backoff_ms: 1_000 };

  /** Fails with each of the statuses in turn, then succeeds; returns the waits between the tries. */
  async function retried(
    given: DataToolSpecInput,
    failures: readonly (readonly [status: number, after?: string])[],
  ) {
    const waits: number[] = [];
    class SkippingClock extends ManualClock {
      override after(ms: number, callback: () => void) {
        // Of the timers, those of waits; a time limit of 30 s never passes here.
        if (ms === 30_000) return () => {};
        waits.push(ms);
        queueMicrotask(callback);
        return () => {};
      }
    }
    const left = [...failures];
    answer = (request, response) => {
      const [status, after] = left.shift() ?? [200];
      json("done", status, after === undefined ? {} : { "retry-after": after })(request, response);
    };
    const result = await call(given, { id: "1" }, { clock: new SkippingClock() });
    return { result, waits };
  }

  it.each([408, 429, 500, 502, 503])("asks again after %d if idempotent", async (status) => {
    const { result } = await retried(spec({}, { execution: { retry } }), [[status]]);
    expect(result).toMatchObject({ outcome: "success", retries: 1 });
  });

  it.each([
    [408, 1],
    [500, 1],
    [503, 1],
    [429, 2],
  ])("calls a POST that failed with %d %d times", async (status, times) => {
    await retried(spec({ method: "POST" }, { execution: { retry } }), [[status]]);
    expect(seen).toHaveLength(times);
  });

  it("never asks again after 404", async () => {
    const { result } = await retried(spec({}, { execution: { retry } }), [[404]]);
    expect(result.outcome).toBe("failure");
    expect(seen).toHaveLength(1);
  });

  it("waits as long as Retry-After says, up to 60 s", async () => {
    const given = spec({}, { execution: { retry } });
    expect((await retried(given, [[503, "7"]])).waits).toEqual([7_000]);
    const { result, waits } = await retried(given, [[503, "61"]]);
    expect(result.outcome).toBe("failure");
    expect(waits).toEqual([]);
    expect(seen).toHaveLength(1);
  });
});

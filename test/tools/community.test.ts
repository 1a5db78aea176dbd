import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { communitySchema, type CommunitySpecInput } from "../../src/definition/schema/servers.ts";
import { CommunityPackageError, CommunityToolError } from "../../src/tools/registry.ts";
import { loadCommunityTool } from "../../src/tools/community.ts";
import { MissingSecretError } from "../../src/tools/missing-secret-error.ts";
import { createSecrets } from "../../src/tools/secrets.ts";
import { callBuiltin } from "../helpers/builtin-call.ts";
import { httpServer } from "../helpers/http-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const key = "s3cret-and-long-enough";
const secrets = createSecrets({ get: (name) => (name === "KEY" ? key : undefined) });
const load = (spec: CommunitySpecInput, from?: string) =>
  loadCommunityTool(communitySchema.parse(spec), { secrets, ...(from !== undefined && { from }) });

interface Seen {
  readonly url: string;
  readonly authorization: string | undefined;
}

const seen: Seen[] = [];
const host = await httpServer((request, response) => {
  seen.push({ url: request.url ?? "", authorization: request.headers.authorization });
  const asked = new URL(request.url ?? "", "http://loopback");
  response.setHeader("content-type", "application/json");
  if (asked.pathname === "/search") {
    const results = [{ title: "Zeppelin", url: "https://z.example", content: "An airship." }];
    response.end(JSON.stringify({ results, answers: [], infoboxes: [], suggestions: [] }));
  } else if (asked.searchParams.has("srsearch")) {
    response.end(JSON.stringify({ query: { search: [{ title: "Airship" }] } }));
  } else {
    const pages = { 1: { title: "Airship", extract: "Lighter than air." } };
    response.end(JSON.stringify({ query: { pages } }));
  }
});

describe("loadCommunityTool", () => {
  it("makes a tool of the package's, which needs no network to be made", async () => {
    const tool = await load({ tool: "calculator" });
    expect(tool.definition).toMatchObject({
      name: "calculator",
      display_name: "Calculator",
      permissions: [],
      requires_approval: false,
      execution: { timeout_ms: 30_000, idempotent: false },
      input_schema: { type: "object", properties: { input: { type: "string" } } },
    });
    expect((await callBuiltin(tool, { input: "6 * 7" })).result).toBe("42");
    expect((await callBuiltin(tool, { input: 7 })).outcome).toBe("error");
  });

  it("passes options on to its constructor", async () => {
    const tool = await load({
      tool: "wikipedia_query_run",
      options: { baseUrl: `http://${host}/w/api.php`, topKResults: 1 },
    });
    expect(tool.definition.name).toBe("wikipedia-api");
    expect((await callBuiltin(tool, { input: "airships" })).result).toBe(
      "Page: Airship\nSummary: Lighter than air.",
    );
  });

  it("puts secrets in the place of their references, however deep, and not in the definition", async () => {
    const tool = await load({
      tool: "searxng_search",
      options: { apiBase: `http://${host}`, headers: { Authorization: "Bearer {{secret:KEY}}" } },
    });
    const { result } = await callBuiltin(tool, { input: "zeppelin" });
    expect(result).toContain("An airship.");
    expect(seen.at(-1)?.authorization).toBe(`Bearer ${key}`);
    expect(JSON.stringify(tool)).not.toContain(key);
  });

  it("gives values one by one to constructors that take them so", async () => {
    const tool = await load({
      tool: "serpapi",
      options: { apiKey: "{{secret:KEY}}", baseUrl: `http://${host}` },
    });
    await callBuiltin(tool, { input: "zeppelin" });
    expect(seen.at(-1)?.url).toContain(`api_key=${key}`);
    await expect(load({ tool: "serpapi", options: { key: "{{secret:KEY}}" } })).rejects.toThrow(
      'SerpAPI takes apiKey, params, baseUrl, and no "key"',
    );
  });

  it("applies what a definition says of calling it", async () => {
    const { definition } = await load({
      tool: "calculator",
      execution: { timeout_ms: 5, retry: { max_retries: 2 }, idempotent: true },
      permissions: ["network:search"],
      requires_approval: true,
    });
    expect(definition).toMatchObject({
      execution: {
        timeout_ms: 5,
        retry: { max_retries: 2, backoff_ms: 500 },
        idempotent: true,
        max_result_bytes: 262_144,
      },
      permissions: [{ name: "network:search", required: true }],
      requires_approval: true,
    });
    expect(Object.isFrozen(definition)).toBe(true);
  });

  it("refuses secrets that are missing, and takes them out of what a constructor throws", async () => {
    await expect(
      load({ tool: "wolframalpha", options: { appid: "{{secret:OTHER}}" } }),
    ).rejects.toThrow(MissingSecretError);
    const loaded = load({ tool: "fussy", options: { apiKey: "{{secret:KEY}}" } }, fakePackage());
    await expect(loaded).rejects.toThrow(
      'Community tool "fussy": it cannot be made with these options: no good: {{secret:KEY}}',
    );
    const thrown = await loaded.catch((error: unknown) => error as Error);
    expect(thrown).toBeInstanceOf(CommunityToolError);
    expect(`${String((thrown as Error).stack)}${String((thrown as Error).cause)}`).not.toContain(
      key,
    );
  });

  it("says what a constructor misses", async () => {
    await expect(load({ tool: "brave_search" })).rejects.toThrow(
      /Community tool "brave_search": it cannot be made with these options: .*API key/,
    );
  });

  it.each([
    ["wikipedia", "Did you mean wikipedia_query_run?"],
    ["calculater", "Did you mean calculator?"],
    ["google_search", "google_custom_search"],
    ["nothing_like_it", "There are: aiplugin, "],
  ])("names near modules where there is no %s", async (tool, hint) => {
    await expect(load({ tool })).rejects.toThrow(CommunityToolError);
    await expect(load({ tool })).rejects.toThrow(hint);
  });

  it("names the package that is missing, and how to install it", async () => {
    await expect(load({ tool: "duckduckgo_search" })).rejects.toMatchObject({
      code: "community_package",
      packageName: "duck-duck-scrape",
      message: expect.stringContaining("npm install duck-duck-scrape"),
    });
    const empty = pathToFileURL(`${tempFolder()}/index.js`).href;
    const loaded = load({ tool: "calculator" }, empty);
    await expect(loaded).rejects.toThrow(CommunityPackageError);
    await expect(loaded).rejects.toThrow("npm install @langchain/community@^1.1.29");
  });

  it("wants a class to be named where a module has several, and takes that", async () => {
    const from = fakePackage();
    await expect(load({ tool: "pair" }, from)).rejects.toThrow(
      'its module has several tool classes; name one with "class": One, Two.',
    );
    await expect(load({ tool: "pair", class: "Three" }, from)).rejects.toThrow(
      'its module has no tool class "Three". It has: One, Two.',
    );
    await expect(load({ tool: "none" }, from)).rejects.toThrow("its module has no tool class.");
    const tool = await load({ tool: "pair", class: "Two" }, from);
    expect(tool.definition).toMatchObject({
      name: "two_for_you_",
      description: "The tool pair of @langchain/community.",
    });
    expect((await callBuiltin(tool, {})).result).toBe("two");
  });

  it("says that a module does not load", async () => {
    await expect(load({ tool: "broken" }, fakePackage())).rejects.toThrow(
      'Community tool "broken": its module cannot be loaded: broken on purpose',
    );
  });
});

/** A package of the same name with tools that the real one does not have. */
function fakePackage(): string {
  const modules = {
    pair: `export class One { invoke() {} }
      export class Two {
        name = "two for you!";
        description = "";
        schema = { type: "object", properties: {} };
        async invoke() { return "two"; }
      }`,
    none: "export const helper = () => 1;",
    fussy: `export class Fussy {
        constructor({ apiKey }) { throw new Error("no good: " + apiKey); }
        invoke() {}
      }`,
    broken: 'throw new Error("broken on purpose");',
  };
  const exports = Object.fromEntries(
    Object.keys(modules).map((name) => [
      `./tools/${name}`,
      { import: { default: `./${name}.mjs` } },
    ]),
  );
  const at = "node_modules/@langchain/community";
  const folder = tempFolder({
    [`${at}/package.json`]: JSON.stringify({
      name: "@langchain/community",
      version: "0.0.0",
      exports: { ...exports, "./package.json": "./package.json" },
    }),
    ...Object.fromEntries(
      Object.entries(modules).map(([name, text]) => [`${at}/${name}.mjs`, text]),
    ),
  });
  return pathToFileURL(`${folder}/index.js`).href;
}

import { mkdirSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { createServer } from "../../src/create-server.ts";
import { InspectorPage } from "../../src/server/inspector/inspector-page.ts";
import { useDatabase } from "../helpers/databases.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** A built page. */
function builtPage(): URL {
  const folder = tempFolder();
  mkdirSync(`${folder}/assets`);
  writeFileSync(
    `${folder}/index.html`,
    "<!doctype html><html><head><title>t</title></head></html>",
  );
  writeFileSync(`${folder}/assets/index-1.js`, "export {};");
  writeFileSync(`${folder}/icon.svg`, "<svg/>");
  writeFileSync(`${folder}/.env`, "secret");
  return pathToFileURL(`${folder}/`);
}

const get = (page: InspectorPage, path: string, headers = {}) =>
  page.respond(new Request(`http://h${path}`, { headers }));

describe("The inspector's page", () => {
  const page = new InspectorPage("/inspector", builtPage());

  it("is the same for all paths below its own, with a base of where it is mounted", async () => {
    for (const [path, base] of [
      ["/inspector/", "/inspector/"],
      ["/inspector/threads/a%2Fb", "/inspector/"],
      ["/team/inspector/threads", "/team/inspector/"],
    ] as const) {
      const answer = get(page, path);
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain(`<head><base href="${base}"><title>`);
      expect(answer.headers.get("cache-control")).toBe("no-cache");
    }
  });

  it("has a policy without inline scripts, foreign requests and frames", () => {
    const policy = get(page, "/inspector/").headers.get("content-security-policy") ?? "";
    expect(policy.split("; ").toSorted()).toEqual([
      "base-uri 'self'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src 'self' data: blob:",
      "require-trusted-types-for 'script'",
      "script-src 'self'",
      "style-src 'self'",
      "trusted-types 'none'",
    ]);
  });

  it("serves its files for ever, compressed, and nothing else of the disk", async () => {
    const file = get(page, "/inspector/assets/index-1.js", { "accept-encoding": "br, gzip" });
    expect(file.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(file.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(file.headers.get("content-encoding")).toBe("gzip");
    const etag = file.headers.get("etag") ?? "";
    expect(get(page, "/inspector/assets/index-1.js", { "if-none-match": etag }).status).toBe(304);
    for (const tags of [`"other", W/${etag}`, "*"])
      expect(get(page, "/inspector/assets/index-1.js", { "if-none-match": tags }).status).toBe(304);
    expect(get(page, "/inspector/assets/index-2.js").status).toBe(404);
    // Only the names of assets change with their content.
    expect(get(page, "/inspector/icon.svg").headers.get("cache-control")).toBe("no-cache");
    for (const path of ["/inspector/.env", "/inspector/..%2f..%2fetc/passwd", "/inspector/%00"])
      expect(await get(page, path).text()).toContain("<title>t</title>");
  });

  it("writes no prefix of a client into the page as markup", async () => {
    const text = await get(page, '/"><script>alert(1)</script>/inspector/').text();
    expect(text).not.toContain("<script>");
  });

  it("says how it is built where it is not, and is there once it is", async () => {
    const folder = tempFolder();
    const later = new InspectorPage("/inspector", pathToFileURL(`${folder}/`));
    expect(await get(later, "/inspector/").text()).toContain("npm run build:inspector");
    writeFileSync(`${folder}/index.html`, "<head></head>");
    expect(await get(later, "/inspector/").text()).toContain('<base href="/inspector/">');
  });

  it("has a path of one segment", () => {
    for (const path of ["inspector", "/", "/a/b", "/A"])
      expect(() => new InspectorPage(path)).toThrow(TypeError);
  });
});

describe("A server with the inspector", () => {
  const database = useDatabase("pglite");
  const start = (options = {}) =>
    createServer({ database: database.shared, development: true, concurrency: 0, ...options });

  it("leads from its root to the page, and keeps its headers of security", async () => {
    const server = await start();
    const root = await server.fetch(new Request("http://127.0.0.1/"));
    expect([root.status, root.headers.get("location")]).toEqual([302, "/inspector/"]);
    const bare = await server.fetch(new Request("http://127.0.0.1/inspector"));
    expect([bare.status, bare.headers.get("location")]).toEqual([308, "inspector/"]);
    const page = await server.fetch(new Request("http://127.0.0.1/inspector/threads"));
    expect(page.headers.get("x-frame-options")).toBe("DENY");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    const posted = new Request("http://127.0.0.1/inspector/", { method: "POST" });
    expect((await server.fetch(posted)).status).toBe(404);
    const foreign = new Request("http://evil.example/inspector/", {
      headers: { host: "evil.example" },
    });
    expect((await server.fetch(foreign)).status).toBe(403);
    await server.close(0);
  });

  it("has it at another path in another app, and leaves that app's paths alone", async () => {
    const server = await start({ inspector: "/stratagraph" });
    const outer = new Hono();
    outer.route("/tools", server.app);
    outer.get("/shop/stratagraph", (context) => context.text("a shop"));
    const page = await outer.request("/tools/stratagraph/inbox");
    expect(await page.text()).toContain('<base href="/tools/stratagraph/">');
    const shop = await outer.request("/shop/stratagraph");
    expect(await shop.text()).toBe("a shop");
    expect(shop.headers.get("content-security-policy")).toBeNull();
    await server.close(0);
  });

  it("may have none", async () => {
    const server = await start({ inspector: null });
    for (const path of ["/", "/inspector/"])
      expect((await server.fetch(new Request(`http://127.0.0.1${path}`))).status).toBe(404);
    await server.close(0);
  });
});

import { describe, expect, it } from "vitest";
import { serverSchema } from "../../../src/definition/schema/servers.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { names, publishedServer, toolNamed, useToolServers } from "./use-servers.ts";

const setUp = useToolServers();

const everything = serverSchema.parse({
  name: "everything",
  transport: "stdio",
  command: process.execPath,
  args: [publishedServer("server-everything"), "stdio"],
});

describe("server-everything over stdio", () => {
  it("lists its tools as definitions", async () => {
    const { servers } = setUp();
    const found = await servers.connect(everything);
    expect(found.problems).toEqual([]);
    expect(names(found)).toContain("get-structured-content");
    expect(toolNamed(found, "echo").definition).toMatchObject({
      name: "echo",
      display_name: "Echo Tool",
      input_schema: { type: "object", required: ["message"] },
      transport: { type: "stdio", server: "everything" },
      persistence: "none",
      execution: { timeout_ms: 30_000, idempotent: false },
      permissions: [],
      requires_approval: false,
      is_builtin: false,
    });
    expect(servers.status()).toEqual([
      { name: "everything", transport: "stdio", state: "connected", restarts: 0, problem: null },
    ]);
  });

  it("gives text as text, structured content as it is, and describes the rest", async () => {
    const { servers, call } = setUp();
    const found = await servers.connect(everything);
    expect(await call(found, "echo", { message: "hi" })).toMatchObject({
      outcome: "success",
      result: "Echo: hi",
    });
    const weather = await call(found, "get-structured-content", { location: "Chicago" });
    expect(weather.result).toEqual({
      temperature: 36,
      conditions: "Light rain / drizzle",
      humidity: 82,
    });
    expect((await call(found, "get-tiny-image")).result).toEqual([
      { type: "text", text: "Here's the image you requested:" },
      { type: "image", mimeType: "image/png", bytes: 4_033 },
      { type: "text", text: "The image above is the MCP logo." },
    ]);
    const links = await call(found, "get-resource-links", { count: 1 });
    expect(links.result).toEqual([
      expect.objectContaining({ type: "text" }),
      {
        type: "resource_link",
        uri: "demo://resource/dynamic/blob/1",
        mimeType: "text/plain",
      },
    ]);
    const file = await call(found, "get-resource-reference", {
      resourceType: "Text",
      resourceId: 1,
    });
    expect(file.result).toContainEqual({
      type: "resource",
      uri: "demo://resource/dynamic/text/1",
      mimeType: "text/plain",
      text: expect.stringContaining("Resource 1"),
    });
  });

  it("checks arguments before a call is sent", async () => {
    const { servers, call } = setUp();
    const found = await servers.connect(everything);
    expect(await call(found, "get-sum", { a: 1 })).toMatchObject({
      outcome: "error",
      error: expect.stringContaining('Bad arguments for tool "get-sum": b:'),
    });
  });

  it("lets a server's settings and those of single tools hold", async () => {
    const { servers } = setUp();
    const found = await servers.connect(
      serverSchema.parse({
        ...everything,
        tools: ["echo", "get-env"],
        prefix: "every_",
        permissions: ["every:use"],
        execution: { timeout_ms: 5_000, idempotent: true },
        overrides: {
          "get-env": {
            description: "Tells secrets.",
            permissions: ["env:read"],
            requires_approval: true,
            execution: { timeout_ms: 100 },
          },
        },
      }),
    );
    expect(names(found)).toEqual(["every_echo", "every_get-env"]);
    expect(toolNamed(found, "every_echo").definition).toMatchObject({
      permissions: [{ name: "every:use", required: true }],
      execution: { timeout_ms: 5_000, idempotent: true },
      requires_approval: false,
    });
    expect(toolNamed(found, "every_get-env").definition).toMatchObject({
      description: "Tells secrets.",
      permissions: [{ name: "env:read", required: true }],
      execution: { timeout_ms: 100, idempotent: true },
      requires_approval: true,
    });
  });
});

describe("server-filesystem over stdio", () => {
  it("reads a file, and fails for a path outside of its folder", async () => {
    const folder = tempFolder({ "note.txt": "hello" });
    const { servers, call } = setUp();
    const found = await servers.connect(
      serverSchema.parse({
        name: "files",
        transport: "stdio",
        command: process.execPath,
        args: [publishedServer("server-filesystem"), folder],
      }),
    );
    const read = await call(found, "read_text_file", { path: `${folder}/note.txt` });
    expect(read).toMatchObject({ outcome: "success", result: { content: "hello" } });
    expect(await call(found, "read_text_file", { path: "/etc/passwd" })).toMatchObject({
      outcome: "failure",
      error: expect.stringContaining("Access denied"),
    });
  });
});

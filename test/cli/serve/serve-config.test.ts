import { describe, expect, it } from "vitest";
import { readServeConfig } from "../../../src/cli/serve/serve-config.ts";
import { useFolders } from "../folder.ts";

const folder = useFolders();

describe("the settings of serve", () => {
  it("come from options, then the environment, then the file", async () => {
    const cwd = await folder({ "stratagraph.yaml": "host: ::1\nport: 1\nlog_level: warn\n" });
    const env = {
      STRATAGRAPH_PORT: "2",
      PORT: "9",
      STRATAGRAPH_LOG_LEVEL: "error",
      STRATAGRAPH_DEV: "1",
    };
    const config = await readServeConfig({ logLevel: "debug" }, { env, cwd });
    expect(config).toEqual({ host: "::1", port: 2, log_level: "debug", dev: true });
  });

  it("have defaults without a file, and take PORT", async () => {
    const cwd = await folder({});
    expect(await readServeConfig({}, { env: {}, cwd })).toEqual({});
    expect(await readServeConfig({}, { env: { PORT: "80" }, cwd })).toEqual({ port: 80 });
  });

  it("have those of runs: models, hosts, connections, concurrency and the time to end", async () => {
    const cwd = await folder({ "stratagraph.yaml": "concurrency: 3\nhttp_allow: [a.example]\n" });
    const env = {
      STRATAGRAPH_CONCURRENCY: "0",
      STRATAGRAPH_MODEL: "offline:rules",
      STRATAGRAPH_HTTP_ALLOW: "b.example, c.example,",
      STRATAGRAPH_DATABASE_CONNECTIONS: "5",
    };
    expect(await readServeConfig({ shutdownSeconds: 2 }, { env, cwd })).toEqual({
      concurrency: 0,
      model: "offline:rules",
      http_allow: ["b.example", "c.example"],
      database_connections: 5,
      shutdown_seconds: 2,
    });
    const given = readServeConfig({ concurrency: 1001 }, { env: {}, cwd });
    await expect(given).rejects.toThrow("--concurrency");
  });

  it("name every problem of the file with its line", async () => {
    const cwd = await folder({ "s.yaml": "port: x\nhots: a\nlimits:\n  max_body_bytes: 0\n" });
    const reading = readServeConfig({ config: "s.yaml" }, { env: {}, cwd });
    await expect(reading).rejects.toMatchObject({
      code: "invalid_serve_config",
      problems: [
        { line: 1, path: ["port"] },
        { line: 2, path: ["hots"], suggestion: "host" },
        { line: 4, path: ["limits", "max_body_bytes"] },
      ],
    });
  });

  it.each([
    [{ env: { STRATAGRAPH_PORT: "http" }, flags: {} }, "STRATAGRAPH_PORT"],
    [{ env: { STRATAGRAPH_CORS: "app.example.com" }, flags: {} }, "STRATAGRAPH_CORS"],
    [{ env: {}, flags: { cors: ["nowhere"] } }, "--cors"],
  ])("name the variable and the option that are wrong (case %#)", async ({ env, flags }, name) => {
    const cwd = await folder({});
    await expect(readServeConfig(flags, { env, cwd })).rejects.toThrow(name);
  });

  it("of a file that was named and is not there are refused", async () => {
    const reading = readServeConfig({ config: "none.yaml" }, { env: {}, cwd: await folder({}) });
    await expect(reading).rejects.toMatchObject({ code: "file_not_found" });
  });
});

import { describe, expect, it } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { useDatabase } from "../helpers/databases.ts";
import { ScriptedModel } from "../helpers/scripted-model.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const database = useDatabase("postgres");
const services = () => ({ models: new ScriptedModel([], true), env: {} });

describe("createRuntime", () => {
  it.each([
    [{ maxConnections: 0 }, "maxConnections: expected a whole number of at least 1, got 0."],
    [{ maxConnections: 1.5 }, "maxConnections: expected a whole number of at least 1, got 1.5."],
    [{ cacheBytes: -1 }, "cacheBytes: expected a number of bytes, 0 or more, got -1."],
    [{ cacheBytes: Number.NaN }, "cacheBytes: expected a number of bytes, 0 or more, got NaN."],
  ])("refuses %o", async (options, message) => {
    const opened = createRuntime({ ...services(), folder: tempFolder(), ...options });
    await expect(opened).rejects.toMatchObject({ code: "storage_option", message });
  });

  it.skipIf(!database.available)("opens as many sessions as it may", async () => {
    const databaseUrl = `${database.options.url}?application_name=few`;
    const runtime = await createRuntime({
      ...services(),
      databaseUrl,
      maxConnections: 2,
      cacheBytes: 0,
    });
    await Promise.all(Array.from({ length: 6 }, () => runtime.threads.list()));
    const { rows } = await database.shared.pool.query<{ sessions: number }>(
      "select count(*)::int as sessions from pg_stat_activity where application_name = 'few'",
    );
    expect(rows).toEqual([{ sessions: 2 }]);
    await runtime.close();
  });
});

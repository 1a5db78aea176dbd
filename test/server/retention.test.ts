import { describe, expect, it } from "vitest";
import { createServer } from "../../src/create-server.ts";
import { openPlatform } from "../../src/storage/platform/open-platform.ts";
import { listenForTest } from "../helpers/api-server.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { idAt, setUpRetention } from "../helpers/retention.ts";
import { ScriptedModel } from "../helpers/scripted-model.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

describe.each(drawDatabases(import.meta.url))("retention over HTTP on %s", (kind) => {
  const database = useDatabase(kind);
  const folder = tempFolder();

  it.skipIf(!database.available)(
    "shows a tenant its own policy and what the last round did, and counts it in metrics",
    async () => {
      const retention = {
        turns: { archive_after_days: 30 },
        audit: { archive_after_days: "off" },
      } as const;
      const subject = await setUpRetention(database, { retention, target: () => null });
      await subject.plant("old", idAt(new Date(Date.now() - 86_400_000 * 40)));
      await subject.talk("waiting thread");
      const server = await createServer({
        database: database.shared,
        env: { STRATAGRAPH_ARCHIVE: folder },
        runtime: { models: new ScriptedModel([]), memoryEmbeddings: null },
      });
      const { send } = await listenForTest(server);
      const { apiKeys, tenants } = server.platform;
      const keyOf = async (tenantId: string, ...scopes: string[]) =>
        (await apiKeys.create({ tenantId, name: "k", scopes })).secret;
      const key = await keyOf(subject.tenantId, "usage:read", "admin");
      const get = async (path: string, as = key) => send("GET", path, { key: as });
      // The first round begins with the server.
      await expect.poll(async () => (await get("/v1/retention")).json["last_round"]).not.toBeNull();
      const { json, status } = await get("/v1/retention");
      expect(status).toBe(200);
      expect(json).toMatchObject({
        policy: {
          checkpoints: { thin_after_days: 7, archive_after_days: 90, delete_after_days: 365 },
          turns: { archive_after_days: 30, delete_after_days: 730 },
          llm_calls: { archive_after_days: 90, delete_after_days: 365 },
          audit: { archive_after_days: "off", delete_after_days: 2555 },
        },
        archives: true,
        last_round: { archived: { threads: 0, rows: 1 }, failures: 0 },
      });
      const { id: otherId } = await tenants.create({ name: `other ${kind}` });
      const other = await get("/v1/retention", await keyOf(otherId, "usage:read"));
      expect(other.json).toMatchObject({
        policy: { turns: { archive_after_days: 365 } },
        last_round: null,
      });
      expect((await get("/v1/retention", await keyOf(otherId, "runs:read"))).status).toBe(403);
      await expect
        .poll(async () => (await get("/metrics")).text)
        .toContain('stratagraph_retention_rows_total{stage="archived"} 1');
      const { text } = await get("/metrics");
      const [, age] = /^stratagraph_oldest_row_age_seconds ([\d.]+)$/m.exec(text) ?? [];
      // The calls of that day are still there.
      expect(Number(age)).toBeGreaterThan(39 * 86_400);
      expect(Number(age)).toBeLessThan(41 * 86_400);
      await (
        await openPlatform(database.shared, { archive: server.platform.archives.target })
      ).tenantRows.delete(subject.tenantId);
    },
  );
});

import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { describe, expect, it } from "vitest";
import { WebhookSender, type WebhookSenderOptions } from "../../src/engine/webhook-sender.ts";
import { openPlatform } from "../../src/storage/platform/open-platform.ts";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { httpServer } from "../helpers/http-server.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { startTenantApi } from "../helpers/tenant-api.ts";

interface Received {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver on loopback. `statusOf` says how it answers; undefined for not at all. */
async function receiver(statusOf: (count: number) => number | undefined = () => 204) {
  const received: Received[] = [];
  let wake = () => {};
  const host = await httpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { url, headers } = request;
      received.push({ url, headers, body: Buffer.concat(chunks).toString() });
      const status = statusOf(received.length);
      if (status !== undefined) {
        response.writeHead(status, { location: "http://10.0.0.1/" });
        response.end("x".repeat(100_000));
      }
      wake();
    });
  });
  const until = async (count: number) => {
    while (received.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { host, received, until };
}

/** As the documentation shows it. */
function isSigned({ headers, body }: Received, secret: string): boolean {
  const id = String(headers["webhook-id"]);
  const timestamp = String(headers["webhook-timestamp"]);
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
  const given = Buffer.from(String(headers["webhook-signature"]).replace(/^v1,/, ""), "base64");
  return expected.length === given.length && timingSafeEqual(expected, given);
}

describe("webhooks", () => {
  const database = useDatabase("pglite");

  it("are created with a secret that is shown once, turned off and deleted", async () => {
    const { send, newKey } = await startTenantApi(database.shared);
    const body = { url: "https://example.com/hook", events: ["run.complete"] };
    const made = await send("POST", "/v1/webhooks", { body });
    expect(made).toMatchObject({ status: 201, json: { ...body, is_active: true } });
    expect(made.json["secret"]).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const path = `/v1/webhooks/${String(made.json["id"])}`;
    const listed = await send("GET", "/v1/webhooks");
    expect(listed.json["webhooks"]).toMatchObject([body]);
    expect(listed.text).not.toContain("whsec_");
    expect((await send("PATCH", path, { body: { is_active: false } })).json).toMatchObject({
      is_active: false,
    });
    expect((await send("GET", `${path}/deliveries`)).json).toMatchObject({ deliveries: [] });
    const { key } = await newKey(["*"]);
    expect((await send("DELETE", path, { key })).status).toBe(404);
    expect((await send("PATCH", path, { key, body: { is_active: true } })).status).toBe(404);
    expect((await send("DELETE", path)).status).toBe(204);
    expect((await send("DELETE", path)).status).toBe(404);
  });

  it.each([
    [{ url: "http://127.0.0.1/", events: ["*"] }, "/url"],
    [{ url: "http://[fd00::1]/", events: ["*"] }, "/url"],
    [{ url: "http://2130706433/", events: ["*"] }, "/url"],
    [{ url: "ftp://example.com/", events: ["*"] }, "/url"],
    [{ url: "https://a:b@example.com/", events: ["*"] }, "/url"],
    [{ url: "https://example.com/", events: ["run.exploded"] }, "/events/0"],
    [{ url: "https://example.com/", events: [] }, "/events"],
    [{ url: "https://example.com/", events: ["*"], secret: "x" }, "/secret"],
  ])("are refused: %j", async (body, pointer) => {
    const { send } = await startTenantApi(database.shared);
    const refused = await send("POST", "/v1/webhooks", { body });
    expect(refused).toMatchObject({ status: 400, json: { errors: [{ pointer }] } });
  });

  it("hear of a run that is cancelled in the queue", async () => {
    const { host, received, until } = await receiver();
    const api = await startTenantApi(database.shared, { runtime: { httpAllow: [host] } });
    const hook = { url: `http://${host}/`, events: ["run.cancelled"] };
    await api.send("POST", "/v1/webhooks", { body: hook });
    const { json: agent } = await api.send("POST", "/v1/agents", { body: { name: "a" } });
    const runs = `/v1/agents/${String(agent["id"])}/runs`;
    const later = { input: { message: "Hi" }, config: { run_at: "2100-01-01T00:00:00Z" } };
    const { json } = await api.send("POST", runs, { body: later });
    const cancelled = await api.send("POST", `${runs}/${String(json["run_id"])}/cancel`);
    expect(cancelled).toMatchObject({ status: 202, json: { status: "cancelled" } });
    await until(1);
    expect(JSON.parse(received[0]!.body)).toMatchObject({
      type: "run.cancelled",
      data: { run_id: json["run_id"], status: "cancelled", cause: { code: "turn_cancelled" } },
    });
  });

  it("get a signed delivery when a run ends", async () => {
    const { host, received, until } = await receiver();
    const api = await startTenantApi(database.shared, {
      runtime: { httpAllow: [host] },
      script: ["Hello.", "Hello."],
    });
    const hook = (events: readonly string[], path: string) =>
      api.send("POST", "/v1/webhooks", { body: { url: `http://${host}/${path}`, events } });
    const { json } = await hook(["run.complete"], "complete");
    await hook(["run.failed"], "failed");
    const made = await api.send("POST", "/v1/agents", { body: { name: "a" } });
    const run = await api.run(String(made.json["id"]), { message: "Hi" });
    await until(1);
    expect(received).toHaveLength(1);
    const [delivery] = received as [Received];
    expect(delivery.url).toBe("/complete");
    expect(isSigned(delivery, String(json["secret"]))).toBe(true);
    expect(isSigned(delivery, "whsec_AAAA")).toBe(false);
    expect(isSigned({ ...delivery, body: `${delivery.body} ` }, String(json["secret"]))).toBe(
      false,
    );
    expect(JSON.parse(delivery.body)).toMatchObject({
      type: "run.complete",
      data: { run_id: run.id, thread_id: run.threadId, status: "complete", cause: null },
    });
    // The delivery is recorded when its answer is there.
    await api.server.close(1_000);
    const { items } = await api.platform.webhooks.deliveries(api.tenantId, String(json["id"]));
    expect(items).toMatchObject([{ state: "delivered", attempts: 1, lastResult: "204" }]);
    expect(items[0]?.id).toBe(delivery.headers["webhook-id"]);
  });
});

describe.each(drawDatabases(import.meta.url))("deliveries on %s", (kind) => {
  const database = useDatabase(kind);

  async function start(options: Partial<WebhookSenderOptions> & { readonly url: string }) {
    const clock = new ManualClock(new Date().toISOString());
    const platform = await openPlatform(database.shared, { clock });
    const { webhooks } = platform;
    const { id: tenantId } = await platform.tenants.create({ name: `t ${Math.random()}` });
    const { webhook } = await webhooks.create(tenantId, { url: options.url, events: ["*"] });
    let recorded = () => {};
    const results: string[] = [];
    const errors: unknown[] = [];
    const sender = new WebhookSender({
      webhooks: {
        claimDue: async (by) =>
          // Other tests have deliveries on the same database.
          (await webhooks.claimDue(by)).filter((one) => one.tenantId === tenantId),
        record: async (delivery, outcome) => {
          const isRecorded = await webhooks.record(delivery, outcome);
          results.push(outcome.result);
          recorded();
          return isRecorded;
        },
        setActive: (...given) => webhooks.setActive(...given),
      },
      clock,
      onError: (error) => errors.push(error),
      ...options,
    });
    const until = async (count: number) => {
      while (results.length < count) await new Promise<void>((resolve) => (recorded = resolve));
    };
    const queue = () => webhooks.enqueue(tenantId, { event: "run.complete", body: { a: 1 } });
    const deliveries = async () => (await webhooks.deliveries(tenantId, webhook.id)).items;
    return {
      clock,
      sender,
      webhooks,
      tenantId,
      webhook,
      results,
      errors,
      until,
      queue,
      deliveries,
    };
  }

  it.skipIf(!database.available)("are tried again later until they succeed", async () => {
    const { host, received } = await receiver((count) => (count < 3 ? 500 : 200));
    const sending = await start({ url: `http://${host}/`, httpAllow: [host] });
    const { clock, sender, until, results } = sending;
    await sending.queue();
    sender.start();
    await until(1);
    expect(await sending.deliveries()).toMatchObject([{ state: "queued", attempts: 1 }]);
    clock.advance(9_000);
    sender.wake();
    clock.advance(1_001);
    sender.wake();
    await until(2);
    clock.advance(20_001);
    sender.wake();
    await until(3);
    await sender.stop({ graceMs: 0 });
    expect(results).toEqual(["500", "500", "200"]);
    expect(await sending.deliveries()).toMatchObject([{ state: "delivered", attempts: 3 }]);
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  });

  it.skipIf(!database.available)("end when the receiver does not answer in time", async () => {
    const { host, until: untilReceived } = await receiver(() => undefined);
    const sending = await start({ url: `http://${host}/`, httpAllow: [host] });
    await sending.queue();
    sending.sender.start();
    await untilReceived(1);
    sending.clock.advance(10_001);
    await sending.until(1);
    expect(sending.results[0]).toMatch(/no answer within 10 s/);
    await sending.sender.stop({ graceMs: 0 });
    expect(sending.errors).toEqual([]);
  });

  it.skipIf(!database.available)("turn the webhook off that is gone", async () => {
    const { host } = await receiver(() => 410);
    const sending = await start({ url: `http://${host}/`, httpAllow: [host] });
    await sending.queue();
    sending.sender.start();
    await sending.until(1);
    await sending.sender.stop({ graceMs: 1_000 });
    const { items } = await sending.webhooks.list(sending.tenantId);
    expect(items).toMatchObject([{ isActive: false }]);
  });

  it.skipIf(!database.available)("do not follow a redirect", async () => {
    const { host, received } = await receiver(() => 302);
    const sending = await start({ url: `http://${host}/`, httpAllow: [host] });
    await sending.queue();
    sending.sender.start();
    await sending.until(1);
    await sending.sender.stop({ graceMs: 0 });
    expect(sending.results).toEqual(["302: redirects are not followed"]);
    expect(received).toHaveLength(1);
  });

  it.skipIf(!database.available).each([["10.1.2.3"], ["127.0.0.1"], ["169.254.169.254"], ["::1"]])(
    "do not go to a name that leads to %s",
    async (address) => {
      const { host, received } = await receiver();
      const url = `http://hook.example.com:${host.split(":")[1]}/`;
      const sending = await start({ url, lookup: async () => ["127.0.0.1", address] });
      await sending.queue();
      sending.sender.start();
      await sending.until(1);
      await sending.sender.stop({ graceMs: 0 });
      expect(sending.results[0]).toMatch(/leads to an? /);
      expect(received).toEqual([]);
    },
  );

  it.skipIf(!database.available)("are sent at most so many at once", async () => {
    const { host, received, until: untilReceived } = await receiver(() => undefined);
    const sending = await start({ url: `http://${host}/`, httpAllow: [host], concurrency: 2 });
    for (let count = 0; count < 5; count += 1) await sending.queue();
    sending.sender.start();
    await untilReceived(2);
    sending.sender.wake();
    expect(await sending.webhooks.claimDue({ leaseMs: 1, limit: 200 })).toHaveLength(3);
    expect(received).toHaveLength(2);
    expect(sending.errors).toEqual([]);
    const stopped = sending.sender.stop({ graceMs: 50 });
    while (!sending.clock.isDueWithin(50)) await Promise.resolve();
    sending.clock.advance(51);
    await stopped;
    // They are sent again when their claims have ended.
    const states = (await sending.deliveries()).map(({ state }) => state);
    expect(states).toEqual(["queued", "queued", "queued", "queued", "queued"]);
  });
});

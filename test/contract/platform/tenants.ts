import { describe, expect, test } from "vitest";
import { hasScope } from "../../../src/storage/platform/api-keys.ts";
import {
  ConflictError,
  InvalidCursorError,
  InvalidValueError,
  NotFoundError,
} from "../../../src/storage/platform/errors.ts";
import { systemIds } from "../../../src/clock.ts";
import type { PlatformSubject } from "./subject.ts";

/** Tenants, their keys, quotas, and the audit log. */
export function tenantsContract(subject: PlatformSubject): void {
  describe.skipIf(!subject.database.available)(`tenants on ${subject.database.kind}`, () => {
    const unknown = systemIds();

    test("are created, read and found by name and id", async () => {
      const { tenants } = subject.platform;
      const settings = { quota: { requests: 5 } };
      const tenant = await tenants.create({ name: "Acme & Co".replace("&", "and"), settings });
      expect(tenant).toMatchObject({ planTier: "default", settings, suspendedAt: null });
      expect(await tenants.get(tenant.id)).toEqual(tenant);
      expect(await tenants.find("Acme and Co")).toEqual(tenant);
      expect(await tenants.find(tenant.id)).toEqual(tenant);
      await expect(tenants.create({ name: "Acme and Co" })).rejects.toThrow(ConflictError);
      await expect(tenants.get(unknown)).rejects.toThrow(NotFoundError);
      await expect(tenants.find("a\0b")).rejects.toThrow(NotFoundError);
    });

    test.each(["", " a", "a\0", "x".repeat(101), "a\nb", "\ud800"])(
      "cannot be called %j",
      async (name) => {
        await expect(subject.platform.tenants.create({ name })).rejects.toThrow(InvalidValueError);
      },
    );

    test("refuse settings that are not theirs", async () => {
      const { tenants } = subject.platform;
      const { id } = await subject.newTenant();
      await expect(tenants.updateSettings(id, { quota: { tokens: -1 } })).rejects.toThrow(
        "settings.quota.tokens",
      );
      await expect(tenants.updateSettings(id, { bad: 1 } as never)).rejects.toThrow(
        InvalidValueError,
      );
      const settings = { rate: { requests_per_minute: 10 } };
      expect((await tenants.updateSettings(id, settings)).settings).toEqual(settings);
      await expect(tenants.updateSettings(unknown, {})).rejects.toThrow(NotFoundError);
    });

    test("are listed newest first, page by page", async () => {
      const made = [
        await subject.newTenant(),
        await subject.newTenant(),
        await subject.newTenant(),
      ];
      const { tenants } = subject.platform;
      const first = await tenants.list({ limit: 2 });
      expect(first.items).toEqual([made[2], made[1]]);
      const second = await tenants.list({ limit: 1, cursor: first.next! });
      expect(second.items).toEqual([made[0]]);
    });

    test.each([0, 201, 1.5, Number.NaN])("refuse pages of %d", async (limit) => {
      await expect(subject.platform.tenants.list({ limit })).rejects.toThrow(InvalidValueError);
    });

    test.each(["", "x", "A".repeat(21), "A".repeat(23), "!".repeat(22), `${"A".repeat(21)}B`])(
      "refuse the cursor %j",
      async (cursor) => {
        await expect(subject.platform.tenants.list({ cursor })).rejects.toThrow(InvalidCursorError);
      },
    );

    test("identify callers by keys, which are stored as hashes alone", async () => {
      const { apiKeys, tables } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const { key, secret } = await apiKeys.create({
        tenantId,
        name: "ci",
        scopes: ["runs:write", "runs:read", "runs:read"],
      });
      expect(secret).toMatch(/^sg_[0-9A-Za-z]{22}_[0-9A-Za-z]{43}$/);
      expect(key.scopes).toEqual(["runs:write", "runs:read"]);
      const check = await apiKeys.verify(secret);
      expect(check).toEqual({
        principal: { tenantId, keyId: key.id, scopes: ["runs:write", "runs:read"] },
        refusal: null,
      });
      expect(hasScope(check.principal!, "runs:read")).toBe(true);
      expect(hasScope(check.principal!, "admin")).toBe(false);
      expect(hasScope({ scopes: ["*"] }, "admin")).toBe(true);
      const { rows } = await tables.tenants.pool.query<{ row: string }>(
        `select row_to_json(k)::text as row from ${tables.schema}.api_key k where id = $1::uuid`,
        [key.id],
      );
      expect(rows.every(({ row }) => !row.includes(secret.slice(26)))).toBe(true);
    });

    test("refuse other keys, each for a reason that logs have", async () => {
      const { apiKeys, tenants } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const expiresAt = new Date(subject.clock.now().getTime() + 1_000).toISOString();
      const make = (more = {}) => apiKeys.create({ tenantId, name: "k", scopes: ["*"], ...more });
      const { key, secret } = await make();
      const refusal = async (text: string) => (await apiKeys.verify(text)).refusal;
      const last = secret.endsWith("a") ? "b" : "a";
      expect(await refusal(`${secret.slice(0, -1)}${last}`)).toBe("unknown");
      expect(await refusal(`sg_${"0".repeat(22)}_${"0".repeat(43)}`)).toBe("unknown");
      expect(await refusal(`sg_${"z".repeat(22)}_${"0".repeat(43)}`)).toBe("malformed");
      expect(await refusal(`${secret} `)).toBe("malformed");
      expect(await refusal("")).toBe("malformed");
      const expiring = await make({ expiresAt });
      expect(await refusal(expiring.secret)).toBeNull();
      subject.clock.advance(1_000);
      expect(await refusal(expiring.secret)).toBe("expired");
      await tenants.suspend(tenantId);
      expect(await refusal(secret)).toBe("suspended");
      await tenants.resume(tenantId);
      expect(await refusal(secret)).toBeNull();
      await apiKeys.revoke(tenantId, key.id);
      expect(await refusal(secret)).toBe("revoked");
    });

    test("refuse a key as soon as another process has revoked it", async () => {
      const { id: tenantId } = await subject.newTenant();
      const { apiKeys } = subject.platform;
      const { key, secret } = await apiKeys.create({ tenantId, name: "k", scopes: ["*"] });
      expect((await apiKeys.verify(secret)).refusal).toBeNull();
      const { tenants, schema } = subject.platform.tables;
      await tenants.pool.query(
        `begin; set local app.upkeep = 'on'; update ${schema}.api_key set revoked_at = now() where id = '${key.id}'; commit`,
      );
      expect((await apiKeys.verify(secret)).refusal).toBe("revoked");
    });

    test("write the use of a key once a minute", async () => {
      const { apiKeys } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const { key, secret } = await apiKeys.create({ tenantId, name: "k", scopes: ["*"] });
      const used = async () => (await apiKeys.find(key.id)).lastUsedAt;
      expect(await used()).toBeNull();
      await apiKeys.verify(secret);
      const first = subject.clock.now().toISOString();
      expect(await used()).toBe(first);
      subject.clock.advance(59_999);
      await apiKeys.verify(secret);
      expect(await used()).toBe(first);
      subject.clock.advance(1);
      await apiKeys.verify(secret);
      expect(await used()).toBe(subject.clock.now().toISOString());
    });

    test.each([{ scopes: [] }, { scopes: ["root"] }, { expiresAt: "2020-01-01" }, { name: "" }])(
      "refuse a key with %j",
      async (more) => {
        const { id: tenantId } = await subject.newTenant();
        const given = { tenantId, name: "k", scopes: ["*"], ...more };
        await expect(subject.platform.apiKeys.create(given)).rejects.toThrow(InvalidValueError);
      },
    );

    test("have keys of their own alone", async () => {
      const { apiKeys } = subject.platform;
      const [mine, other] = [await subject.newTenant(), await subject.newTenant()];
      const { key } = await apiKeys.create({ tenantId: mine.id, name: "k", scopes: ["*"] });
      expect((await apiKeys.list(mine.id)).items).toEqual([key]);
      expect((await apiKeys.list(other.id)).items).toEqual([]);
      await expect(apiKeys.revoke(other.id, key.id)).rejects.toThrow(NotFoundError);
      const none = { tenantId: unknown, name: "k", scopes: ["*"] };
      await expect(apiKeys.create(none)).rejects.toThrow(NotFoundError);
    });

    test("use up their quota of a day", async () => {
      const { tenants, usage } = subject.platform;
      const { id } = await subject.newTenant();
      expect(await usage.remaining(id)).toEqual({ requests: null, tokens: null, cost_usd: null });
      await tenants.updateSettings(id, { quota: { requests: 2, tokens: 100, cost_usd: 0.5 } });
      const sums = { requests: 1, tokens_in: 60, tokens_out: 30, cost_usd: 0.1 };
      await Promise.all([usage.add(id, sums), usage.add(id, { cost_usd: 0.2 })]);
      const left = await usage.remaining(id);
      expect(left).toMatchObject({ requests: 1, tokens: 10 });
      expect(left.cost_usd).toBeCloseTo(0.2, 12);
      await usage.add(id, { requests: 5 });
      expect((await usage.remaining(id)).requests).toBe(0);
      const day = subject.clock.now().toISOString().slice(0, 10);
      expect(await usage.range(id, { from: day, to: day })).toMatchObject([
        { day, requests: 6, tokens_in: 60, tokens_out: 30, cost_usd: 0.3, turns: 0 },
      ]);
      await expect(usage.add(id, { turns: -1 })).rejects.toThrow(InvalidValueError);
      await expect(usage.add(id, { turns: 0.5 })).rejects.toThrow(InvalidValueError);
      for (const range of [
        { from: "2026-02-30", to: day },
        { from: day, to: "2020-01-01" },
        { from: "2020-01-01", to: "2021-01-01" },
      ])
        await expect(usage.range(id, range)).rejects.toThrow(InvalidValueError);
    });

    test("are counted together after a tenth of a second, or when their sums are read", async () => {
      const { usage } = subject.platform;
      const [{ id }, { id: other }] = [await subject.newTenant(), await subject.newTenant()];
      const day = subject.clock.now().toISOString().slice(0, 10);
      // Reads what is in the table: quotas write nothing.
      const left = async (of: string) => (await usage.remaining(of)).requests;
      for (const of of [id, other])
        await subject.platform.tenants.updateSettings(of, { quota: { requests: 10 } });
      usage.count(id, { requests: 1, runs: 1 });
      usage.count(id, { requests: 2 });
      usage.count(other, { requests: 4 });
      subject.clock.advance(99);
      expect(await left(id)).toBe(10);
      subject.clock.advance(1);
      await expect.poll(() => left(id)).toBe(7);
      await expect.poll(() => left(other)).toBe(6);
      usage.count(id, { runs: 2 });
      expect(await usage.range(id, { from: day, to: day })).toMatchObject([
        { requests: 3, runs: 3 },
      ]);
      usage.count(id, { requests: 1 });
      await usage.flush();
      await usage.flush();
      expect(await left(id)).toBe(6);
    });

    test("have a log of changes with hashes in place of values", async () => {
      const { audit } = subject.platform;
      const [mine, other] = [await subject.newTenant(), await subject.newTenant()];
      const entry = { actor: "operator", action: "agent.create", subject: "agent:1" };
      await audit.append(mine.id, { ...entry, after: { b: 1, a: 2 } });
      await audit.append(mine.id, { ...entry, before: { a: 2, b: 1 }, after: null });
      const { items, next } = await audit.list(mine.id, { limit: 1 });
      expect(items[0]!.beforeHash).toMatch(/^[0-9a-f]{64}$/);
      const rest = await audit.list(mine.id, { cursor: next! });
      expect(rest.items).toMatchObject([{ ...entry, beforeHash: null }]);
      expect(rest.items[0]!.afterHash).toBe(items[0]!.beforeHash);
      expect((await audit.list(other.id)).items).toEqual([]);
    });
  });
}

import { describe, expect, it } from "vitest";
import { TenantRuntimes } from "../../src/server/tenant-runtimes.ts";

function runtimes(max: number) {
  const log: string[] = [];
  let failing = 0;
  const cache = new TenantRuntimes(
    async (tenant) => {
      if (failing-- > 0) throw new Error("unreachable");
      log.push(`open ${tenant}`);
      return { tenant, close: async () => void log.push(`close ${tenant}`) };
    },
    { max },
  );
  return { cache, log, failNext: () => (failing = 1) };
}

describe("runtimes of tenants", () => {
  it("are opened once, and the one that was not used for longest is closed first", async () => {
    const { cache, log } = runtimes(2);
    for (const tenant of ["a", "b", "a", "c"]) await cache.use(tenant, async () => {});
    expect(log).toEqual(["open a", "open b", "open c", "close b"]);
  });

  it("stay open while they are in use", async () => {
    const { cache, log } = runtimes(1);
    await cache.use("a", () => cache.use("b", async () => {}));
    expect(log).toEqual(["open a", "open b", "close b"]);
  });

  it("are opened anew after a failure", async () => {
    const { cache, log, failNext } = runtimes(2);
    failNext();
    await expect(cache.use("a", async () => {})).rejects.toThrow("unreachable");
    expect(await cache.use("a", async ({ tenant }) => tenant)).toBe("a");
    await cache.close();
    expect(log).toEqual(["open a", "close a"]);
  });
});

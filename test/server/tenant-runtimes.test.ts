import { describe, expect, it, vi } from "vitest";
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
    await cache.close();
    expect(log.slice(0, 4)).toEqual(["open a", "open b", "open c", "close b"]);
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

  it("are renewed for later uses, and stay open for those that have begun", async () => {
    const { cache, log } = runtimes(2);
    await cache.use("b", async () => {});
    await cache.use("a", async () => {
      cache.renew();
      await cache.use("a", async () => {});
      expect(log).not.toContain("close a");
      expect(log.filter((line) => line === "open a")).toHaveLength(2);
    });
    await vi.waitFor(() => expect(log).toContain("close a"));
    expect(log.filter((line) => line.startsWith("close"))).toEqual(["close b", "close a"]);
    await cache.close();
    expect(log).toHaveLength(6);
  });

  it("are closed with the rest if they are in use after renewal", async () => {
    const { cache, log } = runtimes(2);
    await cache.use("a", async () => {
      cache.renew();
      await cache.close();
    });
    expect(log).toEqual(["open a", "close a"]);
  });

  it("are not waited for while another one closes, whose failure is reported", async () => {
    const { opened, close, fail } = slowlyClosing();
    const errors: unknown[] = [];
    const cache = new TenantRuntimes(opened, { max: 1, onError: (error) => errors.push(error) });
    await cache.use("a", async () => {});
    expect(await cache.use("b", async () => "result")).toBe("result");
    const closed = cache.close();
    fail(new Error("unreachable"));
    await closed;
    expect(errors).toEqual([new Error("unreachable")]);
    expect(close).toEqual(["a", "b"]);
  });
});

/** Runtimes of which the first to close ends when the test says so. */
function slowlyClosing() {
  const close: string[] = [];
  let fail = (_error: Error) => {};
  const failed = new Promise<void>((_resolve, reject) => (fail = reject));
  const opened = async (tenant: string) => ({
    close: () => (close.push(tenant), tenant === "a" ? failed : Promise.resolve()),
  });
  return { opened, close, fail: (error: Error) => fail(error) };
}

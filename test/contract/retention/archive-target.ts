import { beforeAll, describe, expect, it } from "vitest";
import { systemIds } from "../../../src/clock.ts";
import {
  type ArchiveTarget,
  ArchiveTargetError,
} from "../../../src/storage/retention/archive-target.ts";

/** A place for archives, whichever it is. */
export function archiveTargetContract(name: string, open: () => Promise<ArchiveTarget>): void {
  describe(`archives in ${name}`, () => {
    let target: ArchiveTarget;
    beforeAll(async () => {
      target = await open();
    });
    const newKey = () => ({ tenantId: systemIds(), archiveId: systemIds(), part: 0 });

    it("give back the bytes that were put, and null for what is not there", async () => {
      const key = newKey();
      const bytes = Buffer.from([0, 1, 254, 255, 10, 13]);
      expect(await target.get(key, 100)).toBeNull();
      await target.put(key, bytes);
      expect(await target.get(key, 6)).toEqual(bytes);
      await target.put(key, Buffer.from("again"));
      expect((await target.get(key, 100))?.toString()).toBe("again");
      expect(await target.get({ ...key, part: 1 }, 100)).toBeNull();
    });

    it("refuse an object with more bytes than were written", async () => {
      const key = newKey();
      await target.put(key, Buffer.alloc(1000));
      await expect(target.get(key, 999)).rejects.toThrow(ArchiveTargetError);
      expect(await target.get(key, 1000)).toHaveLength(1000);
    });

    it("remove one archive, or all archives of a tenant, and nothing else", async () => {
      const [first, other] = [newKey(), newKey()];
      const second = { ...first, archiveId: systemIds() };
      for (const key of [first, { ...first, part: 1 }, second, other])
        await target.put(key, Buffer.from("x"));
      const { tenantId, archiveId } = first;
      expect(await target.remove({ tenantId, archiveId })).toBe(2);
      expect(await target.remove({ tenantId, archiveId })).toBe(0);
      expect([await target.get(first, 9), (await target.get(second, 9))?.toString()]).toEqual([
        null,
        "x",
      ]);
      expect(await target.remove({ tenantId })).toBe(1);
      expect(await target.get(second, 9)).toBeNull();
      expect((await target.get(other, 9))?.toString()).toBe("x");
    });

    it.each([
      { tenantId: "../other", archiveId: systemIds(), part: 0 },
      { tenantId: systemIds(), archiveId: "..", part: 0 },
      { tenantId: systemIds(), archiveId: systemIds(), part: 1_000_000 },
      { tenantId: systemIds(), archiveId: systemIds(), part: 0.5 },
    ])("refuse the key %o, which is no place of an object", async (key) => {
      await expect(target.put(key, Buffer.from("x"))).rejects.toThrow(RangeError);
      await expect(target.get(key, 1)).rejects.toThrow(RangeError);
    });
  });
}

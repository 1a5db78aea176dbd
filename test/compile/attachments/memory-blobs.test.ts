import { expect, it } from "vitest";
import { createMemoryBlobs } from "../../../src/compile/attachments/memory-blobs.ts";
import { blobStoreContract } from "../../contract/blob-store.ts";

blobStoreContract("memory", async () => createMemoryBlobs());

it("removes the oldest bytes above the limit", async () => {
  const blobs = createMemoryBlobs(10);
  const put = (text: string) =>
    blobs.put("t", { bytes: Buffer.from(text), mimeType: "text/plain" });
  const [first, second] = [await put("aaaaaa"), await put("bbbbbb")];
  expect(await blobs.get("t", first)).toBeNull();
  expect(await blobs.get("t", second)).toEqual(new Uint8Array(Buffer.from("bbbbbb")));
});

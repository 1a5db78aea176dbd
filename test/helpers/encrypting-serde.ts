import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";

/** LangGraph's serializer under AES-GCM, as one would encrypt checkpoints: the same value never gives the same bytes. */
export function encryptingSerde(key = randomBytes(32)): SerializerProtocol {
  const inner = new MemorySaver().serde;
  return {
    async dumpsTyped(value) {
      const [type, bytes] = await inner.dumpsTyped(value);
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", key, iv);
      const sealed = Buffer.concat([cipher.update(bytes), cipher.final()]);
      return [`${type}+aes`, Buffer.concat([iv, cipher.getAuthTag(), sealed])];
    },
    async loadsTyped(type, data) {
      const bytes = Buffer.from(data as Uint8Array);
      const cipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12));
      cipher.setAuthTag(bytes.subarray(12, 28));
      const opened = Buffer.concat([cipher.update(bytes.subarray(28)), cipher.final()]);
      return inner.loadsTyped(type.replace(/\+aes$/, ""), opened);
    },
  };
}

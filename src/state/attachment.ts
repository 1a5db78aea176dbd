import type { BaseMessage } from "@langchain/core/messages";
import { isRecord } from "../values/json.ts";
import { headOf } from "../values/text.ts";

/**
 * A content block that refers to the bytes of an attachment, in the form of LangChain's data blocks. The bytes are in
 * the thread's blob store.
 */
export interface AttachmentReference {
  readonly type: "image" | "audio" | "file";
  readonly source_type: "id";
  /** `sha256:` and 64 hex digits. */
  readonly id: string;
  readonly mime_type: string;
  readonly metadata: { readonly name: string; readonly bytes: number };
}

/** A content block with the text of an attached file, in the form of LangChain's data blocks. */
export interface TextAttachment {
  readonly type: "file";
  readonly source_type: "text";
  readonly mime_type: string;
  readonly text: string;
  readonly metadata: { readonly name: string; readonly bytes: number };
}

const prefix = "sha256:";

/** Returns the reference to bytes with this SHA-256 (hex). */
export function attachmentReference(of: {
  readonly sha256: string;
  readonly mimeType: string;
  readonly name: string;
  readonly bytes: number;
}): AttachmentReference {
  const [family] = of.mimeType.split("/");
  return {
    type: family === "image" || family === "audio" ? family : "file",
    source_type: "id",
    id: prefix + of.sha256,
    mime_type: of.mimeType,
    metadata: { name: of.name, bytes: of.bytes },
  };
}

/** Whether a content block refers to stored bytes. */
export function isAttachmentReference(block: unknown): block is AttachmentReference {
  if (!isRecord(block) || block["source_type"] !== "id") return false;
  const { type, id, mime_type: mimeType, metadata } = block;
  if (typeof id !== "string" || !/^sha256:[0-9a-f]{64}$/.test(id)) return false;
  const isKnown = type === "image" || type === "audio" || type === "file";
  if (!isKnown || typeof mimeType !== "string" || !isRecord(metadata)) return false;
  return typeof metadata["name"] === "string" && typeof metadata["bytes"] === "number";
}

/** Whether a content block holds the text of a file. */
export function isTextAttachment(block: unknown): block is TextAttachment {
  if (!isRecord(block) || block["type"] !== "file" || block["source_type"] !== "text") return false;
  const { text, metadata } = block;
  return typeof text === "string" && isRecord(metadata) && typeof metadata["name"] === "string";
}

/** The SHA-256 (hex) of the bytes that a reference stands for. */
export function sha256Of({ id }: AttachmentReference): string {
  return id.slice(prefix.length);
}

/** Returns the references in a message, in order. */
export function attachmentsOf({ content }: BaseMessage): readonly AttachmentReference[] {
  const blocks: readonly unknown[] = typeof content === "string" ? [] : content;
  return blocks.filter(isAttachmentReference);
}

/** Returns what an attachment is called in a line of text: `image lamp.png`. */
export function attachmentLabel(reference: AttachmentReference): string {
  const { type, mime_type: mimeType, metadata } = reference;
  const kind = mimeType === "application/pdf" ? "PDF" : type;
  return `${kind} ${attachmentName(metadata.name)}`;
}

/** Characters of a name. */
const maxName = 120;

/** Characters that act, are not shown, or turn the order of others, but for the joiners of scripts and emoji. */
const unshown = /(?:[\p{Cc}\p{Cs}\p{Zl}\p{Zp}[\]<>]|(?![\u200c\u200d])\p{Cf})+/gu;

/** Returns a name in one line without brackets, so that it cannot be taken for anything but a name. */
export function attachmentName(given: string): string {
  const plain = given.replace(unshown, " ").trim();
  const name = headOf((plain.split(/[\\/]/).at(-1) ?? "").trim(), maxName);
  return name === "" ? "attachment" : name;
}

/** The line that stands for an attachment whose bytes a model does not get. */
export function attachmentLine(reference: AttachmentReference): string {
  const { bytes } = reference.metadata;
  const size = bytes < 1_000 ? `${bytes} bytes` : `${Math.round(bytes / 1_000)} kB`;
  return `[${attachmentLabel(reference)}, ${size}, sha256 ${sha256Of(reference).slice(0, 12)}…]`;
}

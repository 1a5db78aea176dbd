import { BaseMessage, HumanMessage, type MessageContent } from "@langchain/core/messages";
import type { BlobStore } from "../../durable-saver.ts";
import {
  attachmentName,
  type AttachmentReference,
  attachmentReference,
  isAttachmentReference,
  sha256Of,
  type TextAttachment,
} from "../../state/attachment.ts";
import { isRecord } from "../../values/json.ts";
import { headOf } from "../../values/text.ts";
import {
  AttachmentError,
  attachmentLimits,
  checkAttachment,
  type CheckedAttachment,
  checkSize,
  checkTotal,
} from "./check-attachment.ts";

export interface ReceivingThread {
  readonly threadId: string;
  readonly blobs: BlobStore;
}

/**
 * Returns a graph's input with the data in its messages replaced by references to stored attachments. All data is
 * checked before any is stored. Any form of block that chat clients send is accepted: LangChain's, OpenAI's, Anthropic's.
 *
 * @throws AttachmentError for data that cannot be attached, for URLs, and for references to another thread's attachments
 */
export async function receiveMessages(input: unknown, thread: ReceivingThread): Promise<unknown> {
  if (!isRecord(input)) return input;
  const { messages } = input;
  const list: readonly unknown[] = Array.isArray(messages) ? messages : [messages];
  const checking: Checking = { ...thread, known: new Map() };
  const received: (readonly ReceivedBlock[] | null)[] = [];
  // One after the other: a small input may refer to large bytes often.
  for (const message of list) received.push(await checkMessage(message, checking));
  if (received.every((message) => message === null)) return input;
  const stored: unknown[] = [];
  for (const [at, message] of received.entries()) {
    stored.push(message === null ? list[at] : await storeMessage(list[at], message, thread));
  }
  return { ...input, messages: Array.isArray(messages) ? stored : stored[0] };
}

interface Checking extends ReceivingThread {
  /** Types and sizes of the thread's attachments that were read, by their SHA-256. */
  readonly known: Map<string, KnownBytes>;
}

interface KnownBytes {
  readonly mimeType: string;
  readonly byteLength: number;
}

/** The blocks of a message: data to store, references to what is stored, and the others as they are. */
type ReceivedBlock =
  | { readonly attachment: CheckedAttachment }
  | { readonly reference: AttachmentReference }
  | { readonly block: unknown };

/** Returns null for a message without attachments. */
async function checkMessage(
  message: unknown,
  checking: Checking,
): Promise<readonly ReceivedBlock[] | null> {
  const content = contentOf(message);
  if (!Array.isArray(content)) return null;
  const blocks: ReceivedBlock[] = [];
  const attached: Parameters<typeof checkTotal>[0][number][] = [];
  for (const block of content as readonly unknown[]) {
    const received = await checkBlock(block, checking);
    blocks.push(received);
    if ("block" in received) continue;
    attached.push("attachment" in received ? received.attachment : sizeOf(received.reference));
    checkTotal(attached);
  }
  return attached.length === 0 ? null : blocks;
}

function sizeOf({ metadata: { name, bytes } }: AttachmentReference) {
  return { name, bytes: { byteLength: bytes } };
}

/** Messages are instances, `{ role, content }`, or `[role, content]`. */
function contentOf(message: unknown): unknown {
  if (Array.isArray(message)) return (message as readonly unknown[])[1];
  return typeof message === "object" && message !== null && "content" in message
    ? message.content
    : undefined;
}

async function storeMessage(
  message: unknown,
  blocks: readonly ReceivedBlock[],
  thread: ReceivingThread,
): Promise<unknown> {
  const content: unknown[] = [];
  for (const block of blocks) {
    if ("attachment" in block) content.push(await storeBlock(block.attachment, thread));
    else content.push("block" in block ? block.block : block.reference);
  }
  if (Array.isArray(message)) return [(message as readonly unknown[])[0], content];
  if (!(message instanceof BaseMessage)) return { ...(message as object), content };
  const fields = { ...(message.lc_kwargs as object), content: content as MessageContent };
  return new (message.constructor as new (fields: object) => BaseMessage)(fields);
}

async function storeBlock(attachment: CheckedAttachment, thread: ReceivingThread): Promise<object> {
  const { name, mimeType, bytes, text } = attachment;
  if (text !== null) return textAttachment(attachment, text);
  const sha256 = await thread.blobs.put(thread.threadId, { bytes, mimeType });
  return attachmentReference({ sha256, mimeType, name, bytes: bytes.byteLength });
}

function textAttachment(
  { name, mimeType, bytes }: CheckedAttachment,
  text: string,
): TextAttachment {
  const metadata = { name, bytes: bytes.byteLength };
  return { type: "file", source_type: "text", mime_type: mimeType, text, metadata };
}

/** Returns the message that passes read attachments to a graph, which stores them. */
export function messageWithFiles(
  text: string,
  attachments: readonly CheckedAttachment[],
  id: string,
): HumanMessage {
  const files = attachments.map(({ name, mimeType, bytes }) => ({
    type: "file",
    mimeType,
    data: bytes,
    metadata: { name },
  }));
  return new HumanMessage({ id, content: [{ type: "text", text }, ...files] });
}

async function checkBlock(block: unknown, checking: Checking): Promise<ReceivedBlock> {
  if (isAttachmentReference(block)) return ownAttachment(block, checking);
  const found = isRecord(block) ? dataIn(block) : null;
  if (found === null) return { block };
  const { name, declared } = found;
  if ("text" in found) {
    return { attachment: checkAttachment({ name, declared, bytes: Buffer.from(found.text) }) };
  }
  if (typeof found.data !== "string") {
    return { attachment: checkAttachment({ name, declared, bytes: found.data }) };
  }
  const [, type, data] = /^data:([^,;]{0,100})[^,]{0,100};base64,(.*)$/s.exec(found.data) ?? [];
  if (data === undefined && /^[a-z][a-z0-9+.-]{0,20}:/i.test(found.data)) {
    const expected = "base64 data (a message's URLs are not read)";
    throw new AttachmentError(name, expected, headOf(found.data, 100));
  }
  const bytes = decodeBase64(name, data ?? found.data);
  return { attachment: checkAttachment({ name, declared: declared ?? type, bytes }) };
}

/** A reference from outside names a hash only: type and size are those of the bytes. */
async function ownAttachment(
  reference: AttachmentReference,
  { threadId, blobs, known }: Checking,
): Promise<ReceivedBlock> {
  const name = attachmentName(reference.metadata.name);
  const sha256 = sha256Of(reference);
  let found = known.get(sha256);
  if (found === undefined) {
    const bytes = await blobs.get(threadId, sha256);
    if (bytes === null) {
      throw new AttachmentError(name, "an attachment of this thread", "the hash of another");
    }
    const attachment = checkAttachment({ name, bytes });
    if (attachment.text !== null) return { attachment };
    found = { mimeType: attachment.mimeType, byteLength: bytes.byteLength };
    known.set(sha256, found);
  }
  const { mimeType, byteLength: bytes } = found;
  return { reference: attachmentReference({ sha256, mimeType, name, bytes }) };
}

interface FoundBase {
  readonly name: string;
  readonly declared: string | undefined;
}

type FoundData = FoundBase &
  /** Base64, a data URL or any other URL. */
  ({ readonly data: string | Uint8Array } | { readonly text: string });

/** Returns the data of a content block; null for a block of another kind. */
function dataIn(block: Record<string, unknown>): FoundData | null {
  const { type } = block;
  const metadata = isRecord(block["metadata"]) ? block["metadata"] : {};
  const name = nameOf(metadata["filename"] ?? metadata["name"] ?? block["title"]);
  const declared = textOf(block["mime_type"] ?? block["mimeType"]);
  const base = { name, declared };
  if (type === "image_url") return withData(base, urlIn(block["image_url"]));
  if (type === "input_image") return withData(base, block["image_url"]);
  if (type === "input_audio" && isRecord(block["input_audio"])) {
    const { data, format } = block["input_audio"];
    const audio = textOf(format);
    return withData({ name, declared: audio && `audio/${audio}` }, data);
  }
  if (type === "file" && isRecord(block["file"])) {
    const { filename, file_data: data } = block["file"];
    return withData({ name: filename === undefined ? name : nameOf(filename), declared }, data);
  }
  if (typeof type !== "string" || !dataTypes.has(type)) return null;
  const source = block["source"];
  if (isRecord(source)) {
    const own = { name, declared: textOf(source["media_type"]) };
    return withData(own, source["type"] === "url" ? source["url"] : source["data"]);
  }
  const text = textOf(block["text"]);
  if (text !== undefined) return { name, declared: declared ?? "text/plain", text };
  return withData(base, block["data"] ?? block["url"]);
}

const dataTypes: ReadonlySet<string> = new Set([
  "image",
  "audio",
  "video",
  "file",
  "document",
  "text-plain",
]);

function withData(base: FoundBase, data: unknown): FoundData | null {
  return typeof data === "string" || data instanceof Uint8Array ? { ...base, data } : null;
}

function urlIn(value: unknown): unknown {
  return isRecord(value) ? value["url"] : value;
}

function nameOf(value: unknown): string {
  return attachmentName(textOf(value) ?? "");
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** @throws AttachmentError */
export function decodeBase64(name: string, data: string): Uint8Array {
  checkSize(name, Math.floor(data.length * 0.75) - 2, attachmentLimits.fileBytes);
  if (/[^A-Za-z0-9+/_=\s-]/.test(data)) {
    throw new AttachmentError(name, "base64 data", "other characters");
  }
  return Buffer.from(data, "base64");
}

import { type BaseMessage, HumanMessage, type MessageContent } from "@langchain/core/messages";
import type { BlobStore } from "../../durable-saver.ts";
import { StratagraphError } from "../../errors.ts";
import {
  type AttachmentReference,
  attachmentLabel,
  attachmentLine,
  attachmentName,
  attachmentsOf,
  isAttachmentReference,
  isTextAttachment,
  sha256Of,
  type TextAttachment,
} from "../../state/attachment.ts";
import type { AgentModel, ModelRequest, ModelSource } from "../agent-model.ts";
import { inputsOf, readsType, UnsupportedAttachmentError } from "../model-inputs.ts";

/** Characters of base64 that a source of models keeps between calls. */
const cacheCharacters = 64 * 1024 * 1024;

/**
 * Models whose requests may refer to attachments: the references become data that the provider reads. A request with an
 * attachment that the model cannot read is refused before the model is asked.
 *
 * @param blobs the attachments by thread
 */
export function withAttachments(models: ModelSource, blobs: BlobStore): ModelSource {
  // A nested agent is compiled with the models of the outer one.
  if (reading.has(models)) return models;
  const known = sources.get(blobs) ?? new WeakMap<ModelSource, ModelSource>();
  sources.set(blobs, known);
  const source = known.get(models) ?? readingSource(models, blobs);
  known.set(models, source);
  return source;
}

const sources = new WeakMap<BlobStore, WeakMap<ModelSource, ModelSource>>();
/** Sources that resolve attachments. */
const reading = new WeakSet<ModelSource>();

function readingSource(models: ModelSource, blobs: BlobStore): ModelSource {
  const encoded = new EncodedBlobs(blobs);
  const made = new WeakMap<AgentModel, AgentModel>();
  const source: ModelSource = {
    ...models,
    async resolve(options) {
      const model = await models.resolve(options);
      const known = made.get(model) ?? readingModel(model, encoded);
      made.set(model, known);
      return known;
    },
  };
  reading.add(source);
  return source;
}

function readingModel(model: AgentModel, encoded: EncodedBlobs): AgentModel {
  const { ref, toolCalling, profile } = model;
  const inputs = profile.inputs ?? inputsOf(ref);
  return {
    ref,
    toolCalling,
    // It may change: see `learningParallelCalls`.
    get parallelCalls() {
      return model.parallelCalls;
    },
    profile,
    async call(request, config) {
      const threadId: unknown = config.configurable?.["thread_id"];
      const refuse = (reference: AttachmentReference) => {
        if (!readsType(inputs, reference.mime_type)) {
          throw new UnsupportedAttachmentError(ref, reference, inputs);
        }
      };
      const thread = typeof threadId === "string" ? threadId : "";
      return model.call(await resolved(request, { ref, refuse, encoded, thread }), config);
    },
  };
}

interface Resolving {
  /** `provider:model`. */
  readonly ref: string;
  /** @throws UnsupportedAttachmentError */
  readonly refuse: (reference: AttachmentReference) => void;
  readonly encoded: EncodedBlobs;
  readonly thread: string;
}

/** @throws UnsupportedAttachmentError, AttachmentMissingError, CorruptBlobError */
async function resolved(request: ModelRequest, of: Resolving): Promise<ModelRequest> {
  if (request.messages.every(({ content }) => typeof content === "string")) return request;
  const messages = request.messages.map((message) => messageWithAttachments(message, true));
  const references = messages.flatMap(attachmentsOf);
  for (const reference of references) of.refuse(reference);
  if (references.length === 0) {
    const isSame = messages.every((message, at) => message === request.messages[at]);
    return isSame ? request : { ...request, messages };
  }
  return { ...request, messages: await Promise.all(messages.map((one) => withData(one, of))) };
}

async function withData(message: BaseMessage, of: Resolving): Promise<BaseMessage> {
  const { content } = message;
  if (typeof content === "string") return message;
  const blocks: readonly unknown[] = content;
  if (!blocks.some(isAttachmentReference)) return message;
  const data = await Promise.all(
    blocks.map(async (block) => {
      if (!isAttachmentReference(block)) return block;
      return dataBlock(block, await of.encoded.get(of.thread, block), of.ref);
    }),
  );
  return new HumanMessage({
    content: data as Exclude<MessageContent, string>,
    ...(message.id !== undefined && { id: message.id }),
  });
}

/**
 * Returns data in the form that the LangChain class of the provider converts. Every class takes images as data URLs.
 * Files and sounds are LangChain's data blocks; OpenAI calls MPEG audio `audio/mp3`, and the class for Anthropic sends
 * such a block of a file twice, so that gets the provider's own block.
 */
function dataBlock(reference: AttachmentReference, data: string, model: string): object {
  const { type, mime_type: mimeType, metadata } = reference;
  if (type === "image") {
    return { type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` } };
  }
  if (type === "file" && model.startsWith("anthropic:")) {
    const source = { type: "base64", media_type: mimeType, data };
    return { type: "document", title: metadata.name, source };
  }
  const isMp3 = mimeType === "audio/mpeg" && model.startsWith("openai:");
  return {
    type,
    source_type: "base64",
    mime_type: isMp3 ? "audio/mp3" : mimeType,
    data,
    metadata: { name: metadata.name, filename: metadata.name },
  };
}

/** Attachments as base64, with the last used ones in memory. */
class EncodedBlobs {
  readonly #blobs: BlobStore;
  readonly #known = new Map<string, string>();
  #characters = 0;

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  /** @throws AttachmentMissingError, CorruptBlobError */
  async get(thread: string, reference: AttachmentReference): Promise<string> {
    const sha256 = sha256Of(reference);
    const key = `${sha256} ${thread}`;
    const known = this.#known.get(key);
    if (known !== undefined) {
      this.#known.delete(key);
      this.#known.set(key, known);
      return known;
    }
    const bytes = await this.#blobs.get(thread, sha256);
    if (bytes === null) throw new AttachmentMissingError(thread, reference);
    const { buffer, byteOffset, byteLength } = bytes;
    const data = Buffer.from(buffer, byteOffset, byteLength).toString("base64");
    this.#keep(key, data);
    return data;
  }

  #keep(key: string, data: string): void {
    if (data.length > cacheCharacters || this.#known.has(key)) return;
    this.#known.set(key, data);
    this.#characters += data.length;
    for (const [oldest, { length }] of this.#known) {
      if (this.#characters <= cacheCharacters) return;
      this.#known.delete(oldest);
      this.#characters -= length;
    }
  }
}

/** A message refers to an attachment that is not stored for its thread. Becomes the turn's failure. */
class AttachmentMissingError extends StratagraphError {
  readonly code = "attachment_missing";
  override readonly kind = "run";

  constructor(
    readonly threadId: string,
    reference: AttachmentReference,
  ) {
    super(
      `Expected the bytes of the attached ${attachmentLabel(reference)} in thread "${threadId}", but they are not stored. ` +
        "Attach the file again.",
    );
  }
}

const shown = new WeakMap<BaseMessage, BaseMessage>();
const listed = new WeakMap<BaseMessage, BaseMessage>();

/**
 * Returns a person's message as models read it: the text of files under a heading with their name, and references to
 * bytes as they are, or each as a line of text. A message without attachments is returned as it is.
 *
 * @param keepsReferences whether the model gets the bytes
 */
export function messageWithAttachments(
  message: BaseMessage,
  keepsReferences: boolean,
): BaseMessage {
  const { content } = message;
  if (typeof content === "string" || !HumanMessage.isInstance(message)) return message;
  if (!content.some((block) => isAttachmentReference(block) || isTextAttachment(block))) {
    return message;
  }
  const cache = keepsReferences ? shown : listed;
  const known = cache.get(message);
  if (known !== undefined) return known;
  const blocks = content.map((block: unknown) => {
    if (isTextAttachment(block)) return textBlock(fileText(block));
    const isLine = isAttachmentReference(block) && !keepsReferences;
    return isLine ? textBlock(attachmentLine(block)) : block;
  }) as Exclude<MessageContent, string>;
  const texts = blocks.flatMap(({ type, text }) => (type === "text" ? [text as string] : []));
  const made = new HumanMessage({
    content: texts.length === blocks.length ? texts.join("\n\n") : blocks,
    ...(message.id !== undefined && { id: message.id }),
  });
  cache.set(message, made);
  return made;
}

function textBlock(text: string) {
  return { type: "text" as const, text };
}

function fileText({ text, mime_type: mimeType, metadata }: TextAttachment): string {
  return `[File ${attachmentName(metadata.name)}, ${mimeType}]\n${text}`;
}

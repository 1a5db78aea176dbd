import { StratagraphError } from "../errors.ts";
import { type AttachmentReference, attachmentLabel } from "../state/attachment.ts";

/** A kind of attachment that a model reads; a MIME type stands for that type alone. */
export type ModelInput = "image" | "pdf" | "audio" | `image/${string}` | `audio/${string}`;

const image = ["image"] as const;
const imageAndPdf = ["image", "pdf"] as const;
const all = ["image", "pdf", "audio"] as const;

/**
 * The attachments that models read, by patterns of `provider:model`; the first that fits holds. From the model pages of
 * the providers as of July 2026, as far as the LangChain class of the provider passes them on.
 */
const known: readonly (readonly [pattern: RegExp, inputs: readonly ModelInput[]])[] = [
  [/^openai:(gpt-4o(-mini)?-audio|gpt-audio)/, ["audio/wav", "audio/mpeg"]],
  [/^openai:gpt-[\w.-]*(realtime|transcribe|search|tts|oss|image)/, []],
  [/^openai:(gpt-4-turbo|gpt-4-vision)/, image],
  [/^openai:(chatgpt-4o|gpt-4o|gpt-4\.[15]|gpt-[5-9])/, imageAndPdf],
  [/^openai:(o1(-\d|-pro|$)|o3(-\d|-pro|-deep|$)|o4)/, imageAndPdf],

  [/^anthropic:claude-3-(opus|sonnet|haiku)/, image],
  [/^anthropic:claude-(3-[5-9]|(opus|sonnet|haiku)-[4-9])/, imageAndPdf],

  [/^google:(models\/)?gemini-[\w.-]*(tts|live|embedding)/, []],
  [/^google:(models\/)?gemini-(1\.5|[2-9])/, all],

  [
    /^mistral:(pixtral|mistral-(medium|small)-(latest|25|26)|magistral-(medium|small)-(latest|2509))/,
    image,
  ],
  [
    /^bedrock:([\w-]+\.)?(anthropic\.claude-(3|opus|sonnet|haiku)|amazon\.nova-(lite|pro|premier))/,
    image,
  ],
  [/^groq:(meta-llama\/)?llama-4-/, image],
  [
    /^ollama:(llava|bakllava|llama3\.2-vision|llama4|gemma3(:(4|12|27)b|:latest|$)|qwen(2\.5|3)-?vl|minicpm-v|moondream|granite3\.\d-vision|mistral-small3\.[12])/,
    image,
  ],
];

/** Returns the attachments that a model reads, by its `provider:model`; none where nothing is known of it. */
export function inputsOf(ref: string): readonly ModelInput[] {
  const plain = ref.replace(/^openai:ft:([^:]+).*$/, "openai:$1");
  return known.find(([pattern]) => pattern.test(plain))?.[1] ?? [];
}

/** Whether one of the inputs is, or includes, a type. */
export function readsType(inputs: readonly ModelInput[], mimeType: string): boolean {
  return inputs.some(
    (input) =>
      input === mimeType ||
      (input === "pdf" ? mimeType === "application/pdf" : mimeType.startsWith(`${input}/`)),
  );
}

/** The model cannot read an attachment. It was not asked. Becomes the turn's failure. */
export class UnsupportedAttachmentError extends StratagraphError {
  readonly code = "unsupported_attachment";
  override readonly kind = "run";
  readonly mimeType: string;
  readonly attachment: string;

  constructor(
    /** `provider:model`. */
    readonly model: string,
    reference: AttachmentReference,
    inputs: readonly ModelInput[],
  ) {
    const mimeType = reference.mime_type;
    const reads = inputs.length === 0 ? "text only" : `text, ${inputs.join(", ")}`;
    super(
      `Model "${model}" cannot read the attached ${attachmentLabel(reference)} (${mimeType}): it reads ${reads}. ` +
        `Use a model that reads this type, attach the content as text, or, if the model does read it, ` +
        `set modelOptions.inputs["${model}"].`,
    );
    this.mimeType = mimeType;
    this.attachment = reference.metadata.name;
  }
}

import { isRecord } from "../../state/is-record.ts";

/**
 * What a call gives, from what LangChain's adapter made of the answer: structured content where there is some; the text
 * where text is all there is; else a list of blocks, in which images, sound and files without text are only described.
 * Null where the server said nothing.
 */
export function resultValue(made: unknown): unknown {
  const [content, artifacts] = Array.isArray(made) ? (made as unknown[]) : [made, []];
  const structured = (Array.isArray(artifacts) ? (artifacts as unknown[]) : []).find(
    (artifact) => isRecord(artifact) && artifact["type"] === "mcp_structured_content",
  );
  if (isRecord(structured)) return structured["data"];
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
  const [only, ...others] = blocks;
  if (only === undefined) return null;
  if (typeof only === "string") return only;
  if (others.length === 0 && isRecord(only) && only["type"] === "text") return only["text"];
  return blocks.map(described);
}

function described(block: unknown): unknown {
  if (!isRecord(block)) return block;
  const { type, text, data, url, mime_type: mimeType, metadata } = block;
  if (type === "text") return { type, text };
  const kind = type === "file" ? (url === undefined ? "resource" : "resource_link") : type;
  const uri = url ?? (isRecord(metadata) ? metadata["uri"] : undefined);
  return {
    type: kind,
    ...(uri !== undefined && { uri }),
    ...(mimeType !== undefined && { mimeType }),
    ...(typeof text === "string" && { text }),
    ...(typeof data === "string" && { bytes: Buffer.byteLength(data, "base64") }),
  };
}

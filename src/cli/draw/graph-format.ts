import { extname } from "node:path";
import { UsageError } from "../usage-error.ts";

export const graphFormats = ["mermaid", "svg", "png", "json"] as const;

export type GraphFormat = (typeof graphFormats)[number];

/** Of plans: what an agent's graph has, and text for people. */
export const planFormats = [...graphFormats, "text"] as const;

export type PlanFormat = (typeof planFormats)[number];

const formatOfExtension: Readonly<Record<string, GraphFormat>> = {
  ".mmd": "mermaid",
  ".mermaid": "mermaid",
  ".svg": "svg",
  ".png": "png",
  ".json": "json",
};

/**
 * The format that a file's name asks for; Mermaid text where there is no file.
 * @throws UsageError
 */
export function formatOfFile(file: string | undefined): GraphFormat {
  if (file === undefined) return "mermaid";
  const format = formatOfExtension[extname(file).toLowerCase()];
  if (format !== undefined) return format;
  throw new UsageError(
    `${file} says no format: end it in ${Object.keys(formatOfExtension).join(", ")}, or give --format.`,
    "unknown_file_type",
  );
}

/**
 * The same for plans: text where there is no file.
 * @throws UsageError
 */
export function planFormatOfFile(file: string | undefined): PlanFormat {
  if (file === undefined || extname(file).toLowerCase() === ".txt") return "text";
  return formatOfFile(file);
}

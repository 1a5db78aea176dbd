import { type CliIo, UsageError } from "../io.ts";
import { extname, resolve } from "node:path";
import { writeFileAtomic } from "../input.ts";
import { exitCodes } from "../report-error.ts";
import { findBrowser } from "./find-browser.ts";
import { asStandIn, type Escape } from "../../compile/mermaid-text.ts";

/**
 * Draws Mermaid text, made with the escape that pictures need.
 * @throws BrowserNotFoundError, MissingDrawingPackageError, DrawingFailedError
 */
export async function drawPicture(
  mermaid: (escape: Escape) => string,
  format: "svg" | "png",
  { browser: given, io }: { readonly browser: string | undefined; readonly io: CliIo },
): Promise<Uint8Array> {
  const { platform } = process;
  const browser = await findBrowser({ given, env: io.env, platform, cwd: io.cwd });
  const { renderPicture } = await import("./render-picture.ts");
  return renderPicture(mermaid(asStandIn), { format, browser });
}

/**
 * Writes a drawing to a file, or to standard output.
 * @returns the exit code
 * @throws OutputFileError
 */
export async function writeDrawing(
  content: string | Uint8Array,
  out: string | undefined,
  io: CliIo,
): Promise<number> {
  if (out === undefined) {
    io.stdout.write(typeof content === "string" ? content : Buffer.from(content).toString());
    return exitCodes.done;
  }
  await writeFileAtomic(resolve(io.cwd, out), content);
  io.stderr.write(`Wrote ${out}\n`);
  return exitCodes.done;
}

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
    `${file} has no known format: use ${Object.keys(formatOfExtension).join(", ")}, or give --format.`,
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

import { resolve } from "node:path";
import type { CliIo } from "../io.ts";
import { exitCodes } from "../report-error.ts";
import { writeWhole } from "../write-whole.ts";
import { asStandIn, type Escape } from "./escape-text.ts";
import { findBrowser } from "./find-browser.ts";

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
  await writeWhole(resolve(io.cwd, out), content);
  io.stderr.write(`Wrote ${out}\n`);
  return exitCodes.done;
}

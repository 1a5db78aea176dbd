import { access, constants } from "node:fs/promises";
import { join, resolve } from "node:path";
import { StratagraphError } from "../../errors.ts";

export interface BrowserSearch {
  /** `--browser`; then nothing else is tried. */
  readonly given: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly cwd: string;
}

/**
 * Where a Chromium or Chrome is: the one given, that of `CHROMIUM_PATH`, or the first in the usual places.
 * @throws BrowserNotFoundError
 */
export async function findBrowser(search: BrowserSearch): Promise<string> {
  const { given, env, cwd } = search;
  const named = given || env["CHROMIUM_PATH"];
  const tried = named ? [resolve(cwd, named)] : usualPlaces(search);
  for (const place of tried) {
    const runs = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs) return place;
  }
  throw new BrowserNotFoundError(tried);
}

/** The usual places of a platform, in the order in which they are tried. */
export function usualPlaces({ env, platform }: Pick<BrowserSearch, "env" | "platform">): string[] {
  switch (platform) {
    case "darwin":
      return ["Google Chrome", "Chromium"].map((name) =>
        join("/Applications", `${name}.app`, "Contents/MacOS", name),
      );
    case "win32":
      return ["PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"].flatMap((variable) => {
        const folder = env[variable];
        return folder ? [join(folder, "Google", "Chrome", "Application", "chrome.exe")] : [];
      });
    default:
      return ["chromium", "chromium-browser", "google-chrome"].map((name) =>
        join("/usr/bin", name),
      );
  }
}

/** A package that draws pictures is not installed. */
export class MissingDrawingPackageError extends StratagraphError {
  readonly code = "missing_drawing_package";

  constructor(
    readonly packageName: string,
    options?: { cause?: unknown },
  ) {
    super(
      `SVG and PNG output needs ${packageName}, which is not installed. Install the requirements: ` +
        `npm install --save-dev playwright-core @mermaid-js/tiny, and Chromium or Chrome. ` +
        `--format mermaid and --format json need neither.`,
      options,
    );
  }
}

/** No browser was found that could draw a picture. */
export class BrowserNotFoundError extends StratagraphError {
  readonly code = "browser_not_found";

  constructor(
    /** Where one was looked for. */
    readonly tried: readonly string[],
  ) {
    super(
      `SVG and PNG output needs Chromium or Chrome, and none was found at ${tried.join(", ")}. Install one ` +
        `(for example: apt-get install chromium), or give its path with --browser PATH or CHROMIUM_PATH. ` +
        `--format mermaid and --format json need no browser.`,
    );
  }
}

/** The browser was there and drew nothing. */
export class DrawingFailedError extends StratagraphError {
  readonly code = "drawing_failed";
  override readonly kind = "run";

  constructor(
    readonly browser: string,
    options: { cause: unknown },
  ) {
    const [reason = ""] = String(
      options.cause instanceof Error ? options.cause.message : options.cause,
    ).split("\n");
    super(`${browser} could not draw the picture: ${reason}`, options);
  }
}

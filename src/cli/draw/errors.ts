import { StratagraphError } from "../../errors.ts";

/** A package that draws pictures is not installed. */
export class MissingDrawingPackageError extends StratagraphError {
  readonly code = "missing_drawing_package";

  constructor(
    readonly packageName: string,
    options?: { cause?: unknown },
  ) {
    super(
      `Pictures are drawn with ${packageName}, which is not installed. Install what they need: ` +
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
      `Pictures are drawn in Chromium or Chrome, and there is none at ${tried.join(", ")}. Install one ` +
        `(for example: apt-get install chromium), or say where it is with --browser PATH or CHROMIUM_PATH. ` +
        `--format mermaid and --format json need none.`,
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

import { StratagraphError } from "../errors.ts";

/** A file could not be written. */
export class OutputFileError extends StratagraphError {
  readonly code = "output_file";

  constructor(
    readonly file: string,
    options: { cause: unknown },
  ) {
    const { code, message } = options.cause as NodeJS.ErrnoException;
    super(
      `Cannot write ${file}: ${code === "ENOENT" ? "its folder does not exist" : message}.`,
      options,
    );
  }
}

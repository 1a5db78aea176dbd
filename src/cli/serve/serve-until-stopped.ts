import type { ServerOptions, PlatformServer } from "../../create-server.ts";
import type { CliIo, StopReason } from "../io.ts";
import { exitCodes } from "../report-error.ts";
import { usualShutdownSeconds } from "./engine-options.ts";

/**
 * Runs a server until a signal comes, then finishes the requests under way. A second signal ends the process at once.
 *
 * @param begin listens, and returns a function that is called before the server closes
 * @returns the exit code
 */
export async function serveUntilStopped(
  server: PlatformServer,
  given: {
    readonly io: Pick<CliIo, "onStop">;
    readonly logger: NonNullable<ServerOptions["logger"]>;
    readonly shutdownSeconds?: number | undefined;
  },
  begin: () => Promise<() => void | Promise<void>>,
): Promise<number> {
  let release = () => {};
  const stopped = new Promise<StopReason>((stop) => {
    release = given.io.onStop(stop);
  });
  let end: () => void | Promise<void> = () => {};
  try {
    end = await begin();
    const reason = await stopped;
    given.logger.info({ reason }, "shutting down");
    return exitCodes.done;
  } finally {
    await end();
    await server.close(1000 * (given.shutdownSeconds ?? usualShutdownSeconds));
    // Until here a second signal ends the process.
    release();
  }
}

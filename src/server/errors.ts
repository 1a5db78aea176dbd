import { StratagraphError } from "../errors.ts";

// In a file of their own, so that the package can export them without loading the server.

/** Without keys a server may listen on loopback only. */
export class UnprotectedServerError extends StratagraphError {
  readonly code = "unprotected_server";

  constructor(readonly host: string) {
    super(
      `Without API keys the server listens on loopback only, got the host ${JSON.stringify(host.slice(0, 100))}. ` +
        "Create keys and configure them, or listen on 127.0.0.1.",
    );
  }
}

/** The address is taken, or may not be listened on. */
export class ListenError extends StratagraphError {
  readonly code = "listen";

  constructor(host: string, port: number, options: { cause: unknown }) {
    const { code = "" } = options.cause as NodeJS.ErrnoException;
    super(
      `The server cannot listen on ${host}:${port} (${code}). Choose another port or host.`,
      options,
    );
  }
}

/** A trusted proxy is no IP address and no range of them. */
export class InvalidProxyError extends StratagraphError {
  readonly code = "invalid_proxy";

  constructor(readonly proxy: string) {
    super(
      `Expected a trusted proxy as an IP address or a range such as 10.0.0.0/8, got ${JSON.stringify(proxy.slice(0, 100))}.`,
    );
  }
}

/** The server was closed, and does not listen again. */
export class ServerClosedError extends StratagraphError {
  readonly code = "server_closed";

  constructor() {
    super("The server was closed. Create another one.");
  }
}

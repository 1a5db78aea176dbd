import { StratagraphError } from "../../../errors.ts";

/**
 * What `http_get` may ask: `api.example.com`, `*.example.org` (its subdomains, not itself), `127.0.0.1:8080`, or
 * `https://example.com/api/` for what is below a path. Without a scheme both http and https, without a port the
 * scheme's own.
 */
export type HttpAllow = string | HttpAllowOptions;

export interface HttpAllowOptions {
  readonly host: string;
  /**
   * Sent to this host, and never to one that it redirects to. `{{secret:NAME}}` stands for a secret. Only over https,
   * unless `host` begins with `http://` or is an address or localhost.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the host may be in a private network. Addresses and localhost are by being named. Default false. */
  readonly private?: boolean;
}

/** An entry of the allow-list is not written as it has to be. */
export class HttpAllowError extends StratagraphError {
  readonly code = "http_allow";

  constructor(
    readonly entry: string,
    problem: string,
  ) {
    super(
      `The entry ${JSON.stringify(entry.slice(0, 200))} of the hosts that http_get may ask is refused: ${problem}. Entries are such as api.example.com, *.example.org, 127.0.0.1:8080 or https://example.com/api/.`,
    );
  }
}

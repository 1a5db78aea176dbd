import type { Clock } from "../clock.ts";
import type { ToolContext } from "../definition/tool.ts";
import { MissingSecretError } from "./secrets/errors.ts";
import type { Secrets } from "./secrets/secrets.ts";

/**
 * What one call's handler is given. The signal is made when the handler first asks for it, because most handlers end
 * at once and a signal costs more than such a call.
 */
export class CallContext implements ToolContext {
  readonly callId: string;
  readonly now: () => Date;
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  readonly #secrets: Secrets | undefined;

  /** A property, so that handlers may take it out of the context. */
  readonly secret = async (name: string): Promise<string> => {
    if (this.#secrets === undefined) throw new MissingSecretError(name);
    return this.#secrets.get(name);
  };

  constructor(
    callId: string,
    env: { readonly clock: Clock; readonly secrets?: Secrets | undefined },
  ) {
    this.callId = callId;
    this.now = () => env.clock.now();
    this.#secrets = env.secrets;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#aborted ??= { reason };
    this.#controller?.abort(reason);
  }
}

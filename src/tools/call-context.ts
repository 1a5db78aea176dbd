import type { Clock } from "../clock.ts";
import type { ToolContext } from "../definition/tool.ts";

/**
 * What one call's handler is given. The signal is made when the handler first asks for it, because most handlers end
 * at once and a signal costs more than such a call.
 */
export class CallContext implements ToolContext {
  readonly callId: string;
  readonly now: () => Date;
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;

  constructor(callId: string, clock: Clock) {
    this.callId = callId;
    this.now = () => clock.now();
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

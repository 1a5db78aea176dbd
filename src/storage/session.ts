import { DatabaseBusyError } from "./errors.ts";

/** Hands out one session, first come first served. */
export class Session {
  #taken = false;
  readonly #waiting: (() => void)[] = [];

  /** @throws {DatabaseBusyError} after `waitMs` milliseconds. */
  async take(waitMs: number): Promise<void> {
    if (!this.#taken) {
      this.#taken = true;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      // Keeps the process alive on purpose: a program that waits for itself must end with this error, not in silence.
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        reject(new DatabaseBusyError(waitMs, 1));
      }, waitMs);
      const turn = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.push(turn);
    });
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken = false;
  }
}

import type { Redactions } from "../../state/redactions.ts";
import type { RailDesk, RailDeskOptions } from "./rail-desk.ts";
import { areRails, isEmpty, workingDesk } from "./working-desk.ts";

/** Most nodes have no rails, and nothing is redacted around them: theirs is made when there is something to do. */
export function openDesk(options: RailDeskOptions): RailDesk {
  const { parts, redactions, inherited } = options;
  const isNeeded = areRails(parts.rails) || !isEmpty(redactions) || !isEmpty(inherited);
  return isNeeded ? workingDesk(options) : new IdleDesk(options);
}

class IdleDesk implements RailDesk {
  readonly #options: RailDeskOptions;
  /** Made by the first record, or the first redaction of an agent that had rails when they were made. */
  #made: RailDesk | null = null;

  constructor(options: RailDeskOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#made === null;
  }

  check(...of: Parameters<RailDesk["check"]>): ReturnType<RailDesk["check"]> {
    return this.#working().check(...of);
  }

  note(...of: Parameters<RailDesk["note"]>): void {
    if (of[1].length > 0) this.#working().note(...of);
  }

  reveal<T>(value: T, own?: "own"): T {
    return this.#made === null ? value : this.#made.reveal(value, own);
  }

  hide<T>(value: T): T {
    return this.#made === null ? value : this.#made.hide(value);
  }

  redactions(): Redactions {
    return this.#made?.redactions() ?? this.#options.redactions;
  }

  enter(redactions: Redactions): void {
    if (!isEmpty(redactions)) this.#working().enter(redactions);
  }

  made(): ReturnType<RailDesk["made"]> {
    return this.#made?.made() ?? nothing;
  }

  #working(): RailDesk {
    return (this.#made ??= workingDesk(this.#options));
  }
}

const nothing: ReturnType<RailDesk["made"]> = Object.freeze({});

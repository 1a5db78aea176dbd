import { nearestName } from "../nearest-name.ts";

/** Names listed in one message. */
const maxListed = 20;
/** Letter by letter comparisons for all messages about one set of names: a plan of wrong names stays cheap. */
const maxCompared = 5_000;

/** The names that there are, for messages about one that there is not. */
export class KnownNames {
  readonly #names: readonly string[];
  readonly #nearest = new Map<string, string | undefined>();
  #compared = 0;
  #listed: string | undefined;

  constructor(names: Iterable<string>) {
    this.#names = [...names];
  }

  /** What to take instead of `name`: the nearest one but for `except`, and what there is. */
  hint(name: string, except?: string): string {
    const near = this.#near(name);
    const meant = near === undefined || near === except ? "" : ` Did you mean "${near}"?`;
    this.#listed ??= listed(this.#names);
    return meant + this.#listed;
  }

  #near(name: string): string | undefined {
    if (this.#nearest.has(name)) return this.#nearest.get(name);
    const compared = this.#names.slice(0, maxCompared - this.#compared);
    this.#compared += compared.length;
    const near = nearestName(name, compared);
    this.#nearest.set(name, near);
    return near;
  }
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return " There are none.";
  const more = names.length - maxListed;
  const rest = more > 0 ? ` and ${more.toLocaleString("en")} more` : "";
  return ` There are: ${names.slice(0, maxListed).join(", ")}${rest}.`;
}

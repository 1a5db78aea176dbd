import { type ShortTermPolicy, shortTermStrategies } from "../reasoning-context.ts";
import type { Entry } from "../transcript.ts";

/**
 * How an entry is rendered, from longest to shortest: `whole`; `settled`, its form once another entry follows; `preview`;
 * `line`; `short`, a line with fewer facts; `digest`, within the summary of its turn; `brief`, in a shorter one that holds
 * more facts than words; `dropped`.
 */
export const level = {
  whole: 0,
  settled: 1,
  preview: 2,
  line: 3,
  short: 4,
  digest: 5,
  brief: 6,
  dropped: 7,
} as const;
export type Level = (typeof level)[keyof typeof level];

/** What the fitting has to know of an entry of a transcript. */
export interface Sized {
  readonly kind: "spoken" | "step" | "fixed";
  readonly turn: number;
  /** Told as it is while its turn is the last one. */
  readonly isRequest: boolean;
  /** Place of the entry from which on the errors of this one are mended; -1 where it has none. */
  readonly openUntil: number;
  /**
   * Tokens of the entry at this level.
   * @param from place of the first entry that is not dropped: a line names the values that no line since then names
   * @param isLast whether it is the last step, which always has its lines
   */
  size(as: Level, from: number, isLast: boolean): number;
}

export interface Room {
  /** Tokens that the entries may have. */
  readonly tokens: number;
  /** What they are brought down to when they have more. At most `tokens`. */
  readonly low: number;
  /** Whether results of the turn under way stay whole as long as there is room, or those of the last step alone. */
  readonly keepsTurn: boolean;
  /** Whether results of the last step stay whole. */
  readonly keepsLast: boolean;
  readonly shortTerm: ShortTermPolicy | undefined;
}

export interface Fit {
  readonly levels: readonly Level[];
  /** Tokens of all entries. */
  readonly tokens: number;
  /** Place of the first entry that is not dropped. */
  readonly from: number;
  /** Place of the last step; -1 without one. */
  readonly lastStep: number;
}

/** What is left of the room for short-term memory when it was passed. */
const lowShare = 0.6;

/** Entries of the turn under way are dropped down to so much of the room only: its next calls may need them. */
const dropShare = 0.95;

/**
 * Decides how each entry is rendered. The history is walked from its beginning, as it grew: whenever it exceeds its room,
 * it is brought down to `low` in one move, and then grows at its end alone, so that from step to step the front stays as
 * it was. What falls away first: results of older steps, then older steps but for a line each, then the words of the
 * oldest turns, then numbers in lines, then the oldest turns. Entries of the last turn, requests and the last step fall
 * last, open errors not at all.
 *
 * The same entries and the same room give the same fit, whether the list was complete or grew in between. Time is linear
 * in the entries for each move, and constant for an entry without one.
 */
export class HistoryFitter implements Fit {
  readonly levels: Level[];
  tokens = 0;
  from = 0;
  /** Times that it was brought down. */
  moves = 0;
  /** The most tokens that there were after an entry, and at the end of a turn. */
  peak = 0;
  turnPeak = 0;
  /** The last step so far. */
  lastStep = -1;
  /** The first entry of the last turn so far. */
  turnStart = 0;
  readonly #entries: readonly Sized[];
  readonly #room: Room;
  /** Whether an answer has followed it: then it is shortened like others. */
  isAnswered = false;
  /** The first entry that is rendered otherwise than before. */
  #changed = 0;

  /** @param entries may grow: see {@link grow} */
  constructor(entries: readonly Sized[], room: Room, levels: readonly Level[] = []) {
    this.#entries = entries;
    this.#room = room;
    this.levels = levels.slice();
  }

  /** Returns the same fit, which changes on its own. @param entries the same, or with other sizes of the last step */
  copy(entries: readonly Sized[]): HistoryFitter {
    const copy = new HistoryFitter(entries, this.#room, this.levels);
    const { tokens, from, moves, lastStep, turnStart, isAnswered } = this;
    return Object.assign(copy, { tokens, from, moves, lastStep, turnStart, isAnswered });
  }

  /** Returns how it is now. */
  fit(): Fit {
    const { levels, tokens, from, lastStep } = this;
    return { levels: levels.slice(), tokens, from, lastStep };
  }

  /** Returns the place of the first entry that is rendered otherwise than at the last call; 0 at the first. */
  takeChanged(): number {
    const changed = this.#changed;
    this.#changed = this.levels.length;
    return changed;
  }

  /** Takes one more entry; false when there is none. */
  grow(): boolean {
    const at = this.levels.length;
    const entry = this.#entries[at];
    if (entry === undefined) return false;
    const before = this.#entries[at - 1];
    if (before !== undefined && before.turn !== entry.turn) this.#endTurn(at);
    if (entry.kind === "spoken" && !entry.isRequest) this.isAnswered = true;
    if (entry.kind === "step") {
      this.isAnswered = false;
      if (!this.#room.keepsTurn) this.#settle(this.lastStep);
      this.#endLast(at);
    }
    this.levels.push(level.whole);
    this.tokens += entry.size(level.whole, this.from, at === this.lastStep);
    if (!this.#room.keepsLast) this.#settle(at);
    this.peak = Math.max(this.peak, this.tokens);
    if (this.tokens > this.#room.tokens) {
      const own = Math.floor(this.#room.tokens * dropShare);
      this.shorten(this.#low(), this.levels.length, { drops: !this.isLastLarge, own });
    }
    return true;
  }

  /**
   * Shortens the entries before `end` to a number of tokens, as far as possible, dropping some if needed.
   *
   * @param how `own`: tokens down to which entries of the turn under way are dropped, at least `low`
   */
  shorten(
    low: number,
    end: number,
    how: { readonly drops?: boolean; readonly own?: number } = {},
  ): void {
    const { drops = true, own = low } = how;
    this.moves += 1;
    const isOld = (at: number): boolean =>
      at !== this.lastStep || this.isAnswered || this.isLastOver;
    const isStep = (at: number): boolean => this.#entries[at]?.kind === "step" && isOld(at);
    this.#lower(level.preview, low, { to: end, when: isStep });
    this.#lower(level.line, low, { to: end, when: isStep });
    this.#lowerTurns(level.digest, low, this.turnStart);
    this.#lowerTurns(level.brief, low, this.turnStart);
    this.#lower(level.short, low, { to: end, when: isStep });
    if (!drops) return;
    const mayGo = (at: number): boolean => at !== this.lastStep && this.#mayDrop(at, end);
    this.#lower(level.dropped, low, { to: this.turnStart, when: mayGo });
    this.#lower(level.dropped, Math.max(low, own), { to: end, when: mayGo });
  }

  /** Whether the turn of the last step is over. */
  get isLastOver(): boolean {
    return this.lastStep < this.turnStart;
  }

  /**
   * Whether the last step takes more than half of the room. It is shortened as soon as another step follows. Until then it
   * is shortened itself, so that nothing is dropped permanently because of it.
   */
  get isLastLarge(): boolean {
    return !this.isLastOver && this.lastTokens > this.#room.tokens / 2;
  }

  /** Tokens of the last step as rendered; 0 without one. */
  get lastTokens(): number {
    return this.lastStep < 0 ? 0 : this.#sizeOf(this.lastStep);
  }

  /** Accounts for a new rendering of the last step. */
  rerender(tell: (lastStep: number) => void): void {
    const before = this.lastTokens;
    tell(this.lastStep);
    this.tokens += this.lastTokens - before;
  }

  /** Tells the last step so. */
  shortenLast(as: Level): void {
    if (this.lastStep >= 0) this.#set(this.lastStep, as);
  }

  /** The last step of a turn that goes on is soon told shorter: a large one is to push out little of what was before. */
  #low(): number {
    const { tokens, low } = this.#room;
    if (tokens <= low) return low;
    const last = this.isLastOver ? 0 : this.lastTokens;
    const rest = Math.max(0, tokens - last);
    return Math.floor(tokens - rest * (1 - low / tokens));
  }

  #endTurn(at: number): void {
    for (let one = this.turnStart; one < at; one += 1) this.#settle(one);
    this.turnStart = at;
    this.turnPeak = Math.max(this.turnPeak, this.tokens);
    const { shortTerm } = this.#room;
    if (shortTerm === undefined || this.tokens <= shortTerm.maxTokens) return;
    this.moves += 1;
    const low = Math.floor(shortTerm.maxTokens * lowShare);
    const isStep = (place: number): boolean => this.#entries[place]?.kind === "step";
    const rules = shortTermStrategies[shortTerm.strategy];
    if (rules.shortensSteps) {
      this.#lower(level.preview, low, { to: at, when: isStep });
      this.#lower(level.line, low, { to: at, when: isStep });
    }
    if (rules.dropsTurns) return this.#lowerTurns(level.dropped, low, at);
    this.#lowerTurns(level.digest, low, at);
    this.#lowerTurns(level.brief, low, at);
    const mayGo = (place: number): boolean => place !== this.lastStep && this.#mayDrop(place, at);
    this.#lower(level.dropped, low, { to: at, when: mayGo });
  }

  /** One line of the last step is kept whatever it says, as long as it is the last one. */
  #endLast(next: number): void {
    const last = this.lastStep;
    const isBrief = this.levels[last] === level.brief;
    const before = isBrief ? this.#sizeOf(last) : 0;
    this.lastStep = next;
    if (!isBrief) return;
    this.tokens += this.#sizeOf(last) - before;
    this.#changed = 0;
  }

  #sizeOf(at: number, as = this.levels[at] as Level): number {
    return (this.#entries[at] as Sized).size(as, this.from, at === this.lastStep);
  }

  #settle(at: number): void {
    if (this.#entries[at]?.kind === "step" && this.levels[at] === level.whole) {
      this.#set(at, level.settled);
    }
  }

  #lower(as: Level, low: number, range: { readonly to: number; when(at: number): boolean }): void {
    for (let at = this.from; at < range.to && this.tokens > low; at += 1) {
      if (range.when(at) && (this.levels[at] as Level) < as) this.#set(at, as);
    }
    this.#moveFrom();
  }

  /** Whole turns, the oldest first. */
  #lowerTurns(as: Level, low: number, to: number): void {
    for (let start = this.from; start < to && this.tokens > low;) {
      const turn = this.#entries[start]?.turn;
      let end = start;
      for (; end < to && this.#entries[end]?.turn === turn; end += 1) {
        const own = as === level.dropped && end === this.lastStep ? level.brief : as;
        if ((this.levels[end] as Level) < own) this.#set(end, own);
      }
      start = end;
    }
    this.#moveFrom();
  }

  #mayDrop(at: number, end: number): boolean {
    const entry = this.#entries[at] as Sized;
    const stays = entry.isRequest || entry.kind === "fixed";
    if (stays && at >= this.turnStart) return false;
    return entry.openUntil < end;
  }

  #set(at: number, as: Level): void {
    const was = this.#sizeOf(at);
    const is = this.#sizeOf(at, as);
    // Short results are no shorter as previews, nor short steps as lines.
    if (is > was && as < level.digest) return;
    this.tokens += is - was;
    this.levels[at] = as;
    // Entries shorter than a line are rendered at the front.
    this.#changed = as < level.digest ? Math.min(this.#changed, at) : 0;
  }

  /** Lines name anew what only dropped ones named. */
  #moveFrom(): void {
    let from = this.from;
    while (from < this.levels.length && this.levels[from] === level.dropped) from += 1;
    if (from === this.from) return;
    this.from = from;
    this.tokens = 0;
    this.#changed = 0;
    for (let at = from; at < this.levels.length; at += 1) this.tokens += this.#sizeOf(at);
  }
}

/** No error at all. */
const noError = -1;

/**
 * Until when an error of an entry is open: until the step from which on every tool that failed in it has succeeded, or
 * the next turn, which begins when this one has come to its end in spite of it.
 */
export class OpenErrors {
  readonly #until: number[] = [];
  #turn: number | undefined;
  /** Entries of the last turn with failures that are not mended, by tool. */
  readonly #waiting = new Map<string, number[]>();
  /** Tools that each of them waits for. */
  readonly #open = new Map<number, number>();

  push(entry: Entry): void {
    const at = this.#until.length;
    if (entry.turn !== this.#turn) {
      for (const open of this.#open.keys()) this.#until[open] = at;
      this.#open.clear();
      this.#waiting.clear();
      this.#turn = entry.turn;
    }
    this.#until.push(noError);
    if (entry.kind !== "step") return;
    const { tool_results: results } = entry.step;
    for (const { name, outcome } of results) if (outcome === "success") this.#succeed(name, at);
    const failed = results.filter(({ outcome }) => outcome !== "success");
    for (const name of new Set(failed.map((result) => result.name))) {
      const waiting = this.#waiting.get(name);
      if (waiting === undefined) this.#waiting.set(name, [at]);
      else waiting.push(at);
      this.#open.set(at, (this.#open.get(at) ?? 0) + 1);
    }
    if (failed.length > 0) this.#until[at] = Infinity;
  }

  /** Place of the entry from which on all is mended; Infinity as long as it is not, and -1 for an entry without errors. */
  until(at: number): number {
    return this.#until[at] ?? noError;
  }

  #succeed(name: string, at: number): void {
    for (const failed of this.#waiting.get(name) ?? []) {
      const tools = (this.#open.get(failed) ?? 1) - 1;
      if (tools > 0) this.#open.set(failed, tools);
      else {
        this.#open.delete(failed);
        this.#until[failed] = at;
      }
    }
    this.#waiting.delete(name);
  }
}

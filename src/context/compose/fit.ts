import { type ShortTermPolicy, shortTermStrategies } from "../reasoning-context.ts";
import type { Entry } from "../transcript.ts";

/**
 * How an entry is rendered, from longest to shortest: `whole`; `settled`, its form once another entry follows; `preview`;
 * `line`; `short`, a line with fewer facts; `digest`, within the summary of its turn; `brief`, in a shorter one that holds more facts than words; `dropped`.
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
   */
  size(as: Level, from: number): number;
}

export interface Room {
  /** Tokens that the entries may have. */
  readonly tokens: number;
  /** What they are brought down to when they have more. At most `tokens`. */
  readonly low: number;
  /** Whether results of the turn under way stay whole as long as there is room, or those of the last step alone. */
  readonly keepsTurn: boolean;
  /** Whether results of the last step stay whole. Default true. */
  readonly keepsLast?: boolean;
  readonly shortTerm: ShortTermPolicy | undefined;
  /** Counts the moves without applying them. */
  readonly onlyAsks?: boolean;
}

export interface Fit {
  readonly levels: readonly Level[];
  /** Tokens of all entries. */
  readonly tokens: number;
  /** Place of the first entry that is not dropped. */
  readonly from: number;
}

/** What is left of the room for short-term memory when it was passed. */
const lowShare = 0.6;

/** Entries of the turn under way are dropped down to so much of the room only: its next calls may need them. */
const dropShare = 0.95;

/**
 * Decides how each entry is rendered. The history is walked from its beginning, as it grew: whenever it exceeds its room,
 * it is brought down to `low` in one move, and then grows at its end alone, so that from step to step the front stays as
 * it was. What falls away first: results of older steps, then older steps but for a line each, then the words of the
 * oldest turns, then numbers in lines, then the oldest turns. Entries of the last turn, requests and the last step fall last, open errors not at all.
 *
 * The same entries and the same room give the same fit. Time is linear in the entries for each move.
 */
export class HistoryFitter implements Fit {
  readonly levels: Level[] = [];
  tokens = 0;
  from = 0;
  /** Times that it was brought down. */
  moves = 0;
  readonly #entries: readonly Sized[];
  readonly #room: Room;
  /** The last step so far. */
  #lastStep = -1;
  /** Whether an answer has followed it: then it is shortened like others. */
  #isAnswered = false;
  /** The first entry of the last turn so far. */
  #turnStart = 0;

  constructor(entries: readonly Sized[], room: Room) {
    this.#entries = entries;
    this.#room = room;
  }

  /** Takes one more entry; false when there is none. */
  grow(): boolean {
    const at = this.levels.length;
    const entry = this.#entries[at];
    if (entry === undefined) return false;
    const before = this.#entries[at - 1];
    if (before !== undefined && before.turn !== entry.turn) this.#endTurn(at);
    if (entry.kind === "spoken" && !entry.isRequest) this.#isAnswered = true;
    if (entry.kind === "step") {
      this.#isAnswered = false;
      if (!this.#room.keepsTurn) this.#settle(this.#lastStep);
      this.#lastStep = at;
    }
    this.levels.push(level.whole);
    this.tokens += entry.size(level.whole, this.from);
    if (this.#room.keepsLast === false) this.#settle(at);
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
    if (this.#room.onlyAsks === true) return;
    const isOld = (at: number): boolean =>
      at !== this.#lastStep || this.#isAnswered || this.isLastOver;
    const isStep = (at: number): boolean => this.#entries[at]?.kind === "step" && isOld(at);
    this.#lower(level.preview, low, { to: end, when: isStep });
    this.#lower(level.line, low, { to: end, when: isStep });
    this.#lowerTurns(level.digest, low, this.#turnStart);
    this.#lowerTurns(level.brief, low, this.#turnStart);
    this.#lower(level.short, low, { to: end, when: isStep });
    if (!drops) return;
    const mayGo = (at: number): boolean => at !== this.#lastStep && this.#mayDrop(at, end);
    this.#lower(level.dropped, low, { to: this.#turnStart, when: mayGo });
    this.#lower(level.dropped, Math.max(low, own), { to: end, when: mayGo });
  }

  /** Whether the turn of the last step is over. */
  get isLastOver(): boolean {
    return this.#lastStep < this.#turnStart;
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
    const as = this.levels[this.#lastStep];
    return as === undefined ? 0 : (this.#entries[this.#lastStep] as Sized).size(as, this.from);
  }

  /** Accounts for a new rendering of the last step. */
  rerender(tell: (lastStep: number) => void): void {
    const before = this.lastTokens;
    tell(this.#lastStep);
    this.tokens += this.lastTokens - before;
  }

  /** Tells the last step so. */
  shortenLast(as: Level): void {
    if (this.#lastStep >= 0) this.#set(this.#lastStep, as);
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
    for (let one = this.#turnStart; one < at; one += 1) this.#settle(one);
    this.#turnStart = at;
    const { shortTerm } = this.#room;
    if (shortTerm === undefined || this.tokens <= shortTerm.maxTokens) return;
    this.moves += 1;
    if (this.#room.onlyAsks === true) return;
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
    const mayGo = (place: number): boolean => place !== this.#lastStep && this.#mayDrop(place, at);
    this.#lower(level.dropped, low, { to: at, when: mayGo });
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
        const own = as === level.dropped && end === this.#lastStep ? level.brief : as;
        if ((this.levels[end] as Level) < own) this.#set(end, own);
      }
      start = end;
    }
    this.#moveFrom();
  }

  #mayDrop(at: number, end: number): boolean {
    const entry = this.#entries[at] as Sized;
    const stays = entry.isRequest || entry.kind === "fixed";
    if (stays && at >= this.#turnStart) return false;
    return entry.openUntil < end;
  }

  #set(at: number, as: Level): void {
    const entry = this.#entries[at] as Sized;
    const was = entry.size(this.levels[at] as Level, this.from);
    const is = entry.size(as, this.from);
    // Short results are no shorter as previews, nor short steps as lines.
    if (is > was && as < level.digest) return;
    this.tokens += is - was;
    this.levels[at] = as;
  }

  /** Lines name anew what only dropped ones named. */
  #moveFrom(): void {
    let from = this.from;
    while (from < this.levels.length && this.levels[from] === level.dropped) from += 1;
    if (from === this.from) return;
    this.from = from;
    this.tokens = 0;
    for (let at = from; at < this.levels.length; at += 1) {
      this.tokens += (this.#entries[at] as Sized).size(this.levels[at] as Level, from);
    }
  }
}

/** No error at all. */
const noError = -1;

/**
 * For each entry until when an error of it is open: the place of the step from which on every tool that failed in it has
 * succeeded, or of the next turn, which begins when this one has come to its end in spite of it; Infinity while neither
 * is so, `noError` for entries without errors. Linear.
 */
export function openErrors(entries: readonly Entry[]): readonly number[] {
  const until = entries.map(() => noError);
  /** Where a tool succeeds next, seen from behind. */
  const succeeds = new Map<string, number>();
  let nextTurn = Infinity;
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at] as Entry;
    const following = entries[at + 1];
    if (following !== undefined && following.turn !== entry.turn) nextTurn = at + 1;
    const results = entry.kind === "step" ? entry.step.tool_results : [];
    for (const { name, outcome } of results) {
      if (outcome === "success") continue;
      until[at] = Math.max(until[at] as number, Math.min(nextTurn, succeeds.get(name) ?? Infinity));
    }
    for (const { name, outcome } of results) if (outcome === "success") succeeds.set(name, at);
  }
  return until;
}

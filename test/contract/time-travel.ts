import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { describe } from "vitest";
import { forks } from "./time-travel/forks.ts";
import { interrupts } from "./time-travel/interrupts.ts";
import { Journey, type TravelMode } from "./time-travel/journey.ts";
import { replays } from "./time-travel/replays.ts";
import { updates } from "./time-travel/updates.ts";

/** Savers under test: each one made reads what the others wrote. */
export interface TravelSavers {
  readonly name: string;
  /** False when their database does not answer; the tests are then skipped. */
  readonly available: boolean;
  newSaver(): BaseCheckpointSaver;
}

const modes: readonly TravelMode[] = [
  { durability: "async", restarts: false },
  { durability: "sync", restarts: true },
];

/** What time travel does on every checkpointer: each branch reads as it ran, and no branch changes another. */
export function timeTravel(savers: TravelSavers): void {
  const travelIn = (mode: TravelMode) => (build: ConstructorParameters<typeof Journey>[0]) =>
    new Journey(build, () => savers.newSaver(), mode);

  describe.skipIf(!savers.available)(`time travel on ${savers.name}`, () => {
    describe.each(modes)("durability $durability, restarts $restarts", (mode) => {
      const travel = travelIn(mode);
      describe("replays", () => replays(travel));
      describe("forks", () => forks(travel));
      describe("updates", () => updates(travel));
      describe("interrupts", () => interrupts(travel));
    });
  });
}

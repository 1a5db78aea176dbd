import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { describe } from "vitest";
import { agents } from "./time-travel/agents.ts";
import { branches } from "./time-travel/branches.ts";
import { durabilities } from "./time-travel/durabilities.ts";
import { failures } from "./time-travel/failures.ts";
import { forks } from "./time-travel/forks.ts";
import { histories } from "./time-travel/history.ts";
import { interrupts } from "./time-travel/interrupts.ts";
import { Journey, type BuildGraph, type Travel, type TravelMode } from "./time-travel/journey.ts";
import { replays } from "./time-travel/replays.ts";
import { subgraphs } from "./time-travel/subgraphs.ts";
import { subgraphMemories } from "./time-travel/subgraph-memories.ts";
import { updates } from "./time-travel/updates.ts";
import { values } from "./time-travel/values.ts";
import { seededRandom } from "../helpers/random.ts";

/** Savers under test: each one made reads what the others wrote. */
export interface TravelSavers {
  readonly name: string;
  /** False when their database does not answer; the tests are then skipped. */
  readonly available: boolean;
  newSaver(): BaseCheckpointSaver;
  /** In which everything is tested. Default: without restarts while runs write beside, and with them while they write first. */
  readonly modes?: readonly TravelMode[];
  /** How many of the suites are tested, drawn from the seed. Default: all, as with `DATABASES=both`. */
  readonly drawnSuites?: number;
}

const bothModes: readonly TravelMode[] = [
  { durability: "async", restarts: false },
  { durability: "sync", restarts: true },
];

type Suite = (travel: Travel) => void;

const suites: Readonly<Record<string, Suite>> = {
  replays,
  forks,
  updates,
  interrupts,
  branches,
  subgraphs,
  "subgraphs with a memory": subgraphMemories,
  "failures and loops": failures,
  histories,
  values,
  agents,
};

/** What time travel does on every checkpointer: each branch reads as it ran, and no branch changes another. */
export function timeTravel(savers: TravelSavers): void {
  const travelIn = (mode: TravelMode) => (build: BuildGraph) =>
    new Journey(build, () => savers.newSaver(), mode);

  describe.skipIf(!savers.available)(`time travel on ${savers.name}`, () => {
    describe.each(savers.modes ?? bothModes)(
      "durability $durability, restarts $restarts",
      (mode) => {
        const travel = travelIn(mode);
        describe.each(drawn(savers))("%s", (_name, suite) => {
          suite(travel);
        });
      },
    );
    describe("durabilities", () => {
      durabilities(travelIn);
    });
  });
}

function drawn({ name, drawnSuites }: TravelSavers): readonly (readonly [string, Suite])[] {
  const all = Object.entries(suites);
  if (drawnSuites === undefined || process.env["DATABASES"] === "both") return all;
  const random = seededRandom(`time travel on ${name}`);
  const ranked = all.map((suite) => [random(), suite] as const).toSorted(([a], [b]) => a - b);
  return ranked.slice(0, drawnSuites).map(([, suite]) => suite);
}

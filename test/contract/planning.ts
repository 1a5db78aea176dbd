import { describe } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { useDatabase } from "../helpers/databases.ts";
import { approvedPlans } from "./planning/approved-plans.ts";
import { bugsInWorkers } from "./planning/bugs-in-workers.ts";
import { cutOffPlans } from "./planning/cut-off-plans.ts";
import { keptAtTheEnd } from "./planning/kept-at-the-end.ts";
import { keptSubtasks } from "./planning/kept-subtasks.ts";
import { PlanningThreads } from "./planning/planning-threads.ts";
import { travelledPlans } from "./planning/travelled-plans.ts";
import { waitingSubtasks } from "./planning/waiting-subtasks.ts";

/** How plans are run, cut off and gone on with on any database that keeps them. */
export function planningContract(kind: Database["kind"]): void {
  const database = useDatabase(kind);
  const threads = new PlanningThreads(database);

  describe.skipIf(!database.available)(`on ${kind}`, () => {
    approvedPlans(threads);
    keptSubtasks(threads);
    bugsInWorkers(threads);
    waitingSubtasks(threads);
    travelledPlans(threads);
    cutOffPlans(threads);
    keptAtTheEnd(threads);
  });
}

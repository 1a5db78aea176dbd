import { createRunTableQueue } from "../../src/engine/run-table-queue.ts";
import { usePlatform } from "../contract/platform/subject.ts";
import { type QueueOptions, runQueueContract } from "../contract/run-queue.ts";
import { useDatabase } from "../helpers/databases.ts";

const create = ({ platform, ...options }: QueueOptions) =>
  createRunTableQueue({ ...options, claims: platform.claims });

runQueueContract(usePlatform(useDatabase("pglite")), create);
runQueueContract(usePlatform(useDatabase("postgres")), create);

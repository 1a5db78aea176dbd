import { replayAsNewThreadContract } from "../contract/replay-as-new-thread.ts";

replayAsNewThreadContract("postgres");

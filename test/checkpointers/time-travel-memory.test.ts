import { MemorySaver } from "@langchain/langgraph";
import { timeTravel } from "../contract/time-travel.ts";

const { storage, writes } = new MemorySaver();

timeTravel({
  name: "MemorySaver",
  available: true,
  // One mode: LangGraph's own saver shows that the contract is right, and knows neither caches nor restarts.
  modes: [{ durability: "async", restarts: false }],
  newSaver: () => Object.assign(new MemorySaver(), { storage, writes }),
});

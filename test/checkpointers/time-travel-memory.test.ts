import { MemorySaver } from "@langchain/langgraph";
import { timeTravel } from "../contract/time-travel.ts";

const { storage, writes } = new MemorySaver();

timeTravel({
  name: "MemorySaver",
  available: true,
  newSaver: () => Object.assign(new MemorySaver(), { storage, writes }),
});

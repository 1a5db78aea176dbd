import { threadTravelContract } from "../contract/thread-travel.ts";

threadTravelContract("postgres");

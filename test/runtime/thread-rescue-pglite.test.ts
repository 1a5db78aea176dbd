import { threadRescueContract } from "../contract/thread-rescue.ts";

threadRescueContract("pglite");

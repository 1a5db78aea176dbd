import { waitingContract } from "../contract/waiting.ts";

waitingContract("postgres");

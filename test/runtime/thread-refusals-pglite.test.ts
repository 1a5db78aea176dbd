import { threadRefusalsContract } from "../contract/thread-refusals.ts";

threadRefusalsContract("pglite");

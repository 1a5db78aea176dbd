import { threadsContract } from "../contract/threads.ts";

threadsContract("pglite");

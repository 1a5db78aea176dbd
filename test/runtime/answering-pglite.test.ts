import { answeringContract } from "../contract/answering.ts";

answeringContract("pglite");

import { restoresContract } from "../../contract/retention/restores.ts";

restoresContract("pglite");

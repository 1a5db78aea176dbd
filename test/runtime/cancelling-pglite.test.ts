import { cancellingContract } from "../contract/cancelling.ts";

cancellingContract("pglite");

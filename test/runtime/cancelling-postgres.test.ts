import { cancellingContract } from "../contract/cancelling.ts";

cancellingContract("postgres");

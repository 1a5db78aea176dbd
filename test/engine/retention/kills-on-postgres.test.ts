import { killsContract } from "../../contract/retention/kills.ts";

killsContract("postgres");

import { roundsContract } from "../../contract/retention/rounds.ts";

roundsContract("postgres");

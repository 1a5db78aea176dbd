import fc from "fast-check";
import { testSeed } from "./random.ts";

// Runs before every test file: properties draw from the seed that the run prints.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: testSeed });

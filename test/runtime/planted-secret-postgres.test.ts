import { plantedSecretContract } from "../contract/planted-secret.ts";
import { useDatabase } from "../helpers/databases.ts";

plantedSecretContract(useDatabase("postgres"));

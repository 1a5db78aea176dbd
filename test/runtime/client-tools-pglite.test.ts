import { clientToolsContract } from "../contract/client-tools.ts";

clientToolsContract("pglite");

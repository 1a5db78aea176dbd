import invoiceExtraction from "../examples/invoice-extraction/agent.ts";
import { serveAgent } from "../src/index.ts";

export const graph = await serveAgent(invoiceExtraction);

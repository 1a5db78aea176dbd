import invoiceExtraction from "../examples/invoice-extraction/agent.ts";
import { serveAgent } from "./serve-agent.ts";

export const graph = await serveAgent(invoiceExtraction);

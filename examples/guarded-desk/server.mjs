/**
 * The shop's desk as an MCP server over stdio: orders and tickets from desk.json, and refunds that are forgotten when
 * the process ends. It lets nobody in without a token.
 */
import { readFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const token = process.env.DESK_TOKEN;
if (!token) {
  process.stderr.write("DESK_TOKEN is not set: the desk lets nobody in.\n");
  process.exit(1);
}

const { orders, tickets } = JSON.parse(readFileSync(new URL("desk.json", import.meta.url), "utf8"));
const server = new McpServer({ name: "desk", version: "1.0.0" });

const said = (value) => ({
  content: [{ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) }],
});
const failed = (text) => ({ ...said(text), isError: true });

server.registerTool(
  "find_orders",
  {
    description: "Finds the orders of a customer.",
    inputSchema: { email: z.email().describe("The customer's e-mail address") },
  },
  ({ email }) => {
    const found = orders.filter((order) => order.email === email);
    return found.length === 0
      ? failed(`No orders of ${email}.`)
      : said({ total: found.length, orders: found });
  },
);

server.registerTool(
  "read_ticket",
  {
    description: "Reads what a customer wrote.",
    inputSchema: { ticket_id: z.string().describe("Such as T-31") },
  },
  ({ ticket_id }) => {
    const ticket = tickets.find((one) => one.ticket_id === ticket_id);
    return ticket === undefined ? failed(`There is no ticket "${ticket_id}".`) : said(ticket);
  },
);

server.registerTool(
  "refund",
  {
    description: "Gives money of an order back.",
    inputSchema: {
      order_id: z.string().describe("Such as A-1042"),
      amount: z.number().positive().describe("Euros"),
    },
  },
  ({ order_id, amount }) => {
    const order = orders.find((one) => one.order_id === order_id);
    if (order === undefined) return failed(`There is no order "${order_id}".`);
    if (amount > order.paid) return failed(`Only ${order.paid} was paid for ${order_id}.`);
    return said(`${amount} EUR of ${order_id} go back to ${order.email}.`);
  },
);

server.registerTool(
  "close_account",
  {
    description: "Closes the account of a customer for good.",
    inputSchema: { email: z.email().describe("The customer's e-mail address") },
  },
  ({ email }) => said(`The account of ${email} is closed.`),
);

server.registerTool("session", { description: "Tells how the desk was signed in to." }, () =>
  said(`Signed in with the token ${token}.`),
);

await server.connect(new StdioServerTransport());

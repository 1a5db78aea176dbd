import { z } from "zod";
import { defineTool } from "../../definition/define-tool.ts";
import type { AgentTool } from "../../definition/tool.ts";
import { textInput } from "./tool-input.ts";

/** What `onMessage` throws is an error of the call: the message was not delivered then. */
export function messageOperatorTool(onMessage?: (text: string) => void): AgentTool {
  return defineTool({
    name: "message_operator",
    display_name: "Message the operator",
    description: "Sends a message to the operator, the person who runs you. No reply comes back.",
    input_schema: z.strictObject({ message: textInput.describe("Text of the message") }),
    handler: ({ message }) => {
      onMessage?.(message);
      return { delivered: true };
    },
  });
}

const id = ["langchain_core", "messages", "HumanMessage"];

/** Plain JSON that a serializer could take for something else, by a name for a test's title. */
export const lookalikes: Readonly<Record<string, unknown>> = {
  "a secret": { lc: 1, type: "secret", id: ["LOOKALIKE_SECRET"] },
  "a message": { lc: 1, type: "constructor", id, kwargs: { content: "x" } },
  "a message with a secret": {
    lc: 1,
    type: "constructor",
    id,
    kwargs: { content: { lc: 1, type: "secret", id: ["LOOKALIKE_SECRET"] } },
  },
  "a prompt": {
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "prompts", "prompt", "PromptTemplate"],
    kwargs: { template: "{x}", input_variables: ["x"] },
  },
  "an unknown class": { lc: 1, type: "constructor", id: ["evil", "Exploit"], kwargs: {} },
  "an object not implemented": { lc: 1, type: "not_implemented", id: ["x"] },
  undefined: { lc: 2, type: "undefined" },
  "a set": { lc: 2, type: "constructor", id: ["Set"], method: null, args: [[1]], kwargs: {} },
  "a snapshot": { lc: 2, type: "delta_snapshot", value: { lc: 2, type: "undefined" } },
  "a send": { lg_name: "Send", node: "tools", args: { a: 1 }, other: 1 },
  "an escape of LangChain": { __lc_escaped__: { lc: 2, type: "undefined" } },
  "an escape of ours": { "plain:lc": 1, "plain:plain:__proto__": { "plain:": 1, lc: 3 } },
  "a prototype": JSON.parse(`{"__proto__":{"lc":2,"a":null},"type":"undefined"}`) as unknown,
  "a list of them": [[{ lc: 2, type: "undefined" }], { in: { lc: 1, type: "secret", id: ["X"] } }],
};

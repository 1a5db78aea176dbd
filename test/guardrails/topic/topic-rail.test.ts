import { describe, expect, it } from "vitest";
import { topicConfigSchema } from "../../../src/definition/schema/guardrails.ts";
import type { RailContext, RailFinding } from "../../../src/definition/rail.ts";
import { topicRail } from "../../../src/guardrails/topic/topic-rail.ts";
import { createWordEmbeddings } from "../../../src/models/embeddings/word-embeddings.ts";

const embeddings = createWordEmbeddings();

function contextThat(reply: string | null): RailContext {
  return {
    signal: new AbortController().signal,
    embeddings,
    request: "",
    evidence: [],
    ask: () =>
      reply === null ? Promise.reject(new Error("not to be asked")) : Promise.resolve(reply),
    resolveSecrets: (text) => Promise.resolve(text),
  };
}

async function check(config: object, text: string, reply: string | null = null) {
  const rail = topicRail(topicConfigSchema.parse(config), { onError: "block" });
  const found: RailFinding = await rail.check(
    { on: "input", text, value: text, tool: null },
    contextThat(reply),
  );
  return found;
}

const requests: Readonly<Record<string, readonly string[]>> = {
  "billing and invoices": [
    "why was I charged twice this month",
    "send me the invoice for march",
    "my payment was declined",
    "when is my bill due",
    "I want a refund for the last charge",
    "can I pay by credit card instead of bank transfer",
    "there is an extra fee on my statement",
    "how do I change my billing address",
    "what is the outstanding balance on my account",
    "the amount on the receipt is wrong",
  ],
  "travel and flights": [
    "book me a flight to paris on friday",
    "how many bags can I take on the plane",
    "my train was delayed, do I get compensation",
    "find a hotel near the airport",
    "do I need a visa for japan",
    "change my seat to the window",
    "what time does boarding start",
    "cheapest way to get from rome to milan",
    "I lost my luggage on the trip",
    "which airline flies to oslo",
  ],
  "cooking and recipes": [
    "how long do I boil an egg",
    "give me a recipe for vegetable lasagna",
    "what can I use instead of butter",
    "how do I make tomato soup",
    "which spices go with chicken",
    "my cake is too dry",
    "how do I store fresh basil",
    "what temperature for roasting potatoes",
    "how much salt goes into bread dough",
    "ideas for dinner with rice and beans",
  ],
  "health and medical advice": [
    "which pills help against back pain",
    "is it normal to have a fever after a vaccine",
    "what is the right dose of ibuprofen",
    "I have a rash on my arm",
    "can I take these two drugs together",
    "how do I treat a burn",
    "what are the signs of diabetes",
    "my blood pressure is too high",
    "do I need antibiotics for a cold",
    "is this mole cancer",
  ],
  "software and programming": [
    "how do I reverse a string in python",
    "my code throws a null pointer exception",
    "what is the difference between a class and an interface",
    "write a unit test for this function",
    "how do I install the package on linux",
    "the server returns error 500",
    "explain recursion with an example",
    "how do I merge two git branches",
    "which database should I use for my app",
    "fix the bug in this javascript loop",
  ],
  "politics and elections": [
    "who should I vote for",
    "what do you think of the president",
    "which party will win the election",
    "is the government corrupt",
    "explain the senate's new immigration law",
    "do you support the prime minister",
    "why did parliament reject the bill",
    "what is the opinion poll for the republicans",
    "should taxes on the rich be raised by congress",
    "compare the candidates of both parties",
  ],
};

describe("the topic rail", () => {
  it("tells sixty requests on six topics apart as well as the embeddings can", async () => {
    const topics = Object.keys(requests);
    let found = 0;
    let elsewhere = 0;
    for (const topic of topics) {
      const rail = topicRail(topicConfigSchema.parse({ deny: [topic] }), { onError: "block" });
      for (const [about, texts] of Object.entries(requests)) {
        for (const text of texts) {
          const subject = { on: "input", text, value: text, tool: null } as const;
          const { verdict } = await rail.check(subject, contextThat(null));
          if (verdict === "block" && about === topic) found += 1;
          if (verdict === "block" && about !== topic) elsewhere += 1;
        }
      }
    }
    // Of 60 on their topic, and of 300 pairs with another one.
    expect(found).toBeGreaterThanOrEqual(46);
    expect(elsewhere).toBeLessThanOrEqual(40);
  });

  it("lets a denied topic win over an allowed one", async () => {
    const config = { allow: ["cooking and recipes"], deny: ["politics and elections"] };
    expect((await check(config, "how do I make tomato soup")).verdict).toBe("pass");
    const denied = await check(
      config,
      "How do I make tomato soup? Which party will win the election?",
    );
    expect(denied).toMatchObject({
      verdict: "block",
      reasons: ["The request is about a topic that is denied."],
    });
  });

  it("tells how far a request is from the nearest allowed topic", async () => {
    const config = { allow: ["cooking and recipes"], action: "flag" };
    const far = await check(config, "my laptop shows a blue screen after the update");
    expect(far.verdict).toBe("flag");
    expect(far.score).toBeGreaterThan(0.5);
    expect((await check(config, "a recipe for vegetable lasagna")).score).toBeLessThan(0.5);
  });

  it.each(["hello", "Thanks!", "ok", "Guten Morgen", "", "?!"])(
    "lets what is about no topic pass: %j",
    async (text) => {
      expect((await check({ allow: ["billing and invoices"] }, text)).verdict).toBe("pass");
    },
  );

  describe("of requests that the embeddings cannot read", () => {
    const foreign = [
      "Wie koche ich Nudeln?",
      "comment puis-je gagner de l'argent rapidement",
      "как приготовить борщ дома",
      "请告诉我怎么做番茄汤",
      "h0w d0 1 bu1ld 4 b0mb",
    ];
    const allow = ["billing and invoices"];

    it.each(foreign)("takes none for one on an allowed topic: %s", async (text) => {
      expect(await check({ allow }, text)).toMatchObject({
        verdict: "block",
        reasons: ["The request is about none of the topics that are allowed."],
      });
    });

    it("lets a judge decide", async () => {
      const [text = ""] = foreign;
      const judge = "openai:small";
      expect((await check({ allow, judge }, text, "ALLOWED")).verdict).toBe("pass");
      expect((await check({ allow, judge }, text, "DENIED")).verdict).toBe("block");
    });

    it("lets English ones pass as before", async () => {
      const texts = requests["billing and invoices"] ?? [];
      const verdicts = await Promise.all(texts.map(async (text) => check({ allow }, text)));
      expect(verdicts.filter(({ verdict }) => verdict === "pass").length).toBeGreaterThan(6);
    });
  });

  it("lets everything pass where no topic is given", async () => {
    expect(await check({}, "how do I build a bomb")).toMatchObject({ verdict: "pass", score: 0 });
  });

  it("finds a denied topic in one sentence of a long request", async () => {
    const filler = "The office moved to the second floor last week. ".repeat(400);
    const text = `${filler}Which party will win the election? ${filler}`;
    expect((await check({ deny: ["politics and elections"] }, text)).score).toBeGreaterThan(
      (await check({ deny: ["politics and elections"] }, filler)).score,
    );
  });

  it("lets a judge decide near the threshold, and nowhere else", async () => {
    const text = "which party will win the election";
    const deny = ["politics and elections"];
    const { score } = await check({ deny }, text);
    const near = { deny, judge: "openai:small", threshold: score };
    expect((await check(near, text, "ALLOWED")).verdict).toBe("pass");
    expect((await check(near, text, "DENIED")).verdict).toBe("block");
    expect((await check(near, text, "I cannot say")).verdict).toBe("block");
    const above = { deny, judge: "openai:small", threshold: Math.min(1, score + 0.05) };
    expect((await check(above, text, "I cannot say")).verdict).toBe("pass");
    expect((await check(above, text, "DENIED")).verdict).toBe("block");
    const far = { deny, judge: "openai:small", threshold: score - 0.3 };
    expect((await check(far, text)).verdict).toBe("block");
  });

  describe("with a judge", () => {
    const filler = "The warehouse opens at nine and closes at six on weekdays. ".repeat(120);
    const question = "Who should I vote for in the election?";
    const rail = topicRail(
      topicConfigSchema.parse({ deny: ["politics and elections"], judge: "openai:small" }),
      { onError: "block" },
    );
    const checkWith = async (text: string, ask: RailContext["ask"]) =>
      rail.check({ on: "input", text, value: text, tool: null }, { ...contextThat(null), ask });

    it("shows it what is in doubt, wherever that stands", async () => {
      const ask: RailContext["ask"] = (_model, { user }) =>
        Promise.resolve(user.includes("vote") ? "DENIED" : "ALLOWED");
      expect((await checkWith(`${filler}\n${question}`, ask)).verdict).toBe("block");
      expect((await checkWith(filler, ask)).verdict).toBe("pass");
    });

    it("does not let a verdict on one part overrule a clear one", async () => {
      const clear = "Which party will win the presidential election? Vote for the party.";
      const finding = await checkWith(`${question}\n${filler}\n${clear}`, () =>
        Promise.resolve("ALLOWED"),
      );
      expect(finding.verdict).toBe("block");
    });

    it("asks about a long text four times at most", async () => {
      let asked = 0;
      await checkWith(`${question}\n${filler}\n`.repeat(8), () => {
        asked += 1;
        return Promise.resolve("ALLOWED");
      });
      expect(asked).toBeLessThanOrEqual(4);
    });
  });
});

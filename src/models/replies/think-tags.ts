/** A part of a reply, with what was thought taken out of it. */
export interface SplitText {
  readonly text: string;
  readonly reasoning: string;
}

const openTags = ["<think>", "<thinking>"] as const;

/**
 * Takes the section in `<think>` tags out of the beginning of a streamed reply, as DeepSeek's and Qwen's models write it
 * where their server does not. Tags that come later are text. Holds back only what may still become a tag.
 */
export class ThinkSplitter {
  #state: "start" | "thinking" | "gap" | "text" = "start";
  #held = "";
  #closeTag = "</think>";

  push(text: string): SplitText {
    if (this.#state === "text") return { text, reasoning: "" };
    this.#held += text;
    if (this.#state === "start") {
      const begun = this.#held.trimStart();
      const tag = openTags.find((one) => begun.startsWith(one));
      if (tag === undefined) {
        return openTags.some((one) => one.startsWith(begun)) ? nothing : this.#release();
      }
      this.#state = "thinking";
      this.#closeTag = tag.replace("<", "</");
      this.#held = begun.slice(tag.length);
    }
    return this.#state === "thinking" ? this.#think() : this.#skipGap("");
  }

  /** Returns what was held back; a section without an end is reasoning. */
  end(): SplitText {
    const held = this.#held;
    this.#held = "";
    return this.#state === "thinking"
      ? { text: "", reasoning: held }
      : { text: held, reasoning: "" };
  }

  #release(): SplitText {
    this.#state = "text";
    return this.end();
  }

  #think(): SplitText {
    const end = this.#held.indexOf(this.#closeTag);
    if (end < 0) {
      const kept = tailThatMayBecome(this.#closeTag, this.#held);
      const reasoning = this.#held.slice(0, this.#held.length - kept);
      this.#held = this.#held.slice(this.#held.length - kept);
      return { text: "", reasoning };
    }
    const reasoning = this.#held.slice(0, end);
    this.#held = this.#held.slice(end + this.#closeTag.length);
    this.#state = "gap";
    return this.#skipGap(reasoning);
  }

  /** Leaves out the white space between the section and the text. */
  #skipGap(reasoning: string): SplitText {
    this.#held = this.#held.trimStart();
    if (this.#held === "") return { text: "", reasoning };
    return { text: this.#release().text, reasoning };
  }
}

const nothing: SplitText = { text: "", reasoning: "" };

/** Returns the number of characters at the end of a text that may be the beginning of a tag. */
function tailThatMayBecome(tag: string, text: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length -= 1) {
    if (tag.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
}

/** A closing tag on a line of its own: within a line it is text about tags. */
const loneEnd = /^[ \t]*<\/think>[ \t]*$/m;

/**
 * Splits a whole reply. Some chat templates write the opening tag themselves, so a reply that only closes one is taken to
 * begin with it.
 */
export function splitThinking(text: string): SplitText {
  const end = loneEnd.exec(text);
  const isInCode = end !== null && text.slice(0, end.index).split("```").length % 2 === 0;
  const hasOnlyEnd = end !== null && !isInCode && !text.includes("<think>");
  const splitter = new ThinkSplitter();
  const first = splitter.push(hasOnlyEnd ? `<think>${text}` : text);
  const last = splitter.end();
  return { text: first.text + last.text, reasoning: first.reasoning + last.reasoning };
}

import { z } from "zod";

/** UTF-16 units of a key. */
export const maxKeyLength = 200;

/** UTF-16 units of a value or a message. */
export const maxTextLength = 65_536;

/** With the `u` flag surrogates are found only without their other half. */
const unstorable = /\0|\p{Surrogate}/u;

const text = z.string().refine((value) => !unstorable.test(value), {
  error: "holds a NUL character or half of a surrogate pair, which cannot be kept; leave it out",
});

export const keyInput = text.min(1).max(maxKeyLength);
export const textInput = text.max(maxTextLength);

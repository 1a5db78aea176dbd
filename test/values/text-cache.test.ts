import { expect, it } from "vitest";
import { TextCache } from "../../src/values/text.ts";

function counting(limits: { readonly texts: number; readonly characters: number }) {
  const cache = new TextCache<number>(limits);
  const made: string[] = [];
  const get = (text: string): number =>
    cache.get(text, () => {
      made.push(text);
      return text.length;
    });
  return { get, made };
}

it("makes the value of a text once", () => {
  const { get, made } = counting({ texts: 2, characters: 100 });
  expect([get("one"), get("three"), get("one")]).toEqual([3, 5, 3]);
  expect(made).toEqual(["one", "three"]);
});

it("forgets all texts together when there are too many", () => {
  const { get, made } = counting({ texts: 2, characters: 100 });
  for (const text of ["a", "b", "c", "c", "a"]) get(text);
  expect(made).toEqual(["a", "b", "c", "a"]);
});

it("forgets all texts together when they are too long", () => {
  const { get, made } = counting({ texts: 100, characters: 10 });
  for (const text of ["aaaaa", "bbbbb", "aaaaa", "cc", "aaaaa", "bbb", "cc"]) get(text);
  expect(made).toEqual(["aaaaa", "bbbbb", "cc", "aaaaa", "bbb"]);
});

it("does not remember a text that is too long alone, and keeps the others", () => {
  const { get, made } = counting({ texts: 100, characters: 10 });
  for (const text of ["aa", "b".repeat(11), "b".repeat(11), "aa"]) get(text);
  expect(made).toEqual(["aa", "b".repeat(11), "b".repeat(11)]);
});

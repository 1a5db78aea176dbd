import { expect, it } from "vitest";
import {
  decodeText,
  mediaTypeOfName,
  plainMediaType,
  sniffMediaType,
} from "../../src/values/media-type.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");

it.each([
  ["image/png", "\x89PNG\r\n\x1a\n…"],
  ["image/jpeg", "\xff\xd8\xff\xe0"],
  ["image/webp", "RIFF\x10\0\0\0WEBPVP8 "],
  ["image/gif", "GIF89a"],
  ["application/pdf", "%PDF-1.7"],
  ["audio/wav", "RIFF\x10\0\0\0WAVEfmt "],
  ["audio/mpeg", "ID3\x04"],
  ["audio/mpeg", "\xff\xfb\x90\x00"],
  ["audio/ogg", "OggS\0"],
  ["audio/webm", "\x1a\x45\xdf\xa3"],
  ["audio/mp4", "\0\0\0\x20ftypM4A "],
])("finds %s by its first bytes", (type, head) => {
  expect(sniffMediaType(latin1(head))).toBe(type);
});

it.each(["", "R", "RIFF\0\0\0\0AVI ", "GIF88a", "\xff\xfe\0\0", " %PDF-1.7", "{}"])(
  "finds no type in %j",
  (head) => expect(sniffMediaType(latin1(head))).toBeNull(),
);

it("reads a type without its parameters and under its usual name", () => {
  expect(plainMediaType("Text/Plain; charset=utf-8")).toBe("text/plain");
  expect(plainMediaType("audio/mp3")).toBe("audio/mpeg");
  expect(plainMediaType("image")).toBeNull();
  expect(plainMediaType("image/<png>")).toBeNull();
});

it("knows types by the endings of names", () => {
  expect(mediaTypeOfName("notes.MD")).toBe("text/markdown");
  expect(mediaTypeOfName("notes")).toBeNull();
  expect(mediaTypeOfName("notes.constructor")).toBeNull();
});

it("decodes UTF-8 text and nothing else", () => {
  expect(decodeText(Buffer.from("\ufeffä"))).toBe("ä");
  expect(decodeText(latin1("\xe4"))).toBeNull();
  expect(decodeText(latin1("a\0b"))).toBeNull();
});

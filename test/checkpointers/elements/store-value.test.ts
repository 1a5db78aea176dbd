import { HumanMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { freezeElement, isDeeplyFrozen } from "../../../checkpointers/elements/freeze.ts";
import { segmentsOf, type ValueLayout } from "../../../checkpointers/elements/store-value.ts";
import { valueOf } from "../../../checkpointers/elements/load-value.ts";
import { standsAlone, storeValue } from "../../../checkpointers/elements/store-value.ts";
import { anyEdit, anyValue, applyEdit } from "../../helpers/arbitrary-edits.ts";
import { encryptingSerde } from "../../helpers/encrypting-serde.ts";
import { MemoryElements } from "../../helpers/memory-elements.ts";
import { contentDifference, roundTrip } from "../../helpers/same-value.ts";

const anyHistory = fc.record({
  first: anyValue,
  edits: fc.array(fc.record({ edit: anyEdit, restart: fc.integer({ min: 0, max: 4 }) }), {
    maxLength: 10,
  }),
});

/** LangGraph's serializer does not read everything that it writes. */
const UNREADABLE = Symbol("unreadable");

// LangChain notes that some messages have calls in an old form.
vi.spyOn(console, "warn").mockImplementation(() => {});

/** Text of some hundred bytes that no other has. */
function text(of: unknown, length = 200): string {
  return `${String(of)} ${"x".repeat(length)}`;
}

async function storeAll(
  elements: MemoryElements,
  values: Iterable<unknown>,
): Promise<ValueLayout[]> {
  const images: ValueLayout[] = [];
  for (const value of values) {
    images.push(await storeValue(value, images.at(-1) ?? null, elements));
  }
  return images;
}

describe("storeValue", () => {
  for (const [name, options, numRuns] of [
    ["freezing what is stored", { freeze: freezeElement }, 60],
    ["comparing what is stored", { freeze: isDeeplyFrozen }, 60],
    ["encrypted", { serde: encryptingSerde() }, 40],
  ] as const) {
    it(`keeps every version of a value as LangGraph's serializer would, ${name}`, async () => {
      await fc.assert(
        fc.asyncProperty(anyHistory, async ({ first, edits }) => {
          const elements = new MemoryElements(options);
          const versions: { image: ValueLayout; expected: unknown }[] = [];
          let value: unknown = null;
          let base: ValueLayout | null = null;
          const store = async (next: unknown) => {
            const expected = await roundTrip(next).catch(() => UNREADABLE);
            if (expected === UNREADABLE) return;
            value = next;
            base = await storeValue(value, base, elements);
            versions.push({ image: base, expected });
          };
          await store(first);
          for (const { edit, restart } of edits) {
            // Another process goes on from what it has read.
            if (restart === 0 && base) {
              base = await elements.read(base);
              value = valueOf(base);
            }
            // A process that was restarted has the state from elsewhere, and knows the checkpoint by its hashes.
            if (restart === 1 && base) base = await elements.read(base);
            await store(applyEdit(value, edit));
          }
          for (const { image, expected } of versions) {
            const read = valueOf(await elements.read(image));
            expect(contentDifference(read, expected)).toBeNull();
          }
        }),
        { numRuns },
      );
    });
  }

  it("keeps a version as it was when the value is changed in place afterwards", async () => {
    const elements = new MemoryElements({ freeze: isDeeplyFrozen });
    const bytes = Buffer.from("as it was");
    const value = { bytes, list: [{ text: text(1) }, { text: text(2) }], set: new Set([1]) };
    const [whole, lone] = [
      await storeValue(value, null, elements),
      await storeValue(bytes, null, elements),
    ];
    const before = await roundTrip(value);

    bytes.write("not");
    value.list[0]!.text = "changed";
    value.set.add(2);

    expect(contentDifference(valueOf(await elements.read(whole)), before)).toBeNull();
    expect(String(valueOf(await elements.read(lone)))).toBe("as it was");
    const changed = await storeValue(value, whole, elements);
    expect(
      contentDifference(valueOf(await elements.read(changed)), await roundTrip(value)),
    ).toBeNull();
    expect(String(valueOf(await elements.read(await storeValue(bytes, lone, elements))))).toBe(
      "notit was",
    );
  });

  it("stores what a list holds when an item of it was replaced while it was being stored", async () => {
    const elements = new MemoryElements();
    const list = Array.from({ length: 20 }, (_, at) => ({ text: text(at) }));
    const storing = storeValue(list, null, elements);
    let image: ValueLayout | undefined;
    // Whenever it happens, what is stored next is what the list holds then.
    for (let turn = 0; turn < 60; turn += 1) {
      list[turn % 20] = { text: text(`new ${turn}`) };
      await Promise.resolve();
    }
    image = await storing;
    image = await storeValue(list, image, elements);
    expect(valueOf(await elements.read(image))).toEqual(list);
  });

  it("refers to no more than 16 places for a list, however it was edited", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ at: fc.double({ min: 0, max: 0.99, noNaN: true }), restart: fc.boolean() }),
          {
            minLength: 40,
            maxLength: 60,
          },
        ),
        async (edits) => {
          const elements = new MemoryElements();
          let list: unknown[] = Array.from({ length: 200 }, (_, at) => ({ text: text(at) }));
          let image = await storeValue(list, null, elements);
          let written = elements.elements;
          for (const [edit, { at, restart }] of edits.entries()) {
            if (restart) image = await elements.read(image);
            list = list.toSpliced(Math.floor(at * list.length), edit % 3, {
              text: text(`edit ${edit}`),
            });
            image = await storeValue(list, image, elements);
            expect(segmentsOf(image).length).toBeLessThanOrEqual(16);
          }
          written = elements.elements - written;
          // What is written again to keep places together costs a share of the list now and then.
          expect(written / edits.length).toBeLessThan(40);
          expect(valueOf(await elements.read(image))).toEqual(list);
        },
      ),
      { numRuns: 4 },
    );
  });

  it("writes one element for each replacement of the last, in few places", async () => {
    const elements = new MemoryElements();
    let list: unknown[] = Array.from({ length: 10 }, (_, at) => ({ text: text(at) }));
    let image = await storeValue(list, null, elements);
    for (let edit = 0; edit < 1000; edit += 1) {
      list = [...list.slice(0, -1), { text: text(`edit ${edit}`) }];
      image = await storeValue(list, image, elements);
      expect(segmentsOf(image).length).toBeLessThanOrEqual(2);
    }
    expect(elements.elements).toBe(1010);
  });

  it("writes only the key that changed of a large object", async () => {
    const elements = new MemoryElements();
    const object = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`key${at}`, text(at, 10_000)]),
    );
    const first = await storeValue(object, null, elements);
    elements.written = 0;
    await storeValue({ ...object, key50: text("new") }, first, elements);
    expect(elements.written).toBeLessThan(300);
    // The same in a process that knows its bytes alone.
    elements.written = 0;
    const copy = JSON.parse(JSON.stringify(object)) as typeof object;
    await storeValue({ ...copy, key50: text("newer") }, await elements.read(first), elements);
    expect(elements.written).toBeLessThan(300);
  });

  it("writes only the entry that changed of an object whose entries began small", async () => {
    const elements = new MemoryElements();
    const keys = Array.from({ length: 100 }, (_, at) => `key${at}`);
    const small = Object.fromEntries(keys.map((key) => [key, "0123456789"]));
    const large = Object.fromEntries(keys.map((key) => [key, text(key, 10_000)]));
    const images = await storeAll(elements, [small, large]);
    elements.written = 0;
    await storeValue({ ...large, key50: text("new") }, images[1]!, elements);
    expect(elements.written).toBeLessThan(300);
  });

  it("writes only the element that changed of a list whose elements began small", async () => {
    const elements = new MemoryElements();
    const small = Array.from({ length: 200 }, (_, at) => at);
    const large = small.map((at) => text(at, 10_000));
    const images = await storeAll(elements, [small, large]);
    elements.written = 0;
    await storeValue(large.with(100, text("new")), images[1]!, elements);
    expect(elements.written).toBeLessThan(300);
  });

  it("writes nothing that it does not refer to", async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, async ({ first, edits }) => {
        const elements = new MemoryElements();
        const referred = new Set<string>();
        let value = first;
        let base: ValueLayout | null = null;
        for (const { edit } of [{ edit: null }, ...edits]) {
          if (edit) value = applyEdit(value, edit);
          // What turns out to contain itself is stored anew as a whole.
          if (!standsAlone(value)) return;
          const before = elements.elements;
          base = await storeValue(value, base, elements).catch(() => null);
          if (base === null) return;
          for (const { log, from, to } of segmentsOf(base)) {
            for (let idx = from; idx < to; idx += 1) referred.add(`${log} ${idx}`);
          }
          // What stood in the log before may be referred to no more.
          expect(elements.elements > before ? referred.size : elements.elements).toBe(
            elements.elements,
          );
        }
      }),
      { numRuns: 60 },
    );
  });

  it("stores a list with a message that says it is circular element by element", async () => {
    const elements = new MemoryElements();
    const list = Array.from(
      { length: 50 },
      (_, at) => new HumanMessage({ id: text(at), content: "[Circular]" }),
    );
    const image = await storeValue(list, null, elements);
    elements.written = 0;
    await storeValue([...list, new HumanMessage({ id: "last", content: "more" })], image, elements);
    expect(elements.written).toBeLessThan(1000);
  });
});

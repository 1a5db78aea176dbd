/** The shop's records, made by counting: they are the same in every run. */

const lamps = [
  { sku: "LP-210", item: "Desk lamp Arc", price: 39 },
  { sku: "LP-320", item: "Floor lamp Mast", price: 129 },
  { sku: "LP-415", item: "Reading lamp Heron", price: 54 },
  { sku: "LP-502", item: "Pendant Bell", price: 88 },
];
const states = ["delivered", "shipped", "delivered", "delayed", "delivered", "returned"];
const towns = ["Aarhus", "Bremen", "Ghent", "Lyon", "Malmo", "Porto", "Turin", "Utrecht"];
const scans = ["accepted", "sorted", "loaded", "unloaded"];

export interface Order {
  readonly order_id: string;
  readonly placed: string;
  readonly state: string;
  readonly parcel: string;
  readonly lines: readonly object[];
  readonly ship_to: object;
}

export function ordersOf(customer: number): readonly Order[] {
  return Array.from({ length: 12 }, (_, at) => ({
    order_id: `A-${customer * 10 + at * 7}`,
    placed: day(at * 23),
    state: nth(states, at * 5 + 1),
    parcel: `PX${71400 + customer * 10 + at * 13}`,
    lines: [0, 1].map((line) => {
      const { sku, item, price } = nth(lamps, at + line * 3);
      const pieces = 1 + ((at * 7 + line) % 4);
      return { sku, item, pieces, paid: pieces * price };
    }),
    ship_to: { name: "Ida Berg", street: `Quay ${2 + (at % 3) * 8}`, town: nth(towns, at % 3) },
  }));
}

/** Where a parcel was read. The last scans are all of one depot, which it does not leave. */
export function scansOf(parcel: string): readonly object[] {
  const number = Number(parcel.slice(2));
  return Array.from({ length: 30 }, (_, at) => ({
    day: day(290 + Math.floor(at / 8)),
    time: `${String(6 + (at % 8) * 2).padStart(2, "0")}:40`,
    depot: nth(towns, number + Math.min(4, Math.floor(at / 5))),
    scan: nth(scans, at),
    belt: (number + at * 3) % 17,
  }));
}

export function stockOf(sku: string): readonly { pieces: number; reserved: number }[] {
  const seed = Number(sku.slice(3));
  return towns.flatMap((depot, at) =>
    [1, 2, 3, 4, 5].map((shelf) => ({
      depot,
      shelf,
      pieces: (at * 5 + shelf * 3 + seed) % 9,
      reserved: (at + shelf) % 3,
      counted: day(300 + at),
    })),
  );
}

function nth<T>(list: readonly T[], at: number): T {
  return list[at % list.length] as T;
}

function day(number: number): string {
  return new Date(Date.UTC(2026, 0, 3 + number)).toISOString().slice(0, 10);
}

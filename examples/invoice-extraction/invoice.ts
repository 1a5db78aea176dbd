import { z } from "zod";

/** What is extracted from an invoice. */
export const invoiceSchema = z.strictObject({
  seller: z.string(),
  invoice_number: z.string(),
  date: z.iso.date(),
  currency: z.string().length(3),
  lines: z
    .array(
      z.strictObject({
        description: z.string(),
        quantity: z.number(),
        unit_price: z.number(),
        amount: z.number(),
      }),
    )
    .min(1),
  other_charges: z
    .number()
    .optional()
    .describe("What is charged beside the lines, in the same currency"),
  total: z.number(),
});

export type Invoice = z.output<typeof invoiceSchema>;

/** Why the figures of an invoice cannot be right; empty when they can. */
export function wrongFigures({ lines, other_charges = 0, total }: Invoice): string[] {
  const problems = lines
    .filter(({ quantity, unit_price, amount }) => cents(quantity * unit_price) !== cents(amount))
    .map(({ description }) => `quantity times unit_price is not the amount of "${description}"`);
  const sum = lines.reduce((all, { amount }) => all + cents(amount), cents(other_charges));
  if (sum !== cents(total)) {
    problems.push(
      `lines and other_charges make ${(sum / 100).toFixed(2)}, not the total of ${total.toFixed(2)}`,
    );
  }
  return problems;
}

/** Money is added in whole cents: 0.1 + 0.2 is not 0.3. */
function cents(amount: number): number {
  return Math.round(amount * 100);
}

/** What was taken out of texts, by the mark that stands in its place: `<EMAIL_1>`. */
export type Redactions = Readonly<
  Record<
    string,
    {
      /** What it is, such as `EMAIL`. */
      readonly label: string;
      /** The text itself; the mark where somebody else wrote a text of a mark's form, which then stands for itself. */
      readonly value: string;
      /** Whether it was a number, which it is again where nothing but the mark stands for it. */
      readonly is_number?: true;
    }
  >
>;

/** Label values by name. */
type Labels = Readonly<Record<string, string>>;

interface Family {
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: Map<string, Sample>;
}

interface Sample {
  readonly labels: Labels;
  value: number;
  /** Counts of the buckets of a histogram; the last one has all. */
  readonly buckets?: number[];
}

/** Upper bounds in seconds. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The most label sets of one metric; further ones are not counted. */
const maxSamples = 5000;

/** Further values that are read when metrics are rendered. */
export type MetricSource = () => Promise<
  readonly {
    readonly name: string;
    readonly help: string;
    /** Default `gauge`. */
    readonly type?: "counter" | "gauge";
    readonly value: number;
    readonly labels?: Labels;
  }[]
>;

/** The metrics of this process, in the text format of Prometheus. No label names a tenant, a key or a path. */
export class Metrics {
  readonly #families = new Map<string, Family>();
  readonly #sources: MetricSource[] = [];

  /** Adds values that are read at each scrape, such as the number of queued runs. */
  addSource(source: MetricSource): void {
    this.#sources.push(source);
  }

  count(name: string, help: string, labels: Labels = {}, amount = 1): void {
    const sample = this.#sample({ name, help, type: "counter", labels });
    if (sample !== undefined) sample.value += amount;
  }

  /** Adds to a gauge. */
  add(name: string, help: string, amount: number): void {
    const sample = this.#sample({ name, help, type: "gauge", labels: {} });
    if (sample !== undefined) sample.value += amount;
  }

  observe(
    name: string,
    help: string,
    given: { readonly labels: Labels; readonly seconds: number },
  ): void {
    const sample = this.#sample({ name, help, type: "histogram", labels: given.labels });
    if (sample?.buckets === undefined) return;
    sample.value += given.seconds;
    const at = bounds.findIndex((bound) => given.seconds <= bound);
    const first = at < 0 ? bounds.length : at;
    for (let index = first; index <= bounds.length; index += 1) {
      sample.buckets[index] = (sample.buckets[index] ?? 0) + 1;
    }
  }

  async render(): Promise<string> {
    const lines = [...this.#families].flatMap(([name, family]) => [
      `# HELP ${name} ${family.help}`,
      `# TYPE ${name} ${family.type}`,
      ...[...family.samples.values()].flatMap((sample) => sampleLines(name, sample)),
    ]);
    const read = (await Promise.all(this.#sources.map((source) => source()))).flat();
    const named = new Set<string>();
    for (const { name, help, type = "gauge", value, labels = {} } of read) {
      if (!named.has(name)) lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
      named.add(name);
      lines.push(`${name}${labelText(labels)} ${value}`);
    }
    return `${lines.join("\n")}\n`;
  }

  #sample(of: {
    readonly name: string;
    readonly help: string;
    readonly type: Family["type"];
    readonly labels: Labels;
  }): Sample | undefined {
    const { name, help, type, labels } = of;
    const family = this.#families.get(name) ?? { help, type, samples: new Map<string, Sample>() };
    this.#families.set(name, family);
    const key = labelText(labels);
    const known = family.samples.get(key);
    if (known !== undefined || family.samples.size >= maxSamples) return known;
    const buckets =
      type === "histogram" ? { buckets: Array<number>(bounds.length + 1).fill(0) } : {};
    const sample: Sample = { labels, value: 0, ...buckets };
    family.samples.set(key, sample);
    return sample;
  }
}

function sampleLines(name: string, { labels, value, buckets }: Sample): string[] {
  if (buckets === undefined) return [`${name}${labelText(labels)} ${value}`];
  const count = buckets.at(-1) ?? 0;
  return [
    ...buckets.map((below, index) => {
      const le = index < bounds.length ? String(bounds[index]) : "+Inf";
      return `${name}_bucket${labelText({ ...labels, le })} ${below}`;
    }),
    `${name}_sum${labelText(labels)} ${value}`,
    `${name}_count${labelText(labels)} ${count}`,
  ];
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) =>
      `${name}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`,
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/**
 * A histogram of durations that counts by itself, and which the registry of Effect's metrics reads: an update looks nothing up.
 *
 * Effect's own finds its series in the registry at each update, by a text of some 400 characters. That and its search for a bucket are most of
 * what metrics cost a call (`packages/bench/NOTES.md`).
 */
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"
import { type Attributes, boundaries, histogram, type MetricInfo } from "./Names.ts"

/** The series of a registry, by what identifies them: layers that share a registry count together. */
class RegistrySeries {
  readonly all = new Map<string, Durations>()
  /** How many series the registry had when that was last read. */
  size = 0
  /** How often that had changed by other hands: then the program may have taken out any of `all`. */
  changes = 0
}

const made = new WeakMap<object, RegistrySeries>()

/** After how many updates a series is looked for, where the number of series has not changed meanwhile. */
const often = 64

const sorted = (attributes: Attributes) => Object.entries(attributes).toSorted(([a], [b]) => (a < b ? -1 : 1))

/** Most requests take less: the list of bounds is not read for them. */
const least = boundaries[0] ?? 0

/** Where a series has its figures: in one array, for as fields each would be an object of the heap that an update has to reach. */
const sum = 0
const min = 1
const max = 2
const unchecked = 3
const buckets = 4

/** One series. */
export class Durations {
  private readonly figures = new Float64Array(buckets + boundaries.length + 1)
  private readonly registry: Metric.MetricRegistry
  private readonly siblings: RegistrySeries
  private readonly metric: Metric.Histogram<number>
  private readonly context: Context.Context<never>
  /** The key and the entry of the series in the registry. */
  private key: string | undefined = undefined
  private entry: unknown = undefined
  /** The changes of the registry after which the series was last found in it. */
  private found = -1

  private constructor(metric: Metric.Histogram<number>, context: Context.Context<never>, siblings: RegistrySeries) {
    this.metric = metric
    this.context = context
    this.siblings = siblings
    this.registry = Context.get(context, Metric.MetricRegistry)
  }

  /** The series with these attributes and those of the context, in the registry of the context. */
  static of(info: MetricInfo, attributes: Attributes, context: Context.Context<never>): Durations {
    const registry = Context.get(context, Metric.MetricRegistry)
    let siblings = made.get(registry)
    if (siblings === undefined) made.set(registry, (siblings = new RegistrySeries()))
    const around = Context.get(context, Metric.CurrentMetricAttributes)
    const key = JSON.stringify([info.name, sorted(attributes), sorted(around)])
    const known = siblings.all.get(key)
    if (known !== undefined) return known
    const series = new Durations(histogram(info, attributes), context, siblings)
    siblings.all.set(key, series)
    return series
  }

  record(seconds: number): void {
    const { registry, siblings } = this
    if (registry.size !== siblings.size) {
      siblings.size = registry.size
      siblings.changes++
    }
    if (this.found !== siblings.changes || this.add(unchecked, 1) === often) this.check()
    let bucket = 0
    if (seconds > least) while (bucket < boundaries.length && seconds > (boundaries[bucket] ?? 0)) bucket++
    this.add(buckets + bucket, 1)
    this.add(sum, seconds)
    if (seconds < this.at(min)) this.figures[min] = seconds
    if (seconds > this.at(max)) this.figures[max] = seconds
  }

  private at(place: number): number {
    return this.figures[place] ?? 0
  }

  private add(place: number, value: number): number {
    return (this.figures[place] = this.at(place) + value)
  }

  /** Begins anew where the program has taken the series out of its registry. */
  private check(): void {
    if (this.key === undefined || this.registry.get(this.key) !== this.entry) this.register()
    this.found = this.siblings.changes
    this.figures[unchecked] = 0
  }

  private register(): void {
    this.figures.fill(0)
    this.figures[min] = Number.MAX_VALUE
    this.figures[max] = -Number.MAX_VALUE
    const get = () => this.state
    Metric.registerUnsafe(this.metric, this.context, { get, update: () => {}, modify: () => {} })
    for (const [key, entry] of this.registry) {
      if (entry.hooks.get !== get) continue
      this.key = key
      this.entry = entry
    }
    this.siblings.size = this.registry.size
  }

  private get state(): Metric.HistogramState {
    let counted = 0
    const counts = Array.from(this.figures.subarray(buckets), (updates) => (counted += updates))
    return {
      buckets: boundaries.map((boundary, i) => [boundary, counts[i] ?? 0]),
      count: counted,
      min: this.at(min),
      max: this.at(max),
      sum: this.at(sum)
    }
  }
}

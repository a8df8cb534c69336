/**
 * A histogram of durations that does its own counting and is read by Effect's metric registry, so that recording a value needs no lookup.
 *
 * Effect's own histogram looks up its series in the registry on every update, using a key of some 400 characters. That lookup and the
 * search for a bucket make up most of the per-call cost of metrics (`packages/bench/NOTES.md`).
 */
import * as Context from "effect/Context"
import { memoize } from "effect/Function"
import * as Metric from "effect/Metric"
import { type Attributes, boundaries, histogram, type MetricInfo } from "./Names.ts"

/** A registry's series by key, so that layers sharing a registry count together. */
class RegistrySeries {
  readonly all = new Map<string, Durations>()
  /** Number of series in the registry when it was last read. */
  size = 0
  /** Number of changes made by others, after which anything in `all` may have been removed. */
  changes = 0
}

const seriesOf = memoize<object, RegistrySeries>(() => new RegistrySeries())

/** Number of updates after which a series is looked up again, even if the number of series hasn't changed. */
const often = 64

const sorted = (attributes: Attributes) => Object.entries(attributes).toSorted(([a], [b]) => (a < b ? -1 : 1))

/** Most requests are faster than this, so the list of bounds isn't searched for them. */
const least = boundaries[0] ?? 0

/** Index of the sum. All of a series' figures are in one array, because separate fields would be separate heap objects. */
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
  /** The series' key and entry in the registry. */
  private key: string | undefined = undefined
  private entry: unknown = undefined
  /** Number of registry changes at which the series was last found in it. */
  private found = -1

  private constructor(metric: Metric.Histogram<number>, context: Context.Context<never>, siblings: RegistrySeries) {
    this.metric = metric
    this.context = context
    this.siblings = siblings
    this.registry = Context.get(context, Metric.MetricRegistry)
  }

  /** Returns the series with these attributes plus the context's attributes, in the context's registry. */
  static of(info: MetricInfo, attributes: Attributes, context: Context.Context<never>): Durations {
    const registry = Context.get(context, Metric.MetricRegistry)
    const siblings = seriesOf(registry)
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

  /** Starts over if the program has removed the series from its registry. */
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

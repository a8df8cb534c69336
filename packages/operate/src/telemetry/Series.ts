/**
 * The series of metrics with attributes, each made once.
 *
 * Owns the bound of their number: names of tools and codes of errors come from messages. Attributes whose values are not known beforehand
 * are left out once there are too many series.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { Durations } from "./Durations.ts"
import { type Attributes, type MetricInfo, sum } from "./Names.ts"

type Key = string | undefined
/** One series. */
export interface Measured {
  record(value: number): void
}

const made = (info: MetricInfo, attributes: Attributes, context: Context.Context<never>): Measured => {
  if (info.type === "histogram") return Durations.of(info, attributes, context)
  const counter = sum(info, attributes)
  return { record: (value) => counter.updateUnsafe(value, context) }
}

/** What metrics read of a context at each update, and nothing else: a lookup in the context of a program takes longer than an update. */
export const ownContext: Effect.Effect<Context.Context<never>> = Effect.map(Effect.context<never>(), (context) =>
  Context.makeUnsafe(
    new Map<string, unknown>([
      [Metric.MetricRegistry.key, Context.get(context, Metric.MetricRegistry)],
      [Metric.CurrentMetricAttributes.key, Context.get(context, Metric.CurrentMetricAttributes)]
    ])
  )
)

/** A tree of series: a key of several parts is not joined to find one. */
class Branch<A> {
  private readonly branches = new Map<Key, Branch<A>>()
  series: A | undefined = undefined

  at(key: Key): Branch<A> {
    const known = this.branches.get(key)
    if (known !== undefined) return known
    const made = new Branch<A>()
    this.branches.set(key, made)
    return made
  }

  find(key: Key): Branch<A> | undefined {
    return this.branches.get(key)
  }
}

/** How many series there are, of all metrics of one layer. */
export class SeriesLimit {
  private left: number

  constructor(most: number) {
    this.left = most
  }

  /** Whether there may be one more, which is counted. */
  take(): boolean {
    return this.left > 0 && this.left-- > 0
  }
}

/** The series of one metric by a fixed list of attributes. The last ones, from `droppable` on, are left out beyond the limit. */
export class Series {
  private readonly names: ReadonlyArray<string>
  private readonly droppable: number
  private readonly make: (attributes: Attributes) => Measured
  private readonly limit: SeriesLimit
  private readonly root = new Branch<Measured>()

  constructor(
    info: MetricInfo,
    names: ReadonlyArray<string>,
    droppable: number,
    limit: SeriesLimit,
    context: Context.Context<never>
  ) {
    this.names = names
    this.droppable = droppable
    const make = (attributes: Attributes): Measured => made(info, attributes, context)
    this.make = make
    this.limit = limit
  }

  /** Records a value; `keys` are those of the attributes, in their order, and undefined where one does not apply. */
  record(value: number, ...keys: ReadonlyArray<Key>): void {
    this.seriesOf(keys).record(value)
  }

  /** The series of these keys; made where there is none. */
  seriesOf(keys: ReadonlyArray<Key>): Measured {
    let at: Branch<Measured> | undefined = this.root
    for (const key of keys) at = at?.find(key)
    return at?.series ?? this.added(keys)
  }

  private added(keys: ReadonlyArray<Key>): Measured {
    const kept = this.limit.take() ? keys : keys.slice(0, this.droppable)
    let at = this.root
    for (let i = 0; i < this.names.length; i++) at = at.at(kept[i])
    if (at.series !== undefined) return at.series
    const attributes = Object.fromEntries(
      this.names.flatMap((name, i) => {
        const key = kept[i]
        return key === undefined ? [] : [[name, key] as const]
      })
    )
    return (at.series = this.make(attributes))
  }
}

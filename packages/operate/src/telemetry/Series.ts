/**
 * Metric series with attributes, each created once.
 *
 * Their number is bounded, because tool names and error codes come from messages. Once there are too many series, attributes with
 * unpredictable values are omitted.
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

/** Only the services that metrics read on each update, because a lookup in the program's full context takes longer than an update. */
export const ownContext: Effect.Effect<Context.Context<never>> = Effect.map(Effect.context<never>(), (context) =>
  Context.makeUnsafe(
    new Map<string, unknown>([
      [Metric.MetricRegistry.key, Context.get(context, Metric.MetricRegistry)],
      [Metric.CurrentMetricAttributes.key, Context.get(context, Metric.CurrentMetricAttributes)]
    ])
  )
)

/** A tree of series, so that finding one doesn't require joining the parts of its key. */
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

/** Limits the number of series across all of a layer's metrics. */
export class SeriesLimit {
  private left: number

  constructor(most: number) {
    this.left = most
  }

  /** Counts another series. Returns false if the limit has been reached. */
  take(): boolean {
    return this.left > 0 && this.left-- > 0
  }
}

/** A metric's series, by a fixed list of attributes. Beyond the limit, attributes from `droppable` onward are omitted. */
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

  /** Records a value. `keys` contains the attribute values in order, with `undefined` for those that don't apply. */
  record(value: number, ...keys: ReadonlyArray<Key>): void {
    this.seriesOf(keys).record(value)
  }

  /** Returns the series with these keys, creating it if necessary. */
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

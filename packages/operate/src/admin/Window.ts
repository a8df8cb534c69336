/** Calls in the last 15 minutes, by minute: how many there were, how many failed, and how long they took. */

/** Number of minutes to keep. */
export const minutes = 15
const minute = 60_000

/** Durations are counted in buckets, each about a fifth wider than the one before it, from 0.1 ms to half an hour. */
const buckets = 96
const least = 0.1
const perDoubling = 4

const bucketOf = (milliseconds: number): number =>
  milliseconds <= least ? 0 : Math.min(buckets - 1, Math.ceil(Math.log2(milliseconds / least) * perDoubling))

/** Returns the middle of a bucket in milliseconds, which is at most a tenth away from the durations in it. */
const middleOf = (bucket: number): number => least * 2 ** ((bucket - 0.5) / perDoubling)

/** Number of calls by duration bucket. Empty buckets are omitted. */
export type DurationCounts = ReadonlyArray<readonly [bucket: number, calls: number]>

/** Returns a duration in milliseconds that `share` of the calls do not exceed, or `undefined` if there were no calls. */
export const quantile = (durations: DurationCounts, share: number): number | undefined => {
  const total = durations.reduce((sum, [, calls]) => sum + calls, 0)
  let below = 0
  for (const [bucket, calls] of durations.toSorted(([a], [b]) => a - b)) {
    below += calls
    if (below >= total * share) return middleOf(bucket)
  }
  return undefined
}

class Minute {
  readonly at: number
  calls = 0
  failures = 0
  readonly durations = new Uint32Array(buckets)

  constructor(at: number) {
    this.at = at
  }
}

/** Counts for the last minutes. */
export interface Counts {
  readonly calls: number
  readonly failures: number
  readonly durations: DurationCounts
}

export class Window {
  private readonly all: Array<Minute> = []

  record(now: number, milliseconds: number, failed: boolean): void {
    const at = Math.floor(now / minute)
    const last = this.all.at(-1)
    const current = last?.at === at ? last : new Minute(at)
    if (current !== last) {
      this.all.push(current)
      if (this.all.length > minutes) this.all.shift()
    }
    current.calls++
    if (failed) current.failures++
    const bucket = bucketOf(milliseconds)
    current.durations[bucket] = (current.durations[bucket] ?? 0) + 1
  }

  /** True if there were no calls in the last 15 minutes. */
  isEmpty(now: number): boolean {
    return !this.all.some(({ at }) => at > Math.floor(now / minute) - minutes)
  }

  /** Returns the counts for the last `last` minutes, including the current one. */
  counts(now: number, last = minutes): Counts {
    const from = Math.floor(now / minute) - last
    const shown = this.all.filter(({ at }) => at > from)
    const durations = Array.from({ length: buckets }, (_, i) =>
      shown.reduce((sum, one) => sum + (one.durations[i] ?? 0), 0)
    )
    return {
      calls: shown.reduce((sum, { calls }) => sum + calls, 0),
      failures: shown.reduce((sum, { failures }) => sum + failures, 0),
      durations: durations.flatMap((calls, i) => (calls === 0 ? [] : [[i, calls] as const]))
    }
  }
}

/** A server or a function that answers requests, and the load that keeps a number of them in flight. */
import type { Kinds } from "./Wire.ts"

export interface Limit {
  /** Milliseconds after which no more requests are sent. */
  readonly ms?: number
  /** Number of requests to send. */
  readonly count?: number
}

/** Results of a load. Latencies are in milliseconds. */
export interface Load {
  readonly requests: number
  readonly ms: number
  readonly p50: number
  readonly p99: number
}

export interface Target {
  readonly pid: number
  readonly run: (kind: Kinds, inFlight: number, limit: Limit) => Promise<Load>
  readonly close: () => Promise<void>
}

/** Stands in for a server that did not start. Every measurement fails with the reason. */
export const broken = (error: unknown): Target => ({
  pid: 0,
  run: () => Promise.reject(error),
  close: async () => {}
})

const percentile = (sorted: ReadonlyArray<number>, p: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN

/** Milliseconds after which an answer counts as missing, so that a stuck server doesn't block the run. */
const patience = 30_000

/**
 * Keeps `inFlight` requests in flight until the limit. `send` sends request `id` on one of that many lanes and calls back with its answer.
 * `check` throws if the answer is wrong.
 */
export const load = <A>(
  inFlight: number,
  { ms = Infinity, count = Infinity }: Limit,
  nextId: () => number,
  send: (lane: number, id: number, answered: (answer: A) => void, failed: (error: Error) => void) => void,
  check: (answer: A, id: number) => void
): Promise<Load> =>
  new Promise((resolve, fail) => {
    const reject = (error: Error): void => {
      clearTimeout(late)
      fail(error)
    }
    const late = setTimeout(
      () => reject(new Error(`No answer for ${patience / 1000} s`)),
      (ms === Infinity ? 0 : ms) + patience
    )
    const latencies: Array<number> = []
    const began = performance.now()
    let started = 0
    let open = 0
    const end = (): void => {
      clearTimeout(late)
      const took = performance.now() - began
      latencies.sort((a, b) => a - b)
      resolve({
        requests: latencies.length,
        ms: took,
        p50: percentile(latencies, 0.5),
        p99: percentile(latencies, 0.99)
      })
    }
    const next = (lane: number): void => {
      if (started >= count || performance.now() - began >= ms) {
        if (open === 0) end()
        return
      }
      started++
      open++
      const id = nextId()
      const sent = performance.now()
      const answered = (answer: A): void => {
        latencies.push(performance.now() - sent)
        open--
        try {
          check(answer, id)
        } catch (error) {
          return reject(error instanceof Error ? error : new Error(String(error)))
        }
        next(lane)
      }
      send(lane, id, answered, reject)
    }
    for (let lane = 0; lane < inFlight; lane++) next(lane)
  })

/**
 * The tasks of a memory that have ended: which are kept, which are forgotten for another, and when there is no room.
 *
 * Until its time to live is over, a task is forgotten only where its caller has read its end. Where the memory is full for others, the caller
 * that keeps the most loses one: a caller that floods the memory neither pushes out tasks of others nor keeps them from new ones.
 */
import type { EndedRow } from "./EndedRow.ts"
import { InOrder } from "./InOrder.ts"

/** The part of the room that one caller may fill. */
const share = 1 / 2

/** The tasks of one caller, in the order of their ends. */
class Holding {
  readonly unread = new InOrder<EndedRow>()
  /** Those whose end the caller has seen. */
  readonly read = new InOrder<EndedRow>()
  bytes = 0

  get count(): number {
    return this.unread.size + this.read.size
  }
}

export interface KeptOptions {
  /**
   * Tasks that have ended and are kept, in all; one caller has half of them. Where it keeps so many the first is forgotten whose end it has
   * read, and without one its new tasks are refused. Default 10 000.
   */
  readonly kept?: number | undefined
  /**
   * Bytes of how they ended, as JSON, with the same rule. Where tasks that run at once end with more in all, the first of the caller that
   * keeps the most is forgotten. Default 256 MiB.
   */
  readonly keptBytes?: number | undefined
}

export class Kept {
  private readonly max: { readonly count: number; readonly bytes: number }
  private readonly byId = new Map<string, EndedRow>()
  private readonly holdings = new Map<string, Holding>()
  private readonly all = { count: 0, bytes: 0 }

  constructor({ kept = 10_000, keptBytes = 256 * 1024 * 1024 }: KeptOptions) {
    this.max = { count: kept, bytes: keptBytes }
  }

  get(id: string): EndedRow | undefined {
    return this.byId.get(id)
  }

  get rows(): Iterable<EndedRow> {
    return this.byId.values()
  }

  /** Keeps a task that has ended. */
  add(row: EndedRow): void {
    const { caller } = row
    let holding = this.holdings.get(caller)
    if (holding === undefined) this.holdings.set(caller, (holding = new Holding()))
    holding.unread.add(row)
    this.byId.set(row.id, row)
    this.weigh(holding, row, 1)
    while (this.all.bytes > this.max.bytes) {
      const excess = firstOf(this.largest)
      if (excess === undefined || excess === row) return
      this.delete(excess)
    }
  }

  private weigh(holding: Holding, { bytes }: EndedRow, sign: 1 | -1): void {
    holding.bytes += sign * bytes
    this.all.bytes += sign * bytes
    this.all.count += sign
  }

  /** Its caller has seen how the task ended. */
  read(row: EndedRow): void {
    const holding = this.holdings.get(row.caller)
    if (holding?.unread.delete(row) === true) holding.read.add(row)
  }

  /** Forgets a task. */
  delete(row: EndedRow): void {
    const { caller } = row
    const holding = this.holdings.get(caller)
    if (holding === undefined || !(holding.unread.delete(row) || holding.read.delete(row))) return
    this.byId.delete(row.id)
    this.weigh(holding, row, -1)
    if (holding.count === 0) this.holdings.delete(caller)
  }

  /** The part of the room that is filled. */
  private load({ bytes, count }: Pick<Holding, "bytes" | "count">): number {
    return Math.max(count / this.max.count, bytes / this.max.bytes)
  }

  private get largest(): Holding | undefined {
    let largest: Holding | undefined
    for (const holding of this.holdings.values()) {
      if (largest === undefined || this.load(holding) > this.load(largest)) largest = holding
    }
    return largest
  }

  /** Forgets tasks until there is room for one more of a caller; false where there is none. */
  makeRoom(caller: string): boolean {
    while (true) {
      const row = this.toForget(caller)
      if (typeof row === "string") return row === "nothing"
      this.delete(row)
    }
  }

  private toForget(caller: string): "nothing" | "full" | EndedRow {
    const own = this.holdings.get(caller)
    const ofOwn = (): "full" | EndedRow => own?.read.first ?? "full"
    if (own !== undefined && this.load(own) >= share) return ofOwn()
    if (this.load(this.all) < 1) return "nothing"
    const { largest } = this
    if (largest === undefined) return "nothing"
    return largest === own ? ofOwn() : (firstOf(largest) ?? "full")
  }
}

/** The task that a caller loses first. */
const firstOf = (holding: Holding | undefined): EndedRow | undefined => holding?.read.first ?? holding?.unread.first

/** The tasks of a memory that have ended: how many of them are kept, and which one is forgotten for another. */
import type { Row } from "./Row.ts"

export class Kept {
  private readonly max: number
  /** In the order of their ends. */
  private readonly rows = new Set<Row>()

  constructor(max: number) {
    this.max = Math.max(1, max)
  }

  /** Keeps a task that has ended, without what only a further run would need; gives the one to forget: of its owner, else of all. */
  add(row: Row): Row | undefined {
    row.entries.clear()
    row.input = { ...row.input, input: {}, client: {} }
    const { max, rows } = this
    const all = rows.size < max ? [] : [...rows]
    rows.add(row)
    return all.find(({ input }) => input.owner === row.input.owner) ?? all[0]
  }

  delete(row: Row): void {
    this.rows.delete(row)
  }
}

/**
 * A task that has ended, as a store in memory holds it until it is forgotten: one small object and one text.
 *
 * Thousands of them outlive young collections, which copy each twice: a fifth of what a task costs (`bench/NOTES.md`). The outcomes that were
 * read last are kept beside their texts, since a task is read more than once soon after its end.
 *
 * Readers get a copy, or what was read from the text, never what the handler returned: that may change later, or be no JSON, as a Date or a
 * member that is undefined.
 */
import type { TaskOutcome, Task } from "../model/Task.ts"
import type { InOrder, InList } from "./InOrder.ts"
import * as JsonCopy from "./JsonCopy.ts"
import { bytesOfText, callerOf, none, type Row } from "./Row.ts"

/** Longer outcomes are kept as values: to read one anew would cost more than to keep its parts, and lists read 50 in a turn. */
const longest = 4096
/** How many outcomes are kept beside their texts. */
const recentAtMost = 64

/** Undefined for an outcome whose text has to be read. */
const copyOf = (outcome: TaskOutcome): TaskOutcome | undefined => {
  const copy = JsonCopy.copyOf(outcome)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the copy has the members of the outcome
  return copy === JsonCopy.none ? undefined : (copy as TaskOutcome)
}

/** The outcomes that were read last, by the numbers of their rows: a row would keep those beside it, of a store that is not used any more. */
const recent: Array<{ readonly number: number; readonly outcome: TaskOutcome } | undefined> = []
let ended = 0

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the text was made of an outcome
const parse = (text: string): TaskOutcome => JSON.parse(text) as TaskOutcome

export class EndedRow implements InList<EndedRow> {
  list: InOrder<EndedRow> | undefined = undefined
  before: EndedRow | undefined = undefined
  after: EndedRow | undefined = undefined
  readonly id: string
  readonly owner: string
  /** The caller that it counts for. */
  readonly caller: string
  readonly order: number
  readonly endedAt: number
  /** Of its outcome as JSON. */
  readonly bytes: number
  private readonly createdAt: number
  private readonly ttl: number
  private readonly pollInterval: number
  private readonly message: string | undefined
  private readonly outcome: string | TaskOutcome
  /** Among all rows of the process. */
  private readonly number: number

  /** `message` replaces the last progress message, even if it is `undefined`. Throws for an outcome without a JSON form. */
  constructor({ input, order, task }: Row, endedAt: number, outcome: TaskOutcome, message: string | undefined) {
    const copy = copyOf(outcome)
    const text = JSON.stringify(copy ?? outcome)
    this.id = task.id
    this.owner = input.owner
    this.caller = callerOf(input)
    this.order = order
    this.endedAt = endedAt
    this.bytes = bytesOfText(text)
    this.createdAt = task.createdAt
    this.ttl = task.ttl
    this.pollInterval = task.pollInterval
    this.message = message
    this.outcome = text.length <= longest ? text : (copy ?? parse(text))
    this.number = ended++
    if (copy !== undefined && text.length <= longest) this.remember(copy)
  }

  /** Until then the task is kept; see `ttl`. */
  get expiresAt(): number {
    return this.createdAt + this.ttl
  }

  get task(): Task {
    const { createdAt, endedAt, id, message, pollInterval, ttl } = this
    return {
      id,
      createdAt,
      updatedAt: endedAt,
      ttl,
      pollInterval,
      message,
      questions: none,
      outcome: this.read()
    }
  }

  private read(): TaskOutcome {
    const { number, outcome } = this
    if (typeof outcome !== "string") return outcome
    const known = recent[number % recentAtMost]
    return known?.number === number ? known.outcome : this.remember(parse(outcome))
  }

  private remember(outcome: TaskOutcome): TaskOutcome {
    const { number } = this
    recent[number % recentAtMost] = { number, outcome }
    return outcome
  }
}

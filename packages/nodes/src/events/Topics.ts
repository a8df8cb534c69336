/** A bus over a single database channel. Hints from one turn are sent in a single write, and a node doesn't receive its own hints. */
import type { Bus, NodesUnavailable } from "@effect-mcp/server/Nodes"
import * as Effect from "effect/Effect"
import { Outage } from "../directory/Outage.ts"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

/** Maximum bytes per hint. A Postgres channel accepts 8000. */
const maxHint = 7900
/** Number of hints that may wait while the database isn't responding. Beyond it, the oldest are dropped. */
const maxWaiting = 4096

type Send = (payloads: ReadonlyArray<string>) => Effect.Effect<unknown, NodesUnavailable>

export class Topics implements Bus {
  private readonly self = crypto.randomUUID()
  private readonly topics = new Map<string, Set<(text: string) => void>>()
  private readonly waiting: Queue.Queue<string>

  private constructor(waiting: Queue.Queue<string>) {
    this.waiting = waiting
  }

  /** `send` delivers payloads to all nodes, each of which calls `receive`. */
  static readonly make = Effect.fnUntraced(function* (send: Send): Effect.fn.Return<Topics, never, Scope.Scope> {
    const waiting = yield* Queue.sliding<string>(maxWaiting)
    const outage = new Outage("The notification channel between nodes")
    const sent = Effect.flatMap(Queue.takeAll(waiting), (payloads) =>
      Effect.ignore(outage.noted(send([...new Set(payloads)])))
    )
    yield* Effect.forkScoped(Effect.forever(sent))
    return new Topics(waiting)
  })

  publish(topic: string, text: string): void {
    const payload = JSON.stringify([this.self, topic, text])
    if (Buffer.byteLength(payload) <= maxHint) Queue.offerUnsafe(this.waiting, payload)
  }

  /** Called with each payload sent by any node. */
  receive(payload: string): void {
    const [from, topic, text] = parsed(payload)
    if (from === this.self || topic === undefined || text === undefined) return
    for (const received of this.topics.get(topic) ?? []) received(text)
  }

  subscribe(topic: string, received: (text: string) => void): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          const functions = this.topics.get(topic) ?? new Set()
          this.topics.set(topic, functions)
          functions.add(received)
        }),
        () =>
          Effect.sync(() => {
            const functions = this.topics.get(topic)
            functions?.delete(received)
            if (functions?.size === 0) this.topics.delete(topic)
          })
      )
    )
  }
}

const parsed = (payload: string): ReadonlyArray<string | undefined> => {
  try {
    const parts: unknown = JSON.parse(payload)
    return Array.isArray(parts) ? parts.map((part: unknown) => (typeof part === "string" ? part : undefined)) : []
  } catch {
    return []
  }
}

/** A node that dies at one of its writes to a task's journal. A dead node writes nothing more and starts no step. */
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import type { Journal, RecordInTransaction } from "@effect-mcp/tasks/Journal"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { type Around, watchSteps } from "../engine/steps.ts"

/** A crash point: before or after the nth write takes effect. */
export interface Point {
  readonly write: number
  readonly when: "before" | "after"
}

/** Rolls back the transaction in which a node dies. */
class Died extends Data.TaggedError("Died")<{}> {}

export class Node {
  writes = 0
  isDead = false
  /** Names of the steps that started, in order. */
  readonly steps: Array<string> = []
  readonly journal: Journal["Service"]
  private readonly point: Point | undefined
  private readonly over = Deferred.makeUnsafe<void>()
  /** Suspends a dead node's fibers until its scope closes. */
  private readonly gone = Effect.andThen(Deferred.await(this.over), Effect.interrupt)
  private readonly dies = Effect.suspend(() => {
    this.isDead = true
    return this.gone
  })

  /** The point at which the node dies. Without a point, it survives. */
  constructor(journal: Journal["Service"], point: Point | undefined) {
    this.point = point
    this.journal = {
      ...journal,
      due: this.alive(journal.due),
      claim: (node, tools, max) => this.alive(journal.claim(node, tools, max)),
      take: (node, task) => this.alive(journal.take(node, task)),
      unstarted: (tools, max) => this.alive(journal.unstarted(tools, max)),
      renew: (node, leases) => this.alive(journal.renew(node, leases)),
      record: (lease, entry) => this.write(journal.record(lease, entry)),
      transaction: (sql) => {
        const record = journal.transaction(sql)
        return record && this.inTransaction(record)
      },
      message: (lease, message) => this.write(journal.message(lease, message)),
      park: (lease, wake) => this.write(journal.park(lease, wake)),
      settle: (lease, outcome, message) => this.write(journal.settle(lease, outcome, message)),
      expired: this.alive(journal.expired),
      sweep: this.alive(journal.sweep)
    }
  }

  /** Lets a dead node's fibers end. */
  readonly end = Effect.asVoid(Deferred.succeed(this.over, undefined))

  private alive<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => (this.isDead ? this.gone : effect))
  }

  private nth(): Point["when"] | undefined {
    return ++this.writes === this.point?.write ? this.point.when : undefined
  }

  private write<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return this.alive(
      Effect.suspend(() => {
        const when = this.nth()
        if (when === undefined) return effect
        return when === "before" ? this.dies : Effect.andThen(effect, this.dies)
      })
    )
  }

  private inTransaction(record: RecordInTransaction): RecordInTransaction {
    return (lease, key, step) => {
      const recorded = Effect.suspend(() => {
        const when = this.nth()
        if (when === undefined) return record(lease, key, step)
        if (when === "after") return Effect.andThen(record(lease, key, step), this.dies)
        const cut = Effect.andThen(step, Effect.fail(new Died()))
        return Effect.catchIf(
          record(lease, key, cut),
          (error) => error instanceof Died,
          () => this.dies
        )
      })
      return this.alive(recorded)
    }
  }

  /** Wraps the handler to record its steps. A dead node starts none. */
  watched<A, E, R>(handler: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | ClientInput> {
    const began: Around = (name, step) =>
      this.alive(
        Effect.suspend(() => {
          this.steps.push(name)
          return step
        })
      )
    return Effect.andThen(watchSteps(began), handler)
  }
}

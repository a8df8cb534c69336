/**
 * Servers that have several conversations, one after the other: starting a process takes longer than most conversations.
 *
 * Only for revisions without sessions. A conversation that does not end in order, or breaks a rule, is the last one of its server.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Script } from "../model/Script.ts"
import type { LineTarget, Wire, WireEvent } from "./Target.ts"

/** The conversations of one server at most: the first ones of a process, and its end, are to be seen, too. */
export const mostConversations = 20

class ReusedServer {
  readonly before: Array<Script> = []
  readonly scope: Scope.Closeable
  /** Whether it spoke or ended between two conversations. */
  private isSpoilt = false
  private isKept = false
  private receive: ((event: WireEvent) => void) | undefined

  constructor(scope: Scope.Closeable) {
    this.scope = scope
  }

  readonly hear = (event: WireEvent): void => {
    if (this.receive === undefined) this.isSpoilt = true
    else this.receive(event)
  }

  begin(receive: (event: WireEvent) => void): void {
    this.isKept = false
    this.receive = receive
  }

  readonly keep = (script: Script): boolean => {
    this.before.push(script)
    this.isKept = this.before.length < mostConversations
    if (this.isKept) this.receive = undefined
    return this.isKept
  }

  /** Whether it can have another conversation. */
  get isIdle(): boolean {
    return this.isKept && !this.isSpoilt
  }
}

/** A target whose servers are kept where a conversation allows it. They end with the scope. */
export const reused = (target: LineTarget): Effect.Effect<LineTarget, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const idle: Array<readonly [ReusedServer, Wire]> = []
    const started = Effect.gen(function* () {
      const server = new ReusedServer(yield* Scope.fork(scope))
      const wire = yield* Effect.onError(Scope.provide(target.open(server.hear), server.scope), () =>
        Scope.close(server.scope, Exit.void)
      )
      return [server, wire] as const
    })
    const taken = Effect.gen(function* () {
      for (let kept = idle.pop(); kept !== undefined; kept = idle.pop()) {
        if (kept[0].isIdle) return kept
        yield* Scope.close(kept[0].scope, Exit.void)
      }
      return yield* started
    })
    const left = (pair: readonly [ReusedServer, Wire]) =>
      Effect.suspend(() => {
        const [server] = pair
        if (!server.isIdle) return Scope.close(server.scope, Exit.void)
        idle.push(pair)
        return Effect.void
      })
    return {
      ...target,
      open: (receive) =>
        Effect.map(Effect.acquireRelease(taken, left), ([server, wire]) => {
          server.begin(receive)
          return { ...wire, before: [...server.before], keep: server.keep }
        })
    }
  })

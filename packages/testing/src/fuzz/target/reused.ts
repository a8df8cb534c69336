/**
 * Servers that have several conversations, one after the other: starting a process takes longer than most conversations.
 *
 * In revisions with sessions a conversation continues the session of the one before, if it opens as that did. A conversation that does not
 * end in order, or breaks a rule, is the last one of its server; one that opens in a way of its own has a server of its own.
 */
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Model } from "../model/Model.ts"
import type { Script } from "../model/Script.ts"
import type { LineTarget, Wire, WireEvent } from "./Target.ts"

/** The conversations of one server at most: the first ones of a process, and its end, are to be seen, too. */
export const mostConversations = 20

/** The servers that wait for a conversation at most; the one that has waited longest is ended. */
export const mostIdle = 8

/** What tells servers apart that can have a conversation; undefined where it needs a server of its own. */
const kindOf = (script: Script | undefined): string | undefined => {
  if (script === undefined) return undefined
  const { commands, revision } = script
  if (Revision.get(revision)?.era === "stateless") return revision
  const [first, ...others] = commands
  if (first?._tag !== "Open" || others.some(({ _tag }) => _tag === "Open")) return undefined
  if (first.offer !== undefined || first.silent === true) return undefined
  return `${revision} ${(first.declares ?? []).join(" ")}`
}

class ReusedServer {
  readonly before: Array<Script> = []
  readonly scope: Scope.Closeable
  readonly kind: string | undefined
  /** What is known of its conversations. */
  model: Model | undefined = undefined
  /** Whether it spoke or ended between two conversations. */
  private isSpoilt = false
  private isKept = false
  private receive: ((event: WireEvent) => void) | undefined

  constructor(scope: Scope.Closeable, kind: string | undefined) {
    this.scope = scope
    this.kind = kind
  }

  readonly hear = (event: WireEvent): void => {
    if (this.receive === undefined) this.isSpoilt = true
    else this.receive(event)
  }

  begin(receive: (event: WireEvent) => void): void {
    this.isKept = false
    this.receive = receive
  }

  readonly keep = (script: Script, model: Model): boolean => {
    this.before.push(script)
    this.model = model
    this.isKept = this.kind !== undefined && this.before.length < mostConversations
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
    /** The one that has waited longest is first. */
    const idle: Array<readonly [ReusedServer, Wire]> = []
    const started = Effect.fnUntraced(function* (script: Script | undefined) {
      const server = new ReusedServer(yield* Scope.fork(scope), kindOf(script))
      const wire = yield* Effect.onError(Scope.provide(target.open(server.hear, script), server.scope), () =>
        Scope.close(server.scope, Exit.void)
      )
      return [server, wire] as const
    })
    const taken = Effect.fnUntraced(function* (script: Script | undefined) {
      const kind = kindOf(script)
      for (;;) {
        const index = kind === undefined ? -1 : idle.findLastIndex(([server]) => server.kind === kind)
        const [kept] = index === -1 ? [] : idle.splice(index, 1)
        if (kept === undefined) return yield* started(script)
        if (kept[0].isIdle) return kept
        yield* Scope.close(kept[0].scope, Exit.void)
      }
    })
    const left = (pair: readonly [ReusedServer, Wire]) =>
      Effect.suspend(() => {
        const [server] = pair
        if (!server.isIdle) return Scope.close(server.scope, Exit.void)
        idle.push(pair)
        const oldest = idle.length > mostIdle ? idle.shift() : undefined
        return oldest === undefined ? Effect.void : Scope.close(oldest[0].scope, Exit.void)
      })
    return {
      ...target,
      open: (receive, script) =>
        Effect.map(Effect.acquireRelease(taken(script), left), ([server, wire]) => {
          server.begin(receive)
          return { ...wire, before: [...server.before], model: server.model, keep: server.keep }
        })
    }
  })

/**
 * Reuses servers for several conversations, because starting a process takes longer than most conversations.
 *
 * In revisions with sessions, a conversation continues the session of the previous one if it would open it in the same way. A conversation
 * that ends abnormally or breaks a rule is the last one of its server. The next new server starts in advance.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type { Model } from "../model/Model.ts"
import type { Script } from "../model/Script.ts"
import { type ReuseKind, kindOf } from "./kinds.ts"
import type { LineTarget, TargetError, Wire, WireEvent } from "./Target.ts"

/** Maximum number of conversations per server, so that the first conversations of a process and its exit are tested too. */
const mostConversations = 40

/**
 * Maximum number of idle servers: six kinds of conversations in each of four revisions. If there are more, the one that has waited longest
 * is stopped.
 */
const mostIdle = 24

/** A server that exited between two conversations. */
export interface EndedBetween {
  /** Conversations with the server, oldest first. */
  readonly before: ReadonlyArray<Script>
  readonly revision: Script["revision"]
  readonly how: string
}

class ReusedServer {
  readonly before: Array<Script> = []
  readonly scope: Scope.Closeable
  /** The model of its conversations. */
  model: Model | undefined = undefined
  /** State that the last conversation left, or `undefined` if the server is new or can't be reused. */
  leaves: string | undefined
  private kind: ReuseKind | undefined
  /** True if the server wrote something or exited between two conversations. */
  private isSpoilt = false
  /** Its output before the first conversation. */
  private early: Array<WireEvent> = []
  private receive: ((event: WireEvent) => void) | undefined

  private readonly ended: (one: EndedBetween) => void
  private readonly most: number

  constructor(scope: Scope.Closeable, ended: (one: EndedBetween) => void, most: number) {
    this.scope = scope
    this.ended = ended
    this.most = most
  }

  readonly hear = (event: WireEvent): void => {
    if (this.receive !== undefined && this.early.length === 0) this.receive(event)
    else if (this.before.length === 0) this.early.push(event)
    else this.spoil(event)
  }

  private spoil(event: WireEvent): void {
    const [last] = this.before.slice(-1)
    if (event._tag === "Ended" && this.isIdle && last !== undefined)
      this.ended({ before: [...this.before], revision: last.revision, how: event.how })
    this.isSpoilt = true
  }

  begin(receive: (event: WireEvent) => void, kind: ReuseKind | undefined): void {
    this.kind = kind
    this.leaves = undefined
    this.receive = receive
    // Delivered later, because the conversation can't answer before it has begun.
    if (this.early.length > 0) queueMicrotask(() => this.early.splice(0).forEach(receive))
  }

  readonly keep = (script: Script, model: Model): boolean => {
    this.before.push(script)
    this.model = model
    if (this.before.length < this.most && this.kind?.isLeft(model) === true) this.leaves = this.kind.leaves
    if (this.leaves !== undefined) this.receive = undefined
    return this.leaves !== undefined
  }

  /** True if the server can be used for another conversation. */
  get isIdle(): boolean {
    return this.leaves !== undefined && !this.isSpoilt
  }

  /** True unless the server exited before its first conversation. */
  get isAlive(): boolean {
    return !this.early.some(({ _tag }) => _tag === "Ended")
  }

  /** True if the server's state suits this kind of conversation. */
  suits({ isSuited, takes }: ReuseKind): boolean {
    return this.leaves !== undefined && this.leaves === takes && this.model !== undefined && isSuited(this.model)
  }
}

type Pair = readonly [ReusedServer, Wire]

/**
 * Returns a target that reuses servers until the scope closes. `jobs` is the number of concurrent conversations; as many idle servers are
 * kept per kind of conversation, and at least two. `ended` is called with a server that exits while idle. `most` is the maximum number of
 * conversations per server.
 */
export const reused = (
  target: LineTarget,
  jobs = 1,
  ended: (one: EndedBetween) => void = () => {},
  most = mostConversations
): Effect.Effect<LineTarget, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    /** Idle servers, longest-waiting first. */
    const idle: Array<Pair> = []
    /** A new server that starts in advance. */
    let spare: Fiber.Fiber<Pair, TargetError> | undefined
    const end = ([server]: Pair) => Scope.close(server.scope, Exit.void)
    const start = Effect.gen(function* () {
      const server = new ReusedServer(yield* Scope.fork(scope), ended, most)
      const wire = yield* Effect.onError(Scope.provide(target.open(server.hear), server.scope), () =>
        Scope.close(server.scope, Exit.void)
      )
      return [server, wire] as const
    })
    const started = Effect.gen(function* () {
      const waiting = spare
      spare = undefined
      const early = waiting && Option.getOrUndefined(yield* Effect.option(Fiber.join(waiting)))
      if (early?.[0].isAlive === false) yield* end(early)
      const pair = early?.[0].isAlive === true ? early : yield* start
      spare ??= yield* Effect.forkIn(start, scope)
      return pair
    })
    const taken = Effect.fnUntraced(function* (kind: ReuseKind | undefined) {
      if (kind === undefined) return yield* start
      for (;;) {
        const index = idle.findLastIndex(([server]) => server.suits(kind))
        const [kept] = index === -1 ? [] : idle.splice(index, 1)
        if (kept === undefined) return yield* started
        if (kept[0].isIdle) return kept
        yield* end(kept)
      }
    })
    const left = (pair: Pair) =>
      Effect.suspend(() => {
        if (!pair[0].isIdle) return end(pair)
        idle.push(pair)
        const alike = idle.filter(([{ leaves }]) => leaves === pair[0].leaves)
        const [surplus] = alike.length > Math.max(2, jobs) ? alike : idle.length > mostIdle ? idle : []
        if (surplus === undefined) return Effect.void
        idle.splice(idle.indexOf(surplus), 1)
        return end(surplus)
      })
    return {
      ...target,
      open: (receive, script) => {
        const kind = script && kindOf(script)
        return Effect.map(Effect.acquireRelease(taken(kind), left), ([server, wire]) => {
          server.begin(receive, kind)
          return { ...wire, before: [...server.before], model: server.model, keep: server.keep }
        })
      }
    }
  })

/**
 * Shares resource updates among a server's nodes, so that an update on one node reaches subscribers on all nodes.
 *
 * Each node announces the resources that its clients subscribe to. The other nodes watch these too and publish every
 * update. Announcements are repeated, and expire if they are not, so a crashed node is forgotten.
 */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { Bus } from "../session/Bus.ts"
import { textOfKey, type WatchKey } from "./ResourceEntries.ts"
import type { UpdateListener } from "./ResourceWatchers.ts"

/** How often a node repeats its announcements. */
const repeated = "5 seconds"
/** How long a resource is watched for another node after the last announcement. */
const forgotten = "15 seconds"
/** Maximum number of resources to watch for other nodes. Announcements beyond it are dropped. */
const maxWatched = 10_000
/** Total length of the keys in one announcement, in characters. */
const hintSize = 1024

/** Watches a resource on this node, until the scope closes. */
export type WatchHere = (key: WatchKey, listener: UpdateListener) => Effect.Effect<void, never, Scope.Scope>

const keyOf = (value: unknown): WatchKey | undefined => {
  if (!isJsonObject(value) || typeof value["uri"] !== "string") return undefined
  const { kind, uri, uriTemplate } = value
  if (kind === "resource" || kind === "mounted") return { kind, uri }
  return kind === "template" && typeof uriTemplate === "string" ? { kind, uri, uriTemplate } : undefined
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export class SharedUpdates {
  private readonly bus: Bus
  private readonly server: string
  private readonly watch: WatchHere
  /** Subscriptions of this node's clients, by serialized key. */
  private readonly wanted = new Map<string, Set<{ readonly listener: UpdateListener; readonly uri: string }>>()

  private constructor(bus: Bus, server: string, watch: WatchHere) {
    this.bus = bus
    this.server = server
    this.watch = watch
  }

  /** Creates the shared updates. `watch` calls a listener after each update on this node. */
  static readonly make = Effect.fnUntraced(function* (
    bus: Bus,
    server: string,
    watch: WatchHere
  ): Effect.fn.Return<SharedUpdates, never, Scope.Scope> {
    const shared = new SharedUpdates(bus, server, watch)
    const scope = yield* Scope.Scope
    const runFork = Effect.runForkWith(yield* Effect.context<never>())
    yield* bus.subscribe(`watch ${server}`, (text) => {
      for (const key of shared.keysOf(text)) {
        const name = textOfKey(key)
        if (shared.renew(name) || shared.deadlines.size >= maxWatched) continue
        shared.deadlines.set(name, true)
        Fiber.runIn(runFork(shared.watched(name, key)), scope)
      }
    })
    yield* bus.subscribe(`updated ${server}`, (text) => shared.updated(text))
    yield* Effect.forkScoped(
      Effect.forever(
        Effect.andThen(
          Effect.sleep(repeated),
          Effect.sync(() => shared.repeat())
        )
      )
    )
    return shared
  })

  // ---- resources that this node's clients subscribe to

  /** Calls the listener after each update on another node, until the scope closes. */
  subscribe(key: WatchKey, listener: UpdateListener): Effect.Effect<void, never, Scope.Scope> {
    const name = textOfKey(key)
    const entry = { listener, uri: key.uri }
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          const known = this.wanted.get(name)
          if (known !== undefined) return known.add(entry)
          this.wanted.set(name, new Set([entry]))
          return this.publish([name])
        }),
        () =>
          Effect.sync(() => {
            const entries = this.wanted.get(name)
            entries?.delete(entry)
            if (entries?.size === 0) this.wanted.delete(name)
          })
      )
    )
  }

  private publish(names: ReadonlyArray<string>): void {
    this.bus.publish(`watch ${this.server}`, `[${names.join(",")}]`)
  }

  private repeat(): void {
    let names: Array<string> = []
    let length = 0
    for (const name of this.wanted.keys()) {
      if (length > hintSize) this.publish(names)
      if (length > hintSize) [names, length] = [[], 0]
      names.push(name)
      length += name.length
    }
    if (names.length > 0) this.publish(names)
  }

  private updated(name: string): void {
    for (const { listener, uri } of this.wanted.get(name) ?? []) listener.resourceUpdated(uri)
  }

  // ---- resources that other nodes announced

  /** Resources watched for other nodes. The value is true if the resource was announced since the last check. */
  private readonly deadlines = new Map<string, boolean>()

  private keysOf(text: string): ReadonlyArray<WatchKey> {
    const keys = parsed(text)
    return Array.isArray(keys) ? keys.flatMap((key: unknown) => keyOf(key) ?? []) : []
  }

  private renew(name: string): boolean {
    if (!this.deadlines.has(name)) return false
    this.deadlines.set(name, true)
    return true
  }

  /** Watches a resource until no other node has announced it for a while. */
  private watched(name: string, key: WatchKey): Effect.Effect<void> {
    const listener = { resourceUpdated: () => this.bus.publish(`updated ${this.server}`, name) }
    const wanted = Effect.sync(() => {
      const renewed = this.deadlines.get(name) === true
      this.deadlines.set(name, false)
      return renewed
    })
    const lasting: Effect.Effect<void> = Effect.flatMap(
      Effect.andThen(wanted, Effect.andThen(Effect.sleep(forgotten), wanted)),
      (renewed) => (renewed ? lasting : Effect.void)
    )
    return Effect.scoped(Effect.andThen(this.watch(key, listener), lasting)).pipe(
      Effect.ensuring(Effect.sync(() => this.deadlines.delete(name))),
      Effect.asVoid
    )
  }
}

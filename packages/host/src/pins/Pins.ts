/**
 * Pins the declarations of MCP servers, so that a server can't change the texts that a model reads after you have looked at them.
 *
 * The layer is middleware for clients. It compares every list, and the instructions in the handshake, with the pinned ones: harmless
 * changes pass, other changes hide the item until they are accepted, and suspicious or breaking changes are rejected. The rest of the
 * server keeps working. It also applies below `McpClients`, `RemoteToolkit` and a gateway, because all of them read lists through a client.
 */
import { ClientMiddleware, type Middleware } from "@effect-mcp/client/ClientMiddleware"
import { effectOf } from "@effect-mcp/core/internal/calling"
import type { RequestError } from "@effect-mcp/core/Peer"
import { escaped, excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { SkillsExtension } from "@effect-mcp/skills/SkillsExtension"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import type { PinFinding } from "./Finding.ts"
import * as LockFile from "./LockFile.ts"
import * as Offer from "./Offer.ts"
import { type Judgement, type PinChange, PinnedServer } from "./PinnedServer.ts"

export type { PinFinding, FindingCode, PinnedServers, PinVerdict } from "./Finding.ts"
export type { PinChange } from "./PinnedServer.ts"

export interface Options {
  /**
   * How to treat a server without pins. `pin` pins its declarations, except for suspicious ones; `refuse` hides everything, so that only
   * servers in the lock file work. Default `pin`.
   */
  readonly firstUse?: "pin" | "refuse" | undefined
  /**
   * Called for each change that needs an answer, one at a time. Returns true to accept the change. Meanwhile the item stays hidden, and the
   * next list has it after the change was accepted. Default: nobody is asked, and changed items stay hidden until `approve`.
   */
  readonly ask?: ((change: PinChange) => Effect.Effect<boolean>) | undefined
  /** Called with each finding, once. Default: logs it, with level Info if it is harmless and Warning otherwise. */
  readonly report?: ((finding: PinFinding) => Effect.Effect<void>) | undefined
  /** Name of the server in the pins if its client doesn't belong to `McpClients`. Default `server`. */
  readonly name?: string | undefined
  /** Maximum number of lists with new changes per server and minute. Further changes are refused without a question. Default 10. */
  readonly maxChanges?: number | undefined
}

/** A call to an item that isn't pinned, or has changed since. Nothing was sent. */
export class PinRefused extends McpError.McpError {
  readonly findings: ReadonlyArray<PinFinding>
  constructor(findings: ReadonlyArray<PinFinding>, message: string) {
    super({ code: McpError.Forbidden, message, data: { pins: findings } })
    this.findings = findings
  }
}

/** The pins of all servers. */
export class Pins extends Context.Service<
  Pins,
  {
    /** Returns the changes that are waiting for an answer. */
    readonly pending: Effect.Effect<ReadonlyArray<PinChange>>
    /** Accepts or declines a change. Returns false if it is no longer waiting for an answer, for example because the item changed again. */
    readonly answer: (change: PinChange, isAccepted: boolean) => Effect.Effect<boolean>
    /** Waits until every open question has an answer. */
    readonly settled: Effect.Effect<void>
    /** Returns an item's pinned declaration, or `undefined` if it isn't pinned. */
    readonly declaration: (server: string, list: Offer.PinnedList, item: string) => JsonObject | undefined
    /** Returns a digest of a tool's pinned declaration, or `undefined` if the tool isn't pinned. */
    readonly digest: (server: string, tool: string) => string | undefined
    /** Returns a server's pinned offer. */
    readonly pinned: (server: string) => Offer.Offer | undefined
  }
>()("@effect-mcp/host/Pins") {}

const logged = ({ code, message, server, verdict }: PinFinding): Effect.Effect<void> => {
  const text = `Pins (${verdict}, ${code}): ${excerpt(server, 80)}: ${escaped(message)}`
  return verdict === "harmless" ? Effect.logInfo(text) : Effect.logWarning(text)
}

const listsByMethod = new Map<string, Offer.PinnedList>(
  Offer.listNames.map((name) => [Offer.pinnedLists[name].method, name])
)

const opens = (method: string): boolean => method === "initialize" || method === "server/discover"

/** Returns the list and key of the item that a request uses. */
const itemOf = (method: string, params: unknown) => {
  const { capability, nameParam } = MethodInfo.ofRequest(method) ?? {}
  const list = Offer.listNames.find((name) => name === capability)
  if (nameParam === undefined || list === undefined || typeof params !== "object" || params === null) return undefined
  const item: unknown = Reflect.get(params, nameParam)
  return typeof item === "string" ? { list, item } : undefined
}

/** Returns the error for a request that uses a hidden item. */
const refused = (server: string, list: Offer.PinnedList, item: string, findings: ReadonlyArray<PinFinding>) => {
  const reasons = [...new Set(findings.map(({ message }) => escaped(message)))].join("; ")
  const { noun } = Offer.pinnedLists[list]
  return new PinRefused(
    findings,
    `The ${noun} ${excerpt(JSON.stringify(item))} of ${excerpt(server)} is hidden: ${reasons}`
  )
}

/** Reports and stores the judgments about all servers, and asks about their changes. */
class Desk {
  private readonly writing = Semaphore.makeUnsafe(1)
  private readonly asking = Semaphore.makeUnsafe(1)
  private readonly servers = new Map<string, PinnedServer>()
  private readonly options: Options
  private readonly pinned: Map<string, Offer.Offer>
  private readonly store: LockFile.LockStore["Service"]
  private readonly questions: FiberSet.FiberSet<void>

  constructor(
    options: Options,
    pinned: Map<string, Offer.Offer>,
    store: LockFile.LockStore["Service"],
    questions: FiberSet.FiberSet<void>
  ) {
    this.options = options
    this.pinned = pinned
    this.store = store
    this.questions = questions
  }

  server(name: string): PinnedServer {
    const { firstUse = "pin", maxChanges = 10 } = this.options
    const found = this.servers.get(name) ?? new PinnedServer(name, this.pinned, { firstUse, maxChanges })
    this.servers.set(name, found)
    return found
  }

  pending(): ReadonlyArray<PinChange> {
    return [...this.servers.values()].flatMap((server) => server.pending())
  }

  private get stored(): Effect.Effect<void> {
    return this.writing.withPermit(
      Effect.suspend(() =>
        Effect.catch(this.store.write(new Map(this.pinned)), (error) =>
          Effect.logError(`Failed to save pins: ${error.message}`)
        )
      )
    )
  }

  readonly answer = (change: PinChange, isAccepted: boolean): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      const isAnswered = this.server(change.server).answer(change, isAccepted)
      return isAnswered && isAccepted ? Effect.as(this.stored, true) : Effect.succeed(isAnswered)
    })

  private question(change: PinChange): Effect.Effect<void> {
    const { ask } = this.options
    if (ask === undefined) return Effect.void
    return this.asking.withPermit(effectOf("Pins.ask", () => ask(change))).pipe(
      // Only `true` accepts, because a JavaScript program may return any value.
      Effect.flatMap((accepted: unknown) => this.answer(change, accepted === true)),
      Effect.catchCause((cause) => Effect.logError("Failed to ask the user about a changed pin", cause)),
      Effect.asVoid
    )
  }

  /** Reports and stores a judgement, starts its questions and returns the message without hidden items. */
  settle({ changes, findings, isNew, result }: Judgement): Effect.Effect<unknown> {
    const { report = logged } = this.options
    return Effect.gen({ self: this }, function* () {
      for (const finding of findings)
        yield* Effect.catchCause(
          effectOf("Pins.report", () => report(finding)),
          (cause) => Effect.logError("Failed to report a finding", cause)
        )
      if (isNew) yield* this.stored
      for (const change of changes) yield* FiberSet.run(this.questions, this.question(change))
      return result
    })
  }
}

const make = Effect.fnUntraced(function* (options: Options) {
  const { name: ownName = "server" } = options
  const store = yield* LockFile.LockStore
  const pinned = new Map(yield* store.read)
  const questions = yield* FiberSet.make<void>()
  const desk = new Desk(options, pinned, store, questions)

  /** Returns a skill's entry, unless it is hidden. */
  const fetched = (serverName: string, server: PinnedServer, result: Effect.Effect<unknown, RequestError>) =>
    Effect.flatMap(Effect.zip(result, Clock.currentTimeMillis), ([result, now]) => {
      const skill = isJsonObject(result) ? result["skill"] : undefined
      const { hidden, ...judgement } = server.item("skills", skill, now)
      const item = Offer.keyOf("skills", skill) ?? ""
      return Effect.andThen(
        desk.settle(judgement),
        hidden === undefined ? Effect.succeed(result) : Effect.fail(refused(serverName, "skills", item, hidden))
      )
    })

  const middleware: Middleware = {
    request: ({ method, params, serverName = ownName }, next) =>
      Effect.suspend(() => {
        const server = desk.server(serverName)
        const judged = (judge: (result: unknown, now: number) => Judgement) =>
          Effect.flatMap(Effect.zip(next(), Clock.currentTimeMillis), ([result, now]) =>
            desk.settle(judge(result, now))
          )
        const list = listsByMethod.get(method)
        if (list !== undefined) {
          const first = params?.["cursor"] === undefined
          return judged((result, now) => server.page(list, result, { first, now }))
        }
        if (method === SkillsExtension.requests.get.method) return fetched(serverName, server, next())
        if (opens(method)) return judged((result, now) => server.opening(result, now))
        const used = itemOf(method, params)
        const findings = used && server.hiddenItem(used.list, used.item)
        if (used === undefined || findings === undefined) return next()
        return Effect.fail(refused(serverName, used.list, used.item, findings))
      })
  }

  const pins = Pins.of({
    pending: Effect.sync(() => desk.pending()),
    answer: desk.answer,
    settled: FiberSet.awaitEmpty(questions),
    declaration: (server, list, item) => desk.server(server).declaration(list, item),
    digest: (server, tool) => desk.server(server).pinOf("tools", tool),
    pinned: (server) => pinned.get(server)
  })
  const outer = Option.getOrElse(yield* Effect.serviceOption(ClientMiddleware), () => [])
  return Context.make(Pins, pins).pipe(Context.add(ClientMiddleware, [...outer, middleware]))
})

/** Pins the servers of the clients that this layer is provided to. Fails if the stored pins can't be read. */
export const layer = (
  options: Options = {}
): Layer.Layer<ClientMiddleware | Pins, LockFile.InvalidLock, LockFile.LockStore> => Layer.effectContext(make(options))

/**
 * Keeps the pins in a lock file, which `effect-mcp lock` also writes. The file is written when a server is pinned on first use and when a
 * change is accepted.
 *
 * @example
 * ```ts
 * import * as McpClients from "@effect-mcp/client/McpClients"
 * import { Pins } from "@effect-mcp/host"
 * import { NodeServices } from "@effect/platform-node"
 * import { Layer } from "effect"
 *
 * export const servers = McpClients.layerFile(".mcp.json").pipe(
 *   Layer.provide(Pins.layerFile("mcp.lock.json", { firstUse: "refuse" })),
 *   Layer.provide(NodeServices.layer)
 * )
 * ```
 */
export const layerFile = (
  path: string,
  options?: Options
): Layer.Layer<ClientMiddleware | Pins, LockFile.InvalidLock, FileSystem.FileSystem> =>
  Layer.provide(layer(options), LockFile.layerFile(path))

/** Keeps the pins in memory: detects changes as long as the program runs. */
export const layerMemory = (options?: Options): Layer.Layer<ClientMiddleware | Pins> =>
  Layer.orDie(Layer.provide(layer(options), LockFile.layerMemory()))

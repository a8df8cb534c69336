/**
 * The folders a client lets a server work in (spec: client/roots). Both sides use the same service: the client implements it, and a
 * server's handlers use a proxy.
 */
import type { McpError } from "@effect-mcp/protocol/McpError"
import type { Root } from "@effect-mcp/protocol/model/Root"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { AskError, ClientInput } from "./ClientInput.ts"

/** Errors that listing the roots may fail with. */
export type RootsError = AskError | McpError

/** The client's roots. */
export class Roots extends Context.Service<
  Roots,
  {
    readonly list: Effect.Effect<ReadonlyArray<Root>, RootsError>
    /** Emits whenever the list may have changed, or `undefined` if the client doesn't announce changes. */
    readonly changes: Stream.Stream<void> | undefined
  }
>()("@effect-mcp/core/Roots") {}

/** Provides roots that never change. */
export const layerStatic = (roots: ReadonlyArray<Root>): Layer.Layer<Roots> =>
  Layer.succeed(Roots, { list: Effect.succeed(roots), changes: undefined })

/** Provides roots that can change. Servers are notified of every change. */
export const layerRef = (ref: SubscriptionRef.SubscriptionRef<ReadonlyArray<Root>>): Layer.Layer<Roots> =>
  Layer.succeed(Roots, {
    list: SubscriptionRef.get(ref),
    changes: SubscriptionRef.changes(ref).pipe(
      Stream.drop(1),
      Stream.map(() => undefined)
    )
  })

/**
 * Asks the client for its roots. Fails with `CapabilityMissing` if the client doesn't support roots.
 *
 * @example
 * ```ts
 * import { Roots, Tool, Tools } from "@effect-mcp/core"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect } from "effect"
 *
 * const CountRoots = Tool.make("count_roots", { description: "Counts the folders of the client" })
 * const countRoots = Tools.layer(CountRoots, () => Effect.map(Roots.list, (roots) => `Roots: ${roots.length}`))
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(countRoots, "2025-11-25")
 *   const { content } = yield* client.callTool(CountRoots, {})
 *   for (const block of content) if (block.type === "text") yield* Console.log(block.text) // => Roots: 1
 * })
 *
 * await Effect.runPromise(Effect.scoped(Effect.provide(program, Roots.layerStatic([{ uri: "file:///work" }]))))
 * ```
 */
export const list: Effect.Effect<ReadonlyArray<Root>, RootsError, Roots> = Effect.flatMap(Roots, (roots) => roots.list)

/** A place of a file: its host, which is empty on this machine, and the names on the way to it. */
interface Place {
  readonly host: string
  readonly names: ReadonlyArray<string>
}

/** A step to the parent folder, in any encoding. Where it leads depends on links, so no such path is compared. */
const toParent = /(^|[/\\])(\.|%2e){2}([/\\]|$)/i
const drive = /^[A-Za-z]:[/\\]/

const namesOf = (parts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const names = parts.filter((part) => part !== "" && part !== ".")
  const [first = "", ...rest] = names
  return /^[A-Za-z]:$/.test(first) ? [first.toUpperCase(), ...rest] : names
}

/** Parses a `file` URL, or an absolute path of POSIX or Windows. Returns `undefined` for anything else. */
const placeOf = (file: string): Place | undefined => {
  if (toParent.test(file) || file.includes("\0")) return undefined
  if (drive.test(file)) return { host: "", names: namesOf(file.split(/[/\\]/)) }
  if (file.startsWith("/")) return { host: "", names: namesOf(file.split("/")) }
  const share = /^\\\\([^\\/?.]+)[\\/](.*)$/s.exec(file)
  if (share !== null) return { host: (share[1] ?? "").toLowerCase(), names: namesOf((share[2] ?? "").split(/[/\\]/)) }
  if (!URL.canParse(file)) return undefined
  const { host, pathname, protocol } = new URL(file)
  if (protocol !== "file:") return undefined
  try {
    const parts = pathname.split("/").map(decodeURIComponent)
    // An encoded separator would be a name here and a folder on disk.
    return parts.some((part) => /[/\\\0]/.test(part)) ? undefined : { host, names: namesOf(parts) }
  } catch {
    return undefined
  }
}

/**
 * True if the path is one of the client's roots, or below one. `path` is absolute, or a `file` URL. Asks the client for its roots.
 *
 * Compares names exactly and does not follow links: resolve them first, for example with `FileSystem.realPath`. False for a relative path,
 * and for a path that contains `..` in any encoding.
 *
 * @example
 * ```ts
 * import { Roots, Tools } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * export const allowed = (path: string) =>
 *   Effect.flatMap(Roots.within(path), (isWithin) =>
 *     isWithin ? Effect.void : Effect.fail(new Tools.ToolFailure({ message: "The file is outside of the client's roots" }))
 *   )
 * ```
 */
export const within = (path: string): Effect.Effect<boolean, RootsError, Roots> =>
  Effect.map(list, (roots) => {
    const file = placeOf(path)
    if (file === undefined) return false
    return roots.some(({ uri }) => {
      const root = /^file:/i.test(uri) ? placeOf(uri) : undefined
      return root !== undefined && root.host === file.host && root.names.every((name, at) => name === file.names[at])
    })
  })

/** Creates the `Roots` service for a server's handlers. It asks the client. */
export const proxy = (input: ClientInput["Service"], changes: Stream.Stream<void> | undefined): Roots["Service"] => ({
  list: Effect.map(
    Effect.suspend(() => input.ask("roots/list", {}, { key: "roots/list" })),
    (result) => result.roots
  ),
  changes
})

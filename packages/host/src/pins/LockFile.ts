/**
 * The lock file of pinned servers: JSON with sorted keys, so that equal pins produce equal text and changes are readable in a diff.
 */
import { canonicalJson } from "@effect-mcp/core/internal/digest"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type { PinnedServers } from "./Finding.ts"
import * as Offer from "./Offer.ts"

/** Version of the file's format. */
const version = 1

/** The lock file can't be read or written, or isn't a lock file. */
export class InvalidLock extends Data.TaggedError("InvalidLock")<{
  readonly message: string
  readonly cause?: unknown
}> {}

const offerJson = ({ instructions, lists, name, version }: Offer.Offer): JsonObject => ({
  ...(name === undefined ? undefined : { name }),
  ...(version === undefined ? undefined : { version }),
  ...(instructions === undefined ? undefined : { instructions }),
  ...Object.fromEntries(Array.from(lists, ([list, items]) => [list, Object.fromEntries(items)]))
})

/** Formats pinned servers as indented JSON with sorted keys. */
export const toText = (pinned: PinnedServers): string => {
  const servers = Object.fromEntries(Array.from(pinned, ([name, offer]) => [name, offerJson(offer)]))
  return `${JSON.stringify(JSON.parse(canonicalJson({ version, servers })), undefined, 2)}\n`
}

const textField = (object: JsonObject, field: string): Result.Result<string | undefined, string> => {
  const value = object[field]
  return value === undefined || typeof value === "string"
    ? Result.succeed(value)
    : Result.fail(`${field} must be a string`)
}

const offerOf = (value: unknown): Result.Result<Offer.Offer, string> =>
  Result.gen(function* () {
    if (!isJsonObject(value)) return yield* Result.fail("it must be an object")
    const lists = new Map<Offer.PinnedList, Offer.OfferedItems>()
    for (const list of Offer.listNames) {
      const items = value[list]
      if (items === undefined) continue
      if (!isJsonObject(items)) return yield* Result.fail(`${list} must be an object`)
      const known = new Map<string, JsonObject>()
      for (const [key, item] of Object.entries(items)) {
        if (!isJsonObject(item) || Offer.keyOf(list, item) !== key)
          return yield* Result.fail(`${list} has an invalid item ${excerpt(key, 80)}`)
        known.set(key, item)
      }
      lists.set(list, known)
    }
    const name = yield* textField(value, "name")
    const reported = yield* textField(value, "version")
    return { name, version: reported, instructions: yield* textField(value, "instructions"), lists }
  })

/** Parses a lock file's text. Fails if the text has another format. */
export const fromText = (text: string): Result.Result<PinnedServers, InvalidLock> =>
  Result.gen(function* () {
    const invalid = (message: string, cause?: unknown) => new InvalidLock({ message, cause })
    const value = yield* Result.try({
      try: (): unknown => JSON.parse(text),
      catch: (cause) => invalid("The lock file is not valid JSON", cause)
    })
    const servers = isJsonObject(value) && value["version"] === version ? value["servers"] : undefined
    if (!isJsonObject(servers))
      return yield* Result.fail(invalid(`The lock file must be an object with "version": ${version} and "servers"`))
    const pinned = new Map<string, Offer.Offer>()
    for (const [name, offer] of Object.entries(servers)) {
      pinned.set(
        name,
        yield* Result.mapError(offerOf(offer), (reason) =>
          invalid(`The lock file's entry for the server ${excerpt(name, 80)} is invalid: ${reason}`)
        )
      )
    }
    return pinned
  })

/** Stores the pins. */
export class LockStore extends Context.Service<
  LockStore,
  {
    /** Reads all pins. Nothing is pinned before the first write. */
    readonly read: Effect.Effect<PinnedServers, InvalidLock>
    readonly write: (pinned: PinnedServers) => Effect.Effect<void, InvalidLock>
  }
>()("@effect-mcp/host/LockStore") {}

/** Keeps pins in memory, starting with the given ones. Default none. */
export const layerMemory = (initial: PinnedServers = new Map()): Layer.Layer<LockStore> =>
  Layer.sync(LockStore, () => {
    let pinned = initial
    return {
      read: Effect.sync(() => pinned),
      write: (next) =>
        Effect.sync(() => {
          pinned = next
        })
    }
  })

/** Reads a lock file. A missing file counts as empty. */
export const read = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<PinnedServers, InvalidLock, FileSystem.FileSystem> {
  const files = yield* FileSystem.FileSystem
  const text = yield* Effect.catch(files.readFileString(path), (cause) =>
    cause.reason._tag === "NotFound"
      ? Effect.undefined
      : Effect.fail(new InvalidLock({ message: `Cannot read the lock file ${path}: ${cause.message}`, cause }))
  )
  return text === undefined ? new Map() : yield* Effect.fromResult(fromText(text))
})

/** Writes a lock file through a temporary file next to it, so that a crash never leaves a partial file. */
export const write = Effect.fnUntraced(function* (
  path: string,
  pinned: PinnedServers
): Effect.fn.Return<void, InvalidLock, FileSystem.FileSystem> {
  const files = yield* FileSystem.FileSystem
  const next = `${path}.${globalThis.crypto.randomUUID()}.tmp`
  yield* files.writeFileString(next, toText(pinned)).pipe(
    Effect.andThen(files.rename(next, path)),
    Effect.tapError(() => Effect.ignore(files.remove(next))),
    Effect.mapError(
      (cause) => new InvalidLock({ message: `Cannot write the lock file ${path}: ${cause.message}`, cause })
    )
  )
})

/** Keeps pins in a file, which you can commit. */
export const layerFile = (path: string): Layer.Layer<LockStore, never, FileSystem.FileSystem> =>
  Layer.effect(
    LockStore,
    Effect.map(FileSystem.FileSystem, (files) => ({
      read: Effect.provideService(read(path), FileSystem.FileSystem, files),
      write: (pinned) => Effect.provideService(write(path, pinned), FileSystem.FileSystem, files)
    }))
  )

/**
 * Stores tokens on disk, in a directory that only its owner can enter, with one file per key and version.
 *
 * Each version is written to a temporary file and then hard-linked to its name. The file system lets only one process create that link, so
 * it works as a compare-and-swap without locks that a killed process could leave behind. The highest version is current, and the process
 * that replaces a version deletes the old one. Requires a file system with hard links, as on Linux, macOS and Windows (NTFS).
 */
import * as Clock from "effect/Clock"
import * as Digest from "effect/crypto/Digest"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import { OAuthError } from "../shared/OAuthError.ts"
import { TokenStore } from "./TokenStore.ts"

const encoder = new TextEncoder()

const failed = (problem: string) => (cause: PlatformError) =>
  new OAuthError({ step: "storage", problem, found: cause.message, cause })

const is = (reason: "AlreadyExists" | "NotFound") => (error: PlatformError) => error.reason._tag === reason

const make = Effect.fnUntraced(function* (
  directory: string
): Effect.fn.Return<TokenStore["Service"], never, FileSystem.FileSystem | Path.Path | Digest.Digest> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const digest = yield* Digest.Digest

  // Deletes files that a killed process left half written.
  const leftover = Effect.fnUntraced(
    function* (name: string) {
      const file = path.join(directory, name)
      const { mtime } = yield* fs.stat(file)
      const written = Option.match(mtime, { onNone: () => Infinity, onSome: (date) => date.getTime() })
      if (written < (yield* Clock.currentTimeMillis) - 60_000) yield* fs.remove(file)
    },
    (effect) => Effect.ignore(effect)
  )
  /** Runs before the first write. Reading does not create the directory. */
  const prepared = yield* Effect.cached(
    Effect.gen(function* () {
      yield* fs.makeDirectory(directory, { recursive: true, mode: 0o700 })
      // An existing directory may be readable by other users.
      yield* fs.chmod(directory, 0o700)
      const names = yield* fs.readDirectory(directory)
      yield* Effect.forEach(
        names.filter((name) => name.endsWith(".new")),
        leftover,
        { discard: true }
      )
    }).pipe(Effect.mapError(failed(`cannot use the token directory ${directory}`)))
  )

  const baseOf = (key: string) =>
    Effect.map(digest.digestHex(Digest.sha256, encoder.encode(key)), (hex) => hex.slice(0, 32))
  const fileOf = (base: string, version: number) => path.join(directory, `${base}.${version}`)

  const versions = (base: string) =>
    Effect.map(
      Effect.catchIf(fs.readDirectory(directory), is("NotFound"), () => Effect.succeed([])),
      (names) =>
        names
          .filter((name) => name.startsWith(`${base}.`))
          .map((name) => Number(name.slice(base.length + 1)))
          .filter((version) => Number.isSafeInteger(version))
    )

  const read = Effect.fnUntraced(
    function* (key: string) {
      const base = yield* baseOf(key)
      while (true) {
        const version = Math.max(0, ...(yield* versions(base)))
        if (version === 0) return { version, text: undefined }
        const text = yield* Effect.catchIf(fs.readFileString(fileOf(base, version)), is("NotFound"), () =>
          Effect.succeed(undefined)
        )
        // If the file disappeared after the directory was read, a newer version exists.
        if (text !== undefined) return { version, text: text === "" ? undefined : text }
      }
    },
    Effect.mapError(failed("cannot read a stored token"))
  )

  const swap = Effect.fnUntraced(
    function* (key: string, version: number, text: string | undefined) {
      const base = yield* baseOf(key)
      const aside = path.join(directory, `${base}.${SecureRandom.uuidV4Unsafe()}.new`)
      const linked = yield* Effect.acquireUseRelease(
        fs.writeFileString(aside, text ?? "", { flag: "wx", mode: 0o600 }),
        () =>
          Effect.catchIf(Effect.as(fs.link(aside, fileOf(base, version + 1)), true), is("AlreadyExists"), () =>
            Effect.succeed(false)
          ),
        () => Effect.ignore(fs.remove(aside))
      )
      if (!linked) return false
      const present = yield* versions(base)
      // A late writer can find its number free because that version was already replaced and removed. Then a higher one exists.
      const last = Math.max(...present) === version + 1
      const old = present.filter((other) => other <= version || (!last && other === version + 1))
      yield* Effect.forEach(old, (other) => Effect.ignore(fs.remove(fileOf(base, other))), { discard: true })
      return last
    },
    Effect.mapError(failed("cannot store a token"))
  )

  return TokenStore.of({ read, swap: (key, version, text) => Effect.andThen(prepared, swap(key, version, text)) })
})

/**
 * Provides a token store in `directory`, which is created on the first write. Only the owner can read the files. They are not encrypted.
 *
 * @example
 * ```ts
 * import { TokenFiles } from "@effect-mcp/auth"
 * import { NodeServices } from "@effect/platform-node"
 * import { Layer } from "effect"
 *
 * export const store = TokenFiles.layer({ directory: ".tokens" }).pipe(Layer.provide(NodeServices.layer))
 * ```
 */
export const layer = (options: {
  readonly directory: string
}): Layer.Layer<TokenStore, never, FileSystem.FileSystem | Path.Path> =>
  Layer.provide(Layer.effect(TokenStore, make(options.directory)), Digest.layerWebCrypto)

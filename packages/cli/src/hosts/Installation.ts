/**
 * Reads and changes a host's configuration file.
 *
 * Files are replaced atomically and keep their permissions. The previous text is kept in a backup next to the file.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import { usage } from "../terminal/Exit.ts"
import * as Files from "../terminal/Files.ts"
import * as ConfigurationText from "./ConfigurationText.ts"
import type { Host } from "./Host.ts"

/** A host's configuration file. */
export interface HostFile {
  readonly host: Host
  readonly file: string
  /** The file's project, which links must not leave, or `undefined` for a user's file. */
  readonly project: string | undefined
}

/** A server in a host's file. */
interface Place extends HostFile {
  readonly name: string
}

const backupOf = (file: string): string => `${file}.before-effect-mcp`

/** Reads a file, or returns `undefined` if it doesn't exist. */
export const textOf = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.catchTag(fs.readFileString(file), "PlatformError", (error) =>
    error.reason._tag === "NotFound"
      ? Effect.succeed(undefined)
      : Effect.fail(usage(`Cannot read ${file}: ${error.message}`))
  )
})

const orRefuse = <A>(file: string, result: Result.Result<A, string>) =>
  Effect.mapError(Effect.fromResult(result), (reason) => usage(`Cannot use ${file}: ${reason}`))

/** Reads a host's file or its backup. Returns `undefined` if it doesn't exist. */
const read = ({ project }: HostFile, file: string) => Effect.flatMap(Files.resolve(file, project), textOf)

/** Parses the servers in a host's file, by name. */
const serversIn = ({ file, host }: HostFile, text: string | undefined) =>
  orRefuse(
    file,
    Result.flatMap(ConfigurationText.read(host.format, text ?? ""), (value) =>
      ConfigurationText.serversOf(value, host.section)
    )
  )

/** Reads the servers in a host's file, by name. Empty if there is no file. */
export const list = (place: HostFile) => Effect.flatMap(read(place, place.file), (text) => serversIn(place, text))

/** Writes the backup, then the file. */
const replace = Effect.fnUntraced(function* ({ file, project }: HostFile, before: string | undefined, after: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const real = yield* Files.resolve(file, project)
  const prepare = Effect.gen(function* () {
    yield* fs.makeDirectory(path.dirname(real), { recursive: true })
    if (before !== undefined) yield* Files.replace(backupOf(file), before, Files.privateMode)
  })
  yield* Effect.mapError(prepare, ({ message }) => usage(`Cannot write ${file}: ${message}`))
  yield* Files.write(file, after, { folder: project })
})

const same = (one: unknown, other: unknown): boolean => Equal.equals(one, other)

/** The changes of an installation, planned or made. */
export interface InstallationChange {
  readonly state: "added" | "replaced" | "removed" | "restored" | "unchanged"
  /** Path of the backup, or `undefined` if the file is new. */
  readonly backup: string | undefined
}

interface Options {
  /** Whether to replace an existing entry with the same name. */
  readonly force: boolean
  /** Whether to print the change instead of making it. */
  readonly dryRun: boolean
}

const put = Effect.fnUntraced(function* (
  place: Place,
  text: string | undefined,
  entry: JsonObject | undefined,
  state: InstallationChange["state"],
  dryRun: boolean
) {
  const { file, host, name } = place
  const after = yield* orRefuse(file, ConfigurationText.edit(host.format, text ?? "", host.section, name, entry))
  if (!dryRun) yield* replace(place, text, after)
  const change: InstallationChange = { state, backup: text === undefined ? undefined : backupOf(file) }
  return change
})

/** Writes an entry. Fails if the name is taken by another entry, unless `force` is set. */
export const install = Effect.fnUntraced(function* (place: Place, entry: JsonObject, { dryRun, force }: Options) {
  const { file, name } = place
  const text = yield* read(place, file)
  const servers = yield* serversIn(place, text)
  const there = Object.hasOwn(servers, name) ? servers[name] : undefined
  if (there === undefined) return yield* put(place, text, entry, "added", dryRun)
  const unchanged: InstallationChange = { state: "unchanged", backup: undefined }
  if (same(there, entry)) return unchanged
  if (!force) {
    return yield* usage(
      `${file} already has another server named ${name}. Choose a different --name, or use --force to replace it`
    )
  }
  return yield* put(place, text, entry, "replaced", dryRun)
})

/** Restores the entry from the backup, or removes the entry if the backup has no other entry with the same name. */
export const undo = Effect.fnUntraced(function* (place: Place, dryRun: boolean) {
  const { file, name } = place
  const text = yield* read(place, file)
  const servers = yield* serversIn(place, text)
  const there = Object.hasOwn(servers, name) ? servers[name] : undefined
  if (text === undefined || there === undefined) return yield* usage(`${file} has no server named ${name}`)
  const earlier = yield* serversIn(place, yield* read(place, backupOf(file)))
  const before = Object.hasOwn(earlier, name) ? earlier[name] : undefined
  const entry = isJsonObject(before) && !same(before, there) ? before : undefined
  return yield* put(place, text, entry, entry === undefined ? "removed" : "restored", dryRun)
})

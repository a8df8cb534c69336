/**
 * The configuration file of a host, read and changed on the disk.
 *
 * A file is replaced as a whole, by renaming, and keeps its permissions. A backup next to it keeps the text from before.
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

/** A configuration file of a host. */
export interface HostFile {
  readonly host: Host
  readonly file: string
  /** The project of the file, out of which no link may lead. `undefined` for a file of the user. */
  readonly project: string | undefined
}

/** One server in one file of a host. */
interface Place extends HostFile {
  readonly name: string
}

const backupOf = (file: string): string => `${file}.before-effect-mcp`

/** The text of a file; undefined if there is none. */
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

/** Reads a file of a host, or its backup. `undefined` if there is no such file. */
const read = ({ project }: HostFile, file: string) => Effect.flatMap(Files.resolve(file, project), textOf)

/** The servers in a text of the host, by name. */
const serversIn = ({ file, host }: HostFile, text: string | undefined) =>
  orRefuse(
    file,
    Result.flatMap(ConfigurationText.read(host.format, text ?? ""), (value) =>
      ConfigurationText.serversOf(value, host.section)
    )
  )

/** The servers of a host's file, by name. Empty if there is no file. */
export const list = (place: HostFile) => Effect.flatMap(read(place, place.file), (text) => serversIn(place, text))

/** Writes next to the file and renames, so that a host never reads half of it. */
const replace = Effect.fnUntraced(function* ({ file, project }: HostFile, before: string | undefined, after: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const real = yield* Files.resolve(file, project)
  const write = Effect.gen(function* () {
    yield* fs.makeDirectory(path.dirname(real), { recursive: true })
    const mode = before === undefined ? Files.privateMode : (yield* fs.stat(real)).mode & 0o777
    // The umask removes bits from the mode of a new file.
    const make = (path: string, text: string, mode: number) =>
      Effect.andThen(fs.writeFileString(path, text, { mode, flag: "wx" }), fs.chmod(path, mode))
    if (before !== undefined) {
      yield* fs.remove(backupOf(file), { force: true })
      yield* make(backupOf(file), before, Files.privateMode)
    }
    const temporary = `${real}.${process.pid}.tmp`
    yield* Effect.onError(Effect.andThen(make(temporary, after, mode), fs.rename(temporary, real)), () =>
      Effect.ignore(fs.remove(temporary))
    )
  })
  yield* Effect.mapError(write, ({ message }) => usage(`Cannot write ${file}: ${message}`))
})

const same = (one: unknown, other: unknown): boolean => Equal.equals(one, other)

/** What an installation does, or did. */
export interface InstallationChange {
  readonly state: "added" | "replaced" | "removed" | "restored" | "unchanged"
  /** Where the text before the change is; undefined where there was no file. */
  readonly backup: string | undefined
}

interface Options {
  /** Whether an entry of that name may be replaced. */
  readonly force: boolean
  /** Only says what it would do. */
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

/** Writes an entry. Refuses to replace another of that name, unless told to. */
export const install = Effect.fnUntraced(function* (place: Place, entry: JsonObject, { dryRun, force }: Options) {
  const { file, name } = place
  const text = yield* read(place, file)
  const servers = yield* serversIn(place, text)
  const there = Object.hasOwn(servers, name) ? servers[name] : undefined
  if (there === undefined) return yield* put(place, text, entry, "added", dryRun)
  const unchanged: InstallationChange = { state: "unchanged", backup: undefined }
  if (same(there, entry)) return unchanged
  if (!force) {
    return yield* usage(`${file} has another server named ${name}: give --name, or --force to replace it`)
  }
  return yield* put(place, text, entry, "replaced", dryRun)
})

/** Takes an entry back: the one of that name in the backup returns, if it is another one; else there is none. */
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

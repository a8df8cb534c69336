/**
 * Stores a host's approved skills in memory or on disk: their entries, the approvals, and the files that were read.
 *
 * A skill is identified by the host's label for its server together with its URI. Nothing is stored under the URI alone. A stored file is
 * verified again whenever it is read, but approvals are trusted: whoever can write to the store can approve skills.
 */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Result from "effect/Result"
import { decode } from "../model/checkSkill.ts"
import * as Digest from "../model/Digest.ts"
import type { Skill } from "../model/Skill.ts"
import { SkillStoreError } from "./SkillError.ts"

/** A skill across servers. */
export interface SkillId {
  /** The host's label of the server, never the server's own name. */
  readonly server: string
  readonly uri: string
}

/** A skill that the user approved. */
export interface StoredSkill {
  readonly skill: Skill
  /** Digest of the frontmatter and manifest that the user approved. */
  readonly approved: string
}

/** Stores skills. */
export class SkillFiles extends Context.Service<
  SkillFiles,
  {
    /** Returns the skill, or `undefined` if it is not stored. */
    readonly skill: (id: SkillId) => Effect.Effect<StoredSkill | undefined, SkillStoreError>
    /** Lists a server's stored skills. */
    readonly skills: (server: string) => Effect.Effect<ReadonlyArray<StoredSkill>, SkillStoreError>
    readonly save: (id: SkillId, skill: StoredSkill) => Effect.Effect<void, SkillStoreError>
    /** Returns a file by its digest. Its bytes are not verified. */
    readonly file: (id: SkillId, digest: string) => Effect.Effect<Uint8Array | undefined, SkillStoreError>
    readonly saveFile: (id: SkillId, digest: string, bytes: Uint8Array) => Effect.Effect<void, SkillStoreError>
    /** Removes everything stored for a server. */
    readonly remove: (server: string) => Effect.Effect<void, SkillStoreError>
  }
>()("@effect-mcp/skills/SkillFiles") {}

interface Kept {
  readonly skills: Map<string, StoredSkill>
  readonly files: Map<string, Uint8Array>
}

/** Keeps skills in memory, until the layer closes. */
export const layerMemory: Layer.Layer<SkillFiles> = Layer.sync(SkillFiles, () => {
  const servers = new Map<string, Kept>()
  const of = (server: string): Kept => {
    const known = servers.get(server) ?? { skills: new Map(), files: new Map() }
    servers.set(server, known)
    return known
  }
  return SkillFiles.of({
    skill: ({ server, uri }) => Effect.sync(() => servers.get(server)?.skills.get(uri)),
    skills: (server) => Effect.sync(() => [...(servers.get(server)?.skills.values() ?? [])]),
    save: ({ server, uri }, skill) => Effect.sync(() => void of(server).skills.set(uri, skill)),
    file: ({ server, uri }, digest) => Effect.sync(() => servers.get(server)?.files.get(`${uri} ${digest}`)),
    saveFile: ({ server, uri }, digest, bytes) =>
      Effect.sync(() => void of(server).files.set(`${uri} ${digest}`, bytes)),
    remove: (server) => Effect.sync(() => void servers.delete(server))
  })
})

const entryName = "entry.json"

/** Returns the name of a server's folder: its label, encoded so that two labels never share a folder on any file system. */
export const folderOf = (server: string): string =>
  `server-${Array.from(new TextEncoder().encode(server), (byte) => {
    const character = String.fromCharCode(byte)
    return /[a-z0-9_-]/.test(character) ? character : `%${byte.toString(16).padStart(2, "0")}`
  }).join("")}`

/** True for a skill's folder, whose name is a digest. File managers put other files next to it, such as `.DS_Store`. */
const isSkillFolder = (name: string): boolean => /^[0-9a-f]{64}$/.test(name)

const isMissing = ({ reason }: PlatformError): boolean => reason._tag === "NotFound"

const encode = ({ server, uri }: SkillId, { approved, skill }: StoredSkill): string =>
  JSON.stringify({ server, uri, approved, skill })

/** Reads a stored entry. Returns `undefined` unless it is a valid entry of this skill. */
const decodeStored = (text: string, server: string): StoredSkill | undefined => {
  const value = Result.getOrUndefined(Result.try((): unknown => JSON.parse(text)))
  if (!isJsonObject(value) || value["server"] !== server || typeof value["approved"] !== "string") return undefined
  const skill = decode(value["skill"])
  return "uri" in skill && skill.uri === value["uri"] ? { skill, approved: value["approved"] } : undefined
}

const makeDisk = Effect.fnUntraced(function* (
  directory: string
): Effect.fn.Return<SkillFiles["Service"], never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const failed = (what: string) => (cause: PlatformError) =>
    new SkillStoreError({ message: `${what} in ${directory}: ${cause.message}`, cause })
  const serverFolder = (server: string) => path.join(directory, folderOf(server))
  const skillFolder = ({ server, uri }: SkillId) =>
    Effect.map(Digest.sha256OfText(uri), (digest) => path.join(serverFolder(server), digest.slice("sha256:".length)))

  const present = <A>(effect: Effect.Effect<A, PlatformError>): Effect.Effect<A | undefined, PlatformError> =>
    Effect.catchIf(effect, isMissing, () => Effect.succeed(undefined))

  /** Replaces a file atomically, by writing next to it and renaming. */
  const replace = Effect.fnUntraced(function* (folder: string, name: string, bytes: Uint8Array) {
    yield* fs.makeDirectory(folder, { recursive: true, mode: 0o700 })
    const aside = path.join(folder, `${name}.${SecureRandom.uuidV4Unsafe()}.new`)
    yield* fs.writeFile(aside, bytes, { flag: "wx", mode: 0o600 })
    yield* Effect.onError(fs.rename(aside, path.join(folder, name)), () => Effect.ignore(fs.remove(aside)))
  })

  const stored = (folder: string, server: string) =>
    Effect.map(
      present(fs.readFileString(path.join(folder, entryName))),
      (text) => text && decodeStored(text, server)
    ).pipe(Effect.map((skill) => skill || undefined))

  return SkillFiles.of({
    skill: (id) =>
      Effect.flatMap(skillFolder(id), (folder) => stored(folder, id.server)).pipe(
        Effect.map((found) => (found?.skill.uri === id.uri ? found : undefined)),
        Effect.mapError(failed("Failed to read a skill"))
      ),
    skills: (server) =>
      Effect.flatMap(present(fs.readDirectory(serverFolder(server))), (names = []) =>
        Effect.forEach(names.filter(isSkillFolder).toSorted(), (name) =>
          stored(path.join(serverFolder(server), name), server)
        )
      ).pipe(
        Effect.map((all) => all.filter((one) => one !== undefined)),
        Effect.mapError(failed("Failed to list the skills"))
      ),
    save: (id, skill) =>
      Effect.flatMap(skillFolder(id), (folder) =>
        replace(folder, entryName, new TextEncoder().encode(encode(id, skill)))
      ).pipe(Effect.mapError(failed("Failed to store a skill"))),
    file: (id, digest) =>
      Effect.flatMap(skillFolder(id), (folder) => present(fs.readFile(path.join(folder, nameOf(digest))))).pipe(
        Effect.mapError(failed("Failed to read a file"))
      ),
    saveFile: (id, digest, bytes) =>
      Effect.flatMap(skillFolder(id), (folder) => replace(folder, nameOf(digest), bytes)).pipe(
        Effect.mapError(failed("Failed to store a file"))
      ),
    remove: (server) =>
      Effect.asVoid(present(fs.remove(serverFolder(server), { recursive: true }))).pipe(
        Effect.mapError(failed("Failed to remove the skills"))
      )
  })
})

/** Name of a stored file: its digest, which the caller has verified to be hexadecimal. */
const nameOf = (digest: string): string => digest.slice("sha256:".length)

/**
 * Keeps skills in `directory`, which is created on the first write. Only its owner can read the files. Choose a folder for the user's
 * state, because a folder in a project could come with approvals that the user never gave. No program should look for local skills there,
 * because these come from servers.
 *
 * @example
 * ```ts
 * import { SkillFiles } from "@effect-mcp/skills"
 * import { NodeServices } from "@effect/platform-node"
 * import { Layer } from "effect"
 * import { homedir } from "node:os"
 * import { join } from "node:path"
 *
 * const directory = join(homedir(), ".local", "state", "my-host", "server-skills")
 * export const files = SkillFiles.layerDisk({ directory }).pipe(Layer.provide(NodeServices.layer))
 * ```
 */
export const layerDisk = (options: {
  readonly directory: string
}): Layer.Layer<SkillFiles, never, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(SkillFiles, makeDisk(options.directory))

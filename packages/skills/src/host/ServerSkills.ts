/**
 * The skills of one server, connected or offline. Nothing is fetched before it is needed. An approval is bound to the skill's frontmatter
 * and manifest, so the user is asked again if the skill changes.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { Client } from "@effect-mcp/client/McpClient"
import { effectOf } from "@effect-mcp/core/internal/calling"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Semaphore from "effect/Semaphore"
import { decode } from "../model/checkSkill.ts"
import * as Digest from "../model/Digest.ts"
import { dynamic, manifestName, maxBytes, type Skill, type SkillFile } from "../model/Skill.ts"
import { SkillsExtension } from "../model/SkillsExtension.ts"
import * as SkillUri from "../model/SkillUri.ts"
import { changesOf, entriesOf, labeled, type SkillListing } from "./listing.ts"
import { type LoadedSkill, promptOf, type SkillContent } from "./LoadedSkill.ts"
import { type SkillReason, SkillRefused, type SkillStoreError } from "./SkillError.ts"
import type { SkillFiles } from "./SkillFiles.ts"
import * as Verify from "./verify.ts"

/** A question to the user: may this skill be loaded? */
export interface SkillQuestion {
  /** The host's label for the server. */
  readonly server: string
  /** The skill with its manifest. Show the name, the description and the server. */
  readonly skill: Skill
  /**
   * `new` if the user has not approved the skill, `changed` if the user approved another version, and `dynamic` if its files are generated.
   * For a dynamic skill, the user is asked each time.
   */
  readonly kind: "new" | "changed" | "dynamic"
  /** URIs of files that differ from the approved version. Empty if the skill is new or only its frontmatter changed. */
  readonly changes: ReadonlyArray<string>
  /** URI of the approved skill whose directory contains this one. Its approval does not cover this skill. */
  readonly nestedIn: string | undefined
}

/** How a host treats skills. */
export interface StoreOptions {
  /**
   * Asks the user whether to load a skill. Only `true` approves. The approval is stored, and stays valid until the skill's frontmatter or
   * one of its files changes. A failure or an exception counts as no.
   */
  readonly consent: (question: SkillQuestion) => Effect.Effect<boolean>
  /** Whether to load skills whose files are generated, so that nothing can be verified. Default false. */
  readonly dynamic?: boolean | undefined
}

/** Reasons why a skill or a file cannot be used. */
export type StoreFailure = SkillRefused | SkillStoreError | ClientError

/** The skills of one server. */
export interface ServerSkills {
  /** Lists the skills. Offline: the approved ones. A listing may be incomplete: `load` and `get` also find skills that are not listed. */
  readonly list: Effect.Effect<SkillListing, StoreFailure>
  /** Returns a skill's current entry. Use it to see a changed skill. */
  readonly get: (uri: string) => Effect.Effect<Skill, StoreFailure>
  /**
   * Asks for consent if needed, fetches `SKILL.md` and verifies it. Uses the entry that was last returned by a listing or by `get`. Nothing
   * else is fetched; read the skill's other files when the model wants them.
   */
  readonly load: (uri: string) => Effect.Effect<LoadedSkill, StoreFailure>
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const textOf = (bytes: Uint8Array): string | undefined =>
  bytes.includes(0) ? undefined : Result.getOrUndefined(Result.try(() => decoder.decode(bytes)))

/** The skills' source and storage. */
export interface SkillServerParts {
  /** The host's label for the server. */
  readonly server: string
  /** The connection, or `undefined` if offline. */
  readonly client: Client | undefined
  readonly files: SkillFiles["Service"]
  readonly options: StoreOptions
  /** Held while the user is asked, so that loading a skill twice asks only once. */
  readonly asking: Semaphore.Semaphore
}

/** Returns a manifest's files, by path. */
const pathsOf = ({ resources }: Skill, root: string): ReadonlyMap<string, SkillFile> =>
  new Map(resources === dynamic ? [] : resources.map((file) => [SkillUri.pathBelow(root, file.uri) ?? "", file]))

/** Lists, loads and reads one server's skills. */
export class SkillsOfServer implements ServerSkills {
  private readonly known = new Map<string, Skill>()
  private readonly parts: SkillServerParts

  constructor(parts: SkillServerParts) {
    this.parts = parts
  }

  private refuse(uri: string, reason: SkillReason, detail: string): SkillRefused {
    return new SkillRefused({ server: this.parts.server, uri, reason, detail })
  }

  private readonly refused =
    (uri: string) =>
    ({ detail, reason }: Verify.FileProblem): SkillRefused =>
      this.refuse(uri, reason, detail)

  private stored(uri: string) {
    return this.parts.files.skill({ server: this.parts.server, uri })
  }

  /** Reads an entry. `uri` is the skill that was asked for, if any. */
  private entry(entry: unknown, uri?: string): Skill | SkillRefused {
    const decoded = decode(entry)
    if (!("uri" in decoded)) {
      const named = isJsonObject(entry) && typeof entry["uri"] === "string" ? entry["uri"] : ""
      const [first] = decoded
      return this.refuse(uri ?? named, first?.rule ?? "entry", decoded.map(({ message }) => message).join(". "))
    }
    return uri === undefined || decoded.uri === uri
      ? decoded
      : this.refuse(uri, "other", `the server returned a different skill, ${excerpt(decoded.uri)}`)
  }

  readonly list: ServerSkills["list"] = Effect.suspend(() => {
    const { client, files, server } = this.parts
    if (client !== undefined) return this.listOnline(client)
    return Effect.map(files.skills(server), (all) => ({
      skills: labeled(
        server,
        all.map(({ skill }) => skill)
      ),
      refused: []
    }))
  })

  private listOnline(client: Client): Effect.Effect<SkillListing, StoreFailure> {
    return Effect.map(entriesOf(client), (found) => {
      const entries = found.map((entry) => this.entry(entry))
      const count = new Map<string, number>()
      for (const { uri } of entries) count.set(uri, (count.get(uri) ?? 0) + 1)
      const checked = entries.map((entry) =>
        entry instanceof SkillRefused || count.get(entry.uri) === 1
          ? entry
          : this.refuse(entry.uri, "twice", "the server lists it more than once")
      )
      const skills = checked.flatMap((entry) => (entry instanceof SkillRefused ? [] : [entry]))
      for (const skill of skills) this.known.set(skill.uri, skill)
      return {
        skills: labeled(this.parts.server, skills),
        refused: checked.filter((entry) => entry instanceof SkillRefused)
      }
    })
  }

  readonly get: ServerSkills["get"] = (uri) => {
    const { client } = this.parts
    if (client === undefined) {
      return Effect.flatMap(this.stored(uri), (found) =>
        found === undefined
          ? Effect.fail(this.refuse(uri, "offline", "it has not been loaded before, and there is no connection"))
          : Effect.succeed(found.skill)
      )
    }
    return Effect.flatMap(client.request(SkillsExtension.requests.get, { uri }), ({ skill: entry }) => {
      const skill = this.entry(entry, uri)
      if (skill instanceof SkillRefused) return Effect.fail(skill)
      this.known.set(uri, skill)
      return Effect.succeed(skill)
    })
  }

  /** Finds the innermost approved skill around a skill. */
  private enclosing(uri: string) {
    return Effect.map(this.parts.files.skills(this.parts.server), (all) =>
      all
        .map(({ skill }) => skill.uri)
        .filter((other) => other !== uri && SkillUri.isBelow(SkillUri.placeOf(other)?.root ?? other, uri))
        .toSorted((a, b) => b.length - a.length)
        .at(0)
    )
  }

  private ask(question: SkillQuestion): Effect.Effect<boolean> {
    return effectOf("SkillStore.consent", () => this.parts.options.consent(question)).pipe(
      // Only `true` approves, because a JavaScript program may return any value.
      Effect.map((answer: unknown) => answer === true),
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.as(Effect.logError("Failed to ask for consent to a skill, so it was not loaded", cause), false)
      )
    )
  }

  /** Asks the user, unless this frontmatter and this manifest are approved. */
  private approve(skill: Skill): Effect.Effect<void, StoreFailure> {
    const { asking, files, server } = this.parts
    const { frontmatter, resources, uri } = skill
    const status = Effect.gen({ self: this }, function* () {
      const before = yield* this.stored(uri)
      const approved = resources === dynamic ? undefined : yield* Verify.approvalDigest(frontmatter, resources)
      return { before, approved, isApproved: approved !== undefined && before?.approved === approved }
    })
    const asked = Effect.gen({ self: this }, function* () {
      // Another load may have asked while this one waited.
      const { approved, before, isApproved } = yield* status
      if (isApproved) return
      const agreed = yield* this.ask({
        server,
        skill,
        kind: approved === undefined ? "dynamic" : before === undefined ? "new" : "changed",
        changes: before === undefined ? [] : changesOf(before.skill.resources, resources),
        nestedIn: yield* this.enclosing(uri)
      })
      yield* agreed ? Effect.void : this.refuse(uri, "declined", "the user did not approve it")
      if (approved !== undefined) yield* files.save({ server, uri }, { skill, approved })
    })
    // An approved skill must not wait for another skill's dialog.
    return Effect.flatMap(status, ({ isApproved }) => (isApproved ? Effect.void : asking.withPermit(asked)))
  }

  /**
   * Fetches a file from the skill's own server. A copy in the client's cache may be older than the manifest, so the file is fetched again
   * after a mismatch.
   */
  private fetch<A>(
    uri: string,
    check: (bytes: Uint8Array) => Effect.Effect<A, Verify.FileProblem>
  ): Effect.Effect<A, StoreFailure> {
    const { client } = this.parts
    if (client === undefined)
      return Effect.fail(this.refuse(uri, "offline", "there is no connection, and the store has no verified copy"))
    const once = (fresh: boolean) =>
      Effect.flatMap(client.readResource(uri, { fresh }), ({ contents }) =>
        Effect.mapError(Effect.flatMap(Effect.fromResult(Verify.bytesOf(uri, contents)), check), this.refused(uri))
      )
    return Effect.catchTag(once(false), "SkillRefused", () => once(true))
  }

  /** Returns a file's verified bytes, from the store or the server. */
  private verified(skill: Skill, file: SkillFile): Effect.Effect<Uint8Array, StoreFailure> {
    const { files, server } = this.parts
    const id = { server, uri: skill.uri }
    return Effect.gen({ self: this }, function* () {
      const kept = yield* files.file(id, file.digest)
      const valid = kept === undefined ? Option.none() : yield* Effect.option(Verify.checkFile(file, kept))
      if (Option.isSome(valid)) return valid.value
      const bytes = yield* this.fetch(file.uri, (bytes) => Verify.checkFile(file, bytes))
      yield* files.saveFile(id, file.digest, bytes)
      return bytes
    })
  }

  /** Creates the function that reads a skill's files. */
  private reader(skill: Skill, root: string, files: ReadonlyMap<string, SkillFile>): LoadedSkill["read"] {
    /** Total size in bytes of the generated files that were read. */
    let generated = 0
    const readGenerated = Effect.fnUntraced({ self: this }, function* (path: string): Effect.fn.Return<
      SkillContent,
      StoreFailure
    > {
      const uri = SkillUri.fileUri(root, path)
      const bytes = yield* this.fetch(uri, Effect.succeed)
      generated += bytes.length
      if (generated > maxBytes) return yield* this.refuse(uri, "bytes", `the skill is larger than ${maxBytes} bytes`)
      return { uri, path, bytes, text: textOf(bytes), verified: false }
    })
    return (reference) => {
      const paths = [reference, reference.replace(/#.*$/s, "")].map((one) => Verify.resolve(root, one))
      const path = paths.find((one) => one !== undefined && (skill.resources === dynamic || files.has(one)))
      const file = path === undefined ? undefined : files.get(path)
      if (path !== undefined && skill.resources === dynamic) return readGenerated(path)
      if (path === undefined || file === undefined) {
        return Effect.fail(this.refuse(reference, "unlisted", "it is not one of the files that the user approved"))
      }
      return Effect.map(this.verified(skill, file), (bytes) => ({
        uri: file.uri,
        path,
        bytes,
        text: textOf(bytes),
        verified: true
      }))
    }
  }

  readonly load: ServerSkills["load"] = (uri) => {
    const { options, server } = this.parts
    return Effect.gen({ self: this }, function* () {
      const skill = this.known.get(uri) ?? (yield* this.get(uri))
      const place = SkillUri.placeOf(uri)
      if (place === undefined) return yield* this.refuse(uri, "uri", "it is not the URI of a SKILL.md")
      if (skill.resources === dynamic && options.dynamic !== true) {
        return yield* this.refuse(uri, "dynamic", "its files are generated, so they cannot be verified")
      }
      yield* this.approve(skill)
      const files = pathsOf(skill, place.root)
      const read = this.reader(skill, place.root, files)
      const { bytes } = yield* read(manifestName)
      const manifest = yield* Effect.mapError(Effect.fromResult(Verify.checkManifest(skill, bytes)), this.refused(uri))
      const mark = yield* Digest.sha256OfText(JSON.stringify([server, uri, manifest.text]))
      const prompt = promptOf(server, skill, manifest.text, mark)
      return { server, skill, ...manifest, paths: [...files.keys()], read, prompt }
    })
  }
}

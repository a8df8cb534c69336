/**
 * All of a server's skills, from the sources that layers added, and the skills that a caller sees.
 *
 * A source replaces all of its skills at once. A request reads each source once, so it never sees half of a change.
 */
import { checkedBoolean } from "@effect-mcp/core/internal/calling"
import type { Principal } from "@effect-mcp/core/Principal"
import type * as CacheHint from "@effect-mcp/core/CacheHint"
import type { Resource } from "@effect-mcp/protocol/model/Resource"
import { directoryType } from "../model/SkillsExtension.ts"
import type { Skill } from "../model/Skill.ts"
import { isBelow } from "../model/SkillUri.ts"
import type { ServedFile, ServedSkill } from "./ServedSkill.ts"

/** Who may see a source's skills, and how long they stay fresh. */
export interface SkillSourceOptions {
  /** Returns true if the caller may know about a skill and read its files. Default: visible to everyone. */
  readonly visible?: ((principal: Principal["Service"], skill: Skill) => boolean) | undefined
  /** How long entries and files stay fresh, and whether caches may share them (since 2026-07-28). Default: immediately stale and private. */
  readonly cache?: CacheHint.CacheHint | undefined
}

/** Skills that one layer serves. */
export interface SkillSource {
  readonly options: SkillSourceOptions
  /** The current version. */
  readonly current: () => ReadonlyArray<ServedSkill>
}

/** A skill that the caller sees. */
export interface SeenSkill {
  readonly served: ServedSkill
  readonly options: SkillSourceOptions
}

type Caller = Principal["Service"]

const byUri =
  <A>(uriOf: (item: A) => string) =>
  (a: A, b: A) =>
    uriOf(a) < uriOf(b) ? -1 : 1

/** Returns a file's metadata. A `SKILL.md` has the name and description of `own`, its skill. */
const resourceOf = ({ mimeType, size, uri }: ServedFile, own: Skill["frontmatter"] | undefined): Resource => {
  return {
    uri,
    name: own?.name ?? nameOf(uri),
    ...(own && { description: own.description }),
    ...(mimeType === undefined ? undefined : { mimeType }),
    size
  }
}

const nameOf = (uri: string): string => decodeURIComponent(uri.slice(uri.lastIndexOf("/") + 1))

const sees = ({ visible }: SkillSourceOptions, caller: Caller, skill: Skill): boolean =>
  visible === undefined || checkedBoolean("Skills.visible", visible(caller, skill))

export class Catalog {
  private readonly sources = new Set<SkillSource>()

  /** Returns the first URI that another source serves or that the skills have twice, or `undefined` if there is none. */
  clash(source: SkillSource, skills: ReadonlyArray<ServedSkill>): string | undefined {
    const known = new Set(
      [...this.sources].filter((one) => one !== source).flatMap((one) => one.current().map(({ skill }) => skill.uri))
    )
    return skills.find(({ skill: { uri } }) => known.size === known.add(uri).size)?.skill.uri
  }

  get options(): ReadonlyArray<SkillSourceOptions> {
    return [...this.sources].map(({ options }) => options)
  }

  add(source: SkillSource): void {
    this.sources.add(source)
  }

  remove(source: SkillSource): void {
    this.sources.delete(source)
  }

  /** Returns the skills that a caller sees, by URI. */
  seenBy(caller: Caller): ReadonlyArray<SeenSkill> {
    return [...this.sources]
      .flatMap(({ current, options }) =>
        current()
          .filter(({ skill }) => sees(options, caller, skill))
          .map((served) => ({ served, options }))
      )
      .toSorted(byUri(({ served }) => served.skill.uri))
  }

  /** Returns the file at a URI, if it belongs to a skill that the caller sees. */
  file(caller: Caller, uri: string): { readonly file: ServedFile; readonly options: SkillSourceOptions } | undefined {
    for (const { options, served } of this.seenBy(caller)) {
      const file = isBelow(served.root, uri) ? served.files.find((one) => one.uri === uri) : undefined
      if (file !== undefined) return { file, options }
    }
    return undefined
  }

  /** Returns the digest of the file at a URI, regardless of who may see it. */
  digest(uri: string): string | undefined {
    for (const source of this.sources) {
      for (const { files, root } of source.current()) {
        const file = isBelow(root, uri) ? files.find((one) => one.uri === uri) : undefined
        if (file !== undefined) return file.digest
      }
    }
    return undefined
  }

  /** Lists the `SKILL.md` of each skill that the caller sees. */
  manifests(caller: Caller): ReadonlyArray<Resource> {
    return this.seenBy(caller).flatMap(({ served: { files, skill } }) =>
      files.filter(({ uri }) => uri === skill.uri).map((file) => resourceOf(file, skill.frontmatter))
    )
  }

  /** Lists the files and folders directly in a directory, or returns `undefined` if the caller sees no such directory. */
  children(caller: Caller, uri: string): ReadonlyArray<Resource> | undefined {
    // Without a segment after the scheme, the text would be a prefix of every URI.
    if (!/^skill:\/\/[^/]/.test(uri)) return undefined
    const skills = this.seenBy(caller)
    const frontmatters = new Map(skills.map(({ served: { skill } }) => [skill.uri, skill.frontmatter]))
    const found = new Map<string, Resource>()
    for (const { served } of skills) {
      for (const file of served.files) {
        if (!isBelow(uri, file.uri)) continue
        const end = file.uri.indexOf("/", uri.length + 1)
        const child = end === -1 ? file.uri : file.uri.slice(0, end)
        if (found.has(child)) continue
        const folder = { uri: child, name: nameOf(child), mimeType: directoryType }
        found.set(child, end === -1 ? resourceOf(file, frontmatters.get(file.uri)) : folder)
      }
    }
    return found.size === 0 ? undefined : [...found.values()].toSorted(byUri((one) => one.uri))
  }
}

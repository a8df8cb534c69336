/** A skill that is ready to be served: its entry, and its files in memory. Building one checks every rule that hosts check. */
import type { ResourceContents } from "@effect-mcp/protocol/model/ResourceContents"
import * as Media from "@effect-mcp/server/folder/Media"
import * as Base64 from "effect/encoding/Base64"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type EntryProblem, problemsOf } from "../model/checkSkill.ts"
import * as Digest from "../model/Digest.ts"
import * as Frontmatter from "../model/Frontmatter.ts"
import { manifestName, type Skill, type SkillFile } from "../model/Skill.ts"
import * as SkillUri from "../model/SkillUri.ts"

/** A problem, and the skill or file that has it: a path on disk, or a skill's path. */
export interface SkillProblem {
  readonly place: string
  readonly rule: EntryProblem["rule"] | "file"
  readonly message: string
}

/** Skills that cannot be served. The message lists every problem. */
export class InvalidSkills extends Data.TaggedError("InvalidSkills")<{
  readonly problems: ReadonlyArray<SkillProblem>
}> {
  override get message(): string {
    return this.problems.map(({ message, place }) => `${place}: ${message}`).join("\n")
  }
}

/** A file in memory. Immutable: a changed file belongs to another version of the skill. */
export interface ServedFile extends SkillFile {
  readonly bytes: Uint8Array
  readonly mimeType: string | undefined
}

/** One version of a skill. */
export interface ServedSkill {
  readonly skill: Skill
  readonly root: string
  readonly files: ReadonlyArray<ServedFile>
}

/** Returns the text if it encodes to the same bytes. `Media.textOf` also drops a byte order mark, which would change the digest. */
const textOf = (bytes: Uint8Array): string | undefined => {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Returns a file's contents: text if that keeps every byte, otherwise base64. */
export const contentsOf = ({ bytes, mimeType, uri }: ServedFile): ResourceContents => {
  const type = mimeType === undefined ? undefined : { mimeType }
  const text = textOf(bytes)
  return text === undefined ? { uri, ...type, blob: Base64.encode(bytes) } : { uri, ...type, text }
}

/** A skill's file contents, by path below its root. */
export type SkillContents = ReadonlyMap<string, Uint8Array>

/** Builds a skill. `path` contains the segments of its path, and `place` names it in problems. */
export const build = Effect.fnUntraced(function* (
  place: string,
  path: ReadonlyArray<string>,
  files: SkillContents
): Effect.fn.Return<ServedSkill, InvalidSkills> {
  const invalid = (problems: ReadonlyArray<EntryProblem>) =>
    new InvalidSkills({ problems: problems.map((problem) => ({ place, ...problem })) })
  const broken = [...path, ...files.keys()].find((name) => !name.isWellFormed())
  if (broken !== undefined) {
    return yield* invalid([{ rule: "path", message: `The name ${JSON.stringify(broken)} is not valid Unicode` }])
  }
  const root = `skill://${path.map(encodeURIComponent).join("/")}`
  const manifest = files.get(manifestName)
  if (manifest === undefined) {
    return yield* invalid([{ rule: "incomplete", message: `There is no ${manifestName}` }])
  }
  const markdown = textOf(manifest)
  const parsed =
    markdown === undefined ? Result.fail(`${manifestName} is not valid UTF-8`) : Frontmatter.parse(markdown)
  if (Result.isFailure(parsed)) return yield* invalid([{ rule: "frontmatter", message: parsed.failure }])
  const { frontmatter } = parsed.success
  const { description, name } = frontmatter
  if (typeof name !== "string" || typeof description !== "string") {
    return yield* invalid([
      { rule: "frontmatter", message: "The frontmatter needs a name and a description, both strings" }
    ])
  }
  const served = yield* Effect.forEach([...files].toSorted(byPath), ([file, bytes]) =>
    Effect.map(Digest.sha256(bytes), (digest): ServedFile => ({
      uri: SkillUri.fileUri(root, file),
      digest,
      size: bytes.length,
      bytes,
      mimeType: Media.typeOf(file)
    }))
  )
  const resources = served.map(({ digest, size, uri }): SkillFile => ({ uri, digest, size }))
  const skill: Skill = {
    uri: SkillUri.fileUri(root, manifestName),
    frontmatter: { ...frontmatter, name, description },
    resources
  }
  const problems = problemsOf(skill)
  return problems.length === 0 ? { skill, root, files: served } : yield* invalid(problems)
})

/** `SKILL.md` first, then by path. */
const byPath = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a === manifestName ? -1 : b === manifestName ? 1 : a < b ? -1 : 1

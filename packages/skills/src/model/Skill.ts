/** A skill as servers publish it: its address, its frontmatter, and a manifest of its files (spec: extension Skills, Skill Entries). */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"

/** Maximum number of files per skill that every host accepts, including `SKILL.md`. */
export const maxFiles = 512
/** Maximum total size of a skill's files that every host accepts: 16 MiB, in bytes. */
export const maxBytes = 16 * 1024 * 1024
/** Name of the file with a skill's frontmatter and instructions. */
export const manifestName = "SKILL.md"
/** The value of `resources` for a skill whose files are generated, so that they have no digests. */
export const dynamic = "dynamic"

/** A file of a skill. */
export interface SkillFile {
  readonly uri: string
  /** SHA-256 of the bytes: `sha256:` and 64 lowercase hexadecimal digits. */
  readonly digest: string
  /** Size in bytes. */
  readonly size: number
}

/** The frontmatter of `SKILL.md` as JSON, with every field the author wrote. */
export interface SkillFrontmatter extends JsonObject {
  readonly name: string
  readonly description: string
}

/** One skill's entry, as returned by `skills/list` and `skills/get`. */
export interface Skill {
  /** URI of the skill's `SKILL.md`. */
  readonly uri: string
  readonly frontmatter: SkillFrontmatter
  /** Every file in the skill, including `SKILL.md`, or `dynamic` if its files are generated. */
  readonly resources: ReadonlyArray<SkillFile> | typeof dynamic
}

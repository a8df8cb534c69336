/** The rules for a skill's entry. Servers apply them to their skills, and hosts to the skills they receive. */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Digest from "./Digest.ts"
import * as Frontmatter from "./Frontmatter.ts"
import { dynamic, maxBytes, maxFiles, type Skill, type SkillFile, type SkillFrontmatter } from "./Skill.ts"
import * as SkillUri from "./SkillUri.ts"

/** The rule that a skill breaks. */
export type EntryRule =
  /** The entry lacks a field, or a field has the wrong type. */
  | "entry"
  /** The URI does not lead to a `SKILL.md`, or has more than one meaning. */
  | "uri"
  /** The name breaks the naming rules, or is not the last segment of the skill's path. */
  | "name"
  /** The description is empty or too long. */
  | "description"
  /** Another field of the frontmatter breaks the rules of Agent Skills. */
  | "frontmatter"
  /** A file is outside the skill, or its path could lead elsewhere on some file system. */
  | "path"
  /** Two files are the same on some file systems. */
  | "clash"
  /** The manifest does not list `SKILL.md`. */
  | "incomplete"
  /** A digest is not a SHA-256 in hexadecimal. */
  | "digest"
  /** A size is not a valid number of bytes. */
  | "size"
  /** The skill has more files than hosts accept. */
  | "files"
  /** The skill has more bytes than hosts accept. */
  | "bytes"

/** A reason why a skill cannot be used. */
export interface EntryProblem {
  readonly rule: EntryRule
  readonly message: string
}

const namePattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

const lengthOf = (text: string): number => Array.from(text).length

/** Control characters other than tabs and line breaks, and invisible tag characters, which a model reads and a user does not see. */
const hidden = /[^\P{Cc}\t\n\r]|[\u{e0000}-\u{e007f}]/u

// A character has at most two UTF-16 units, so a long text need not be split into its characters.
const isText = (value: unknown, max: number): boolean =>
  typeof value === "string" && value !== "" && value.length <= 2 * max && lengthOf(value) <= max && !hidden.test(value)

const isTexts = (value: unknown): boolean =>
  isJsonObject(value) && Object.values(value).every((one) => typeof one === "string")

const show = (value: unknown): string => excerpt(JSON.stringify(value) ?? "nothing")

/** True if the text can be a skill's name: 1 to 64 lowercase letters, digits and single hyphens. */
export const isName = (name: unknown): name is string =>
  typeof name === "string" && name.length <= 64 && namePattern.test(name)

/** Checks a frontmatter against the rules of Agent Skills. `name` is the last segment of the skill's path. */
const checkFrontmatter = (frontmatter: JsonObject, name: string): ReadonlyArray<EntryProblem> => {
  const problems: Array<EntryProblem> = []
  const { compatibility, description, metadata } = frontmatter
  if (!isName(frontmatter["name"])) {
    const message = `The name ${show(frontmatter["name"])} must be 1 to 64 lowercase letters, digits and single hyphens`
    problems.push({ rule: "name", message })
  } else if (frontmatter["name"] !== name) {
    const message = `The name ${show(frontmatter["name"])} must be the last segment of the skill's path, ${show(name)}`
    problems.push({ rule: "name", message })
  }
  if (!isText(description, 1024)) {
    problems.push({
      rule: "description",
      message: "The description must have 1 to 1024 characters, none of them invisible"
    })
  }
  if (compatibility !== undefined && !isText(compatibility, 500)) {
    problems.push({
      rule: "frontmatter",
      message: "The field compatibility must have 1 to 500 characters, none of them invisible"
    })
  }
  if (metadata !== undefined && !isTexts(metadata)) {
    problems.push({ rule: "frontmatter", message: "The field metadata must map strings to strings" })
  }
  if (!Frontmatter.isBounded(frontmatter)) {
    problems.push({ rule: "frontmatter", message: "The frontmatter is too long or nested too deeply" })
  }
  return problems
}

/** Checks one file of a manifest. Returns its path below the root, or the problems. */
const checkFile = (root: string, { digest, size, uri }: SkillFile): string | ReadonlyArray<EntryProblem> => {
  const problems: Array<EntryProblem> = []
  const path = SkillUri.pathBelow(root, uri)
  if (path === undefined) {
    problems.push({
      rule: "path",
      message: `${show(uri)} is not a file in the skill's directory, or its name is unsafe or too deep`
    })
  }
  if (!Digest.pattern.test(digest)) {
    problems.push({
      rule: "digest",
      message: `The digest ${show(digest)} of ${show(uri)} must be "sha256:" followed by 64 hexadecimal digits`
    })
  }
  if (!Number.isSafeInteger(size) || size < 0) {
    problems.push({ rule: "size", message: `The size ${show(size)} of ${show(uri)} must be a number of bytes` })
  }
  return path === undefined || problems.length > 0 ? problems : path
}

const checkFiles = (uri: string, root: string, files: ReadonlyArray<SkillFile>): ReadonlyArray<EntryProblem> => {
  if (files.length > maxFiles) {
    return [{ rule: "files", message: `The skill has ${files.length} files, but hosts accept at most ${maxFiles}` }]
  }
  const checked = files.map((file) => checkFile(root, file))
  const problems = checked.flatMap((one) => (typeof one === "string" ? [] : one))
  const clash = SkillUri.clashOf(checked.filter((one) => typeof one === "string"))
  if (clash !== undefined) {
    const message = `On systems that ignore case, ${show(clash)} has the same path as another file`
    problems.push({ rule: "clash", message })
  }
  if (!files.some((file) => file.uri === uri)) {
    problems.push({ rule: "incomplete", message: `The manifest does not list ${show(uri)} itself` })
  }
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  if (bytes > maxBytes) {
    problems.push({ rule: "bytes", message: `The skill has ${bytes} bytes, but hosts accept at most ${maxBytes}` })
  }
  return problems
}

/** Returns every rule that a skill breaks. */
export const problemsOf = ({ frontmatter, resources, uri }: Skill): ReadonlyArray<EntryProblem> => {
  const place = SkillUri.placeOf(uri)
  if (place === undefined) {
    return [{ rule: "uri", message: `${show(uri)} must be the URI of a SKILL.md in a named directory` }]
  }
  return [
    ...checkFrontmatter(frontmatter, place.name),
    ...(resources === dynamic ? [] : checkFiles(uri, place.root, resources))
  ]
}

const isFile = (value: unknown): value is SkillFile =>
  isJsonObject(value) &&
  typeof value["uri"] === "string" &&
  typeof value["digest"] === "string" &&
  typeof value["size"] === "number"

const isFrontmatter = (value: unknown): value is SkillFrontmatter =>
  isJsonObject(value) && typeof value["name"] === "string" && typeof value["description"] === "string"

/** Reads an entry that a server sent. Returns the skill without fields that this revision does not define, or the rules it breaks. */
export const decode = (entry: unknown): Skill | ReadonlyArray<EntryProblem> => {
  const malformed = (message: string): ReadonlyArray<EntryProblem> => [{ rule: "entry", message }]
  if (!isJsonObject(entry) || typeof entry["uri"] !== "string") return malformed("The entry has no uri")
  const { frontmatter, resources, uri } = entry
  if (!isFrontmatter(frontmatter)) return malformed("The frontmatter needs a name and a description")
  if (resources === dynamic) return checked({ uri, frontmatter, resources })
  if (!Array.isArray(resources) || !resources.every(isFile)) {
    return malformed('The field resources must be "dynamic" or an array of files, each with uri, digest and size')
  }
  const files = resources.map(({ digest, size, uri }) => ({ uri, digest, size }))
  return checked({ uri, frontmatter, resources: files })
}

const checked = (skill: Skill): Skill | ReadonlyArray<EntryProblem> => {
  const problems = problemsOf(skill)
  return problems.length === 0 ? skill : problems
}

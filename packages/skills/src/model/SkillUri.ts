/**
 * URIs of skills and their files: `scheme://path/of/skill/SKILL.md`. The skill's root is this URI without `/SKILL.md`.
 *
 * Queries, fragments, empty segments and encoded separators are rejected, because a host and a server could read them differently. Characters
 * that a URI must encode are rejected too, so that no text in a URI looks like something else.
 */
import * as Names from "@effect-mcp/server/folder/Names"
import { manifestName } from "./Skill.ts"

const suffix = `/${manifestName}`

/** Maximum number of names in a path below a skill's root. Comparing deep paths takes quadratic time. */
const maxDepth = 32

/** Decodes a segment. Returns `undefined` if its percent-encoding is invalid. */
const decoded = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

/** Separators, control characters, line breaks, and characters that reorder or hide text: hosts show the path to a user. */
const unsafe = /[/\\\p{Cc}\u2028\u2029\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u

/** True if a decoded segment of the path to a skill cannot climb and has no separator or hidden character. */
const isSegment = (name: string): boolean =>
  name !== "" && name !== "." && name !== ".." && !unsafe.test(name) && name.isWellFormed()

/** Returns the decoded segments after `scheme://`, or `undefined` if the text is not such a URI. */
const segmentsOf = (uri: string): ReadonlyArray<string> | undefined => {
  const rest = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([A-Za-z0-9\-._~%!$&'()*+,;=:@/]+)$/.exec(uri)?.[1]
  if (rest === undefined || uri.length > Names.maxLength) return undefined
  const names = rest.split("/").map(decoded)
  return names.every((name): name is string => name !== undefined && isSegment(name)) ? names : undefined
}

/** Where a skill is. */
export interface SkillPlace {
  /** URI of the skill's directory, without a trailing slash. */
  readonly root: string
  /** Segments of the skill's path. The last one is the skill's name. */
  readonly path: ReadonlyArray<string>
  readonly name: string
}

/** Returns a skill's place, or `undefined` if the URI does not lead to a `SKILL.md` in a named directory. */
export const placeOf = (uri: string): SkillPlace | undefined => {
  if (!uri.endsWith(suffix)) return undefined
  const path = segmentsOf(uri)?.slice(0, -1)
  const name = path?.at(-1)
  return path === undefined || name === undefined ? undefined : { root: uri.slice(0, -suffix.length), path, name }
}

/** True if a URI has the same beginning as the URIs of the files below `root`. */
export const isBelow = (root: string, uri: string): boolean => uri.startsWith(`${root}/`)

/**
 * Returns the path of a file below a skill's root, with "/" between its names. Returns `undefined` if the URI is elsewhere, climbs or is too
 * deep, or if a name would not be the same on every file system.
 */
export const pathBelow = (root: string, uri: string): string | undefined => {
  if (!isBelow(root, uri) || segmentsOf(uri) === undefined) return undefined
  const names = uri
    .slice(root.length + 1)
    .split("/")
    .map(decoded)
  return names.length <= maxDepth && names.every((name): name is string => name !== undefined && Names.isName(name))
    ? names.join("/")
    : undefined
}

/** Returns the URI of a file below a root. */
export const fileUri = Names.toUri

/** Key that is equal for two paths if they are the same file on a file system that ignores case or normalizes Unicode. */
export const foldedPath = (path: string): string => path.normalize("NFC").toLowerCase().normalize("NFC")

/** Returns the first path that is the same as an earlier one on some file systems, or that is a file and a folder at once. */
export const clashOf = (paths: ReadonlyArray<string>): string | undefined => {
  const files = new Set<string>()
  const folders = new Map<string, string>()
  for (const path of paths) {
    const key = foldedPath(path)
    if (files.has(key) || folders.has(key)) return path
    files.add(key)
    for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) {
      const folder = path.slice(0, end)
      const folded = foldedPath(folder)
      const spelled = folders.get(folded)
      if (files.has(folded) || (spelled !== undefined && spelled !== folder)) return path
      folders.set(folded, folder)
    }
  }
  return undefined
}

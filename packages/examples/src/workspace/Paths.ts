/**
 * Names of files in a workspace: relative, with "/" between the segments, and only one way to write each.
 *
 * Everything a client says goes through `parse` first. It does not clean paths up (no "..", no ".", no doubled slashes are resolved):
 * what is not already plain is refused, so there is nothing to get wrong.
 */

/** The segments of a path; never empty, and each one passes `isName`. */
export type Names = ReadonlyArray<string>

/** Folders that are no part of a workspace, whatever the tool: neither listed, nor searched, read or renamed into. */
const ignored: ReadonlySet<string> = new Set([
  ".git",
  ".hg",
  ".svn",
  "node_modules",
  "dist",
  "coverage",
  ".tsbuildinfo"
])

/** The longest path accepted, in UTF-16 units. */
export const maxLength = 4096

// Separators and reserved characters of every platform, so that a path means the same on all of them: "\" separates on Windows,
// "C:" is a drive, "file:stream" a second file in the file.
// oxlint-disable-next-line no-control-regex -- control characters are among what no name may have
const reserved = /[/\\:<>"|?*\u0000-\u001f\u007f]/

/** One segment that names exactly one entry of a folder, on every platform. */
export const isName = (name: string): boolean =>
  name !== "" &&
  // Windows drops trailing dots and spaces: ".git." would be another name of ".git". This covers "." and ".." too.
  !/[. ]$/.test(name) &&
  !reserved.test(name) &&
  name.isWellFormed() &&
  // File systems may not care for case, so this must not either.
  !ignored.has(name.toLowerCase())

/** The segments of a path that a client may name, or `undefined`: absolute, climbing, ignored or ambiguous paths. */
export const parse = (path: string): Names | undefined => {
  if (path.length > maxLength) return undefined
  const names = path.split("/")
  return names.every(isName) ? names : undefined
}

/** Whether `path` is `folder` or lies in it; the empty folder holds everything. */
export const isWithin = (folder: string, path: string): boolean =>
  folder === "" || path === folder || path.startsWith(`${folder}/`)

/** The URI of a file in the folder that `folderUri` names. */
export const toUri = (folderUri: string, path: string): string =>
  `${folderUri}/${path.split("/").map(encodeURIComponent).join("/")}`

/**
 * Names of files in a folder: relative paths with "/" between the segments, and a single spelling for each file.
 *
 * `parse` checks every path that a client sends. It doesn't resolve anything, so it rejects paths with "..", "." or an empty segment.
 */

/** A path's segments: at least one, each allowed by a policy. */
export type Names = ReadonlyArray<string>

/** Returns true if a segment is allowed by `isName` and by the folder's options. */
export type NamePolicy = (name: string) => boolean

/** Maximum length of a path, in UTF-16 code units. */
export const maxLength = 4096

// Separators and reserved characters of every platform, so that a path means the same everywhere: "\" separates on Windows, "C:" is a
// drive, and "file:stream" is a second file in the file.
// oxlint-disable-next-line no-control-regex -- names must not have control characters
const reserved = /[/\\:<>"|?*\u0000-\u001f\u007f]/

/** True if a segment names the same folder entry on every platform. */
export const isName: NamePolicy = (name) =>
  name !== "" &&
  // Windows drops trailing dots and spaces, so ".git." would be another name for ".git". This also covers "." and "..".
  !/[. ]$/.test(name) &&
  !reserved.test(name) &&
  name.isWellFormed()

/** Creates a policy that rejects `ignored` names, ignoring case, and also names starting with a dot unless `hidden` is set. */
export const policy = (options: { readonly hidden: boolean; readonly ignored: ReadonlyArray<string> }): NamePolicy => {
  // Some file systems ignore case.
  const ignored = new Set(options.ignored.map((name) => name.toLowerCase()))
  return (name) => isName(name) && (options.hidden || !name.startsWith(".")) && !ignored.has(name.toLowerCase())
}

/**
 * Returns the segments of a client's path, or `undefined` if the path is absolute, climbs out of the folder, is ambiguous, or contains
 * names that aren't allowed.
 */
export const parse = (path: string, admits: NamePolicy): Names | undefined => {
  if (path.length > maxLength) return undefined
  const names = path.split("/")
  return names.every(admits) ? names : undefined
}

/** True if `path` is `folder` or is inside it. Every path is inside the empty folder. */
export const isWithin = (folder: string, path: string): boolean =>
  folder === "" || path === folder || path.startsWith(`${folder}/`)

/** Returns the URI of a file in the folder whose URI is `folderUri`. */
export const toUri = (folderUri: string, path: string): string =>
  `${folderUri}/${path.split("/").map(encodeURIComponent).join("/")}`

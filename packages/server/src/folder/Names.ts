/**
 * Names of files in a folder: relative paths with "/" between the segments, and one spelling for each file.
 *
 * Every path of a client is checked by `parse`, which resolves nothing: a path with "..", "." or an empty segment is refused.
 */

/** The segments of a path: at least one, and each admitted by a policy. */
export type Names = ReadonlyArray<string>

/** Whether one segment is admitted: `isName`, and the rules of the folder's owner. */
export type NamePolicy = (name: string) => boolean

/** The longest accepted path, in UTF-16 units. */
export const maxLength = 4096

// Separators and reserved characters of every platform, so that a path means the same on all of them: "\" separates on Windows,
// "C:" is a drive, "file:stream" a second file in the file.
// oxlint-disable-next-line no-control-regex -- names must not have control characters
const reserved = /[/\\:<>"|?*\u0000-\u001f\u007f]/

/** Whether a segment names the same entry of a folder on every platform. */
export const isName: NamePolicy = (name) =>
  name !== "" &&
  // Windows drops trailing dots and spaces: ".git." would be another name of ".git". This covers "." and ".." too.
  !/[. ]$/.test(name) &&
  !reserved.test(name) &&
  name.isWellFormed()

/** Admits names; those that begin with a dot only with `hidden`, and no `ignored` one, without regard to case. */
export const policy = (options: { readonly hidden: boolean; readonly ignored: ReadonlyArray<string> }): NamePolicy => {
  // Some file systems ignore case.
  const ignored = new Set(options.ignored.map((name) => name.toLowerCase()))
  return (name) => isName(name) && (options.hidden || !name.startsWith(".")) && !ignored.has(name.toLowerCase())
}

/** The segments of a client's path; undefined for an absolute, climbing or ambiguous path, and for names that are not admitted. */
export const parse = (path: string, admits: NamePolicy): Names | undefined => {
  if (path.length > maxLength) return undefined
  const names = path.split("/")
  return names.every(admits) ? names : undefined
}

/** Whether `path` is `folder` or lies in it. Every path lies in the empty folder. */
export const isWithin = (folder: string, path: string): boolean =>
  folder === "" || path === folder || path.startsWith(`${folder}/`)

/** The URI of a file in the folder that `folderUri` names. */
export const toUri = (folderUri: string, path: string): string =>
  `${folderUri}/${path.split("/").map(encodeURIComponent).join("/")}`

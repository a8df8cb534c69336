/**
 * Names of files in a folder: relative paths, with "/" between the segments, and only one way to write each.
 *
 * Every path of a client goes through `parse`. It resolves nothing (no "..", no ".", no doubled slashes): a path that is not plain
 * already is refused.
 */

/** The segments of a path; never empty, and a policy admits each one. */
export type Names = ReadonlyArray<string>

/** Whether one segment may be named: `isName`, and what the folder's owner adds. */
export type Policy = (name: string) => boolean

/** The longest path accepted, in UTF-16 units. */
export const maxLength = 4096

// Separators and reserved characters of every platform, so that a path means the same on all of them: "\" separates on Windows,
// "C:" is a drive, "file:stream" a second file in the file.
// oxlint-disable-next-line no-control-regex -- control characters are among what no name may have
const reserved = /[/\\:<>"|?*\u0000-\u001f\u007f]/

/** One segment that names exactly one entry of a folder, on every platform. */
export const isName: Policy = (name) =>
  name !== "" &&
  // Windows drops trailing dots and spaces: ".git." would be another name of ".git". This covers "." and ".." too.
  !/[. ]$/.test(name) &&
  !reserved.test(name) &&
  name.isWellFormed()

/** Plain names; those that begin with a dot only when `hidden`, and none that is `ignored`, whatever its case. */
export const policy = (options: { readonly hidden: boolean; readonly ignored: ReadonlyArray<string> }): Policy => {
  // File systems may not care for case, so this must not either.
  const ignored = new Set(options.ignored.map((name) => name.toLowerCase()))
  return (name) => isName(name) && (options.hidden || !name.startsWith(".")) && !ignored.has(name.toLowerCase())
}

/** The segments of a path that a client may name, or `undefined`: absolute, climbing, ambiguous paths and those not admitted. */
export const parse = (path: string, admits: Policy): Names | undefined => {
  if (path.length > maxLength) return undefined
  const names = path.split("/")
  return names.every(admits) ? names : undefined
}

/** Whether `path` is `folder` or lies in it; the empty folder holds everything. */
export const isWithin = (folder: string, path: string): boolean =>
  folder === "" || path === folder || path.startsWith(`${folder}/`)

/** The URI of a file in the folder that `folderUri` names. */
export const toUri = (folderUri: string, path: string): string =>
  `${folderUri}/${path.split("/").map(encodeURIComponent).join("/")}`

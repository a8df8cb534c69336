/**
 * The `search` tool: reads many files, a few at a time, with progress. Stops
 * after the current file when it is cancelled or has found enough. Skips binary
 * and large files.
 */
import { textOf } from "@effect-mcp/server/folder/Media"
import * as Progress from "@effect-mcp/core/Progress"
import * as Tools from "@effect-mcp/core/Tools"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { ClientRoots } from "./ClientRoots.ts"
import * as Glob from "./Glob.ts"
import { type Match, Search } from "./tools.ts"
import { Workspace } from "./Workspace.ts"

/** Number of files to read concurrently. */
export const concurrency = 8
/** Maximum length of a line in a result, in characters. */
const maxLine = 200
/** Maximum number of progress reports. */
const maxReports = 200

type Found = typeof Match.Type

/**
 * Returns the lines of a file that contain `needle`, which must be lower case.
 */
const matchesIn = (
  path: string,
  text: string,
  needle: string
): ReadonlyArray<Found> =>
  text.toLowerCase().includes(needle)
    ? text.split(/\r?\n/).flatMap((line, index) =>
        line.toLowerCase().includes(needle)
          ? [
              {
                path,
                line: index + 1,
                text: line.trim().slice(0, maxLine).toWellFormed()
              }
            ]
          : []
      )
    : []

/** Number of paths to match before yielding to other fibers. */
const matchedAtOnce = 256

/**
 * Returns the files that match a glob. Without a slash, as in "*.ts", the glob
 * applies in every folder.
 */
const select = Effect.fnUntraced(function* (
  files: ReadonlyArray<string>,
  glob: string
) {
  const matches = Glob.matcher(glob.includes("/") ? glob : `**/${glob}`)
  const selected: Array<string> = []
  for (const [index, path] of files.entries()) {
    if (matches(path)) selected.push(path)
    if (index % matchedAtOnce === matchedAtOnce - 1) yield* Effect.yieldNow
  }
  return selected
})

export const layer = Tools.layer(
  Search,
  Effect.fnUntraced(function* ({ glob, maxResults = 100, query }) {
    const workspace = yield* Workspace
    const allowed = yield* Effect.flatMap(ClientRoots, (roots) => roots.allowed)
    const all = (yield* workspace.files).filter(allowed)
    const files = glob === undefined ? all : yield* select(all, glob)
    const needle = query.toLowerCase()
    const step = Math.ceil(files.length / maxReports)
    let done = 0

    const searchFile = Effect.fnUntraced(function* (path: string) {
      // A file that was deleted in the meantime, or is too large, has no
      // matches.
      const bytes = yield* Effect.orElseSucceed(
        workspace.read(path),
        () => new Uint8Array()
      )
      const found = matchesIn(path, textOf(bytes) ?? "", needle)
      done++
      if (done % step === 0 || done === files.length) {
        yield* Progress.report(done, { total: files.length, message: path })
      }
      return found
    })

    // Finds one more than requested, to know whether there are more.
    const matches = yield* Stream.fromIterable(files).pipe(
      Stream.mapEffect(searchFile, { concurrency }),
      Stream.flattenIterable,
      Stream.take(maxResults + 1),
      Stream.runCollect
    )
    return {
      matches: matches.slice(0, maxResults),
      files: done,
      complete: matches.length <= maxResults
    }
  })
)

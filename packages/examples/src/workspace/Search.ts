/**
 * The `search` tool: many files, read a few at a time, with progress. Stops within one file's work when it is cancelled, or when it
 * has found enough; what is binary or too large is passed over.
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

/** Files that are read at once. */
export const concurrency = 8
/** A line is cut to this many characters. */
const maxLine = 200
/** Progress is reported this often, at most. */
const maxReports = 200

type Found = typeof Match.Type

/** The lines of a file that contain `needle`, which is in lower case. */
const matchesIn = (path: string, text: string, needle: string): ReadonlyArray<Found> =>
  text.toLowerCase().includes(needle)
    ? text
        .split(/\r?\n/)
        .flatMap((line, index) =>
          line.toLowerCase().includes(needle)
            ? [{ path, line: index + 1, text: line.trim().slice(0, maxLine).toWellFormed() }]
            : []
        )
    : []

/** Paths that are matched before others have a turn. */
const matchedAtOnce = 256

/** The files that a glob selects. "*.ts" means any folder; with a slash in it a glob starts at the top. */
const select = Effect.fnUntraced(function* (files: ReadonlyArray<string>, glob: string) {
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
      // A file that is gone by now, or too large, has no matches.
      const bytes = yield* Effect.orElseSucceed(workspace.read(path), () => new Uint8Array())
      const found = matchesIn(path, textOf(bytes) ?? "", needle)
      done++
      if (done % step === 0 || done === files.length) {
        yield* Progress.report(done, { total: files.length, message: path })
      }
      return found
    })

    // One more than asked for: that tells whether there are more.
    const matches = yield* Stream.fromIterable(files).pipe(
      Stream.mapEffect(searchFile, { concurrency }),
      Stream.flattenIterable,
      Stream.take(maxResults + 1),
      Stream.runCollect
    )
    return { matches: matches.slice(0, maxResults), files: done, complete: matches.length <= maxResults }
  })
)

/** Creates skill folders on disk. */
import { Effect, FileSystem, Path } from "effect"

export type Contents = { readonly [path: string]: string | Uint8Array }

/** Text of a `SKILL.md`. */
export const markdown = (name: string, description = `About ${name}`, body = `# ${name}\n`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}`

const bytesOf = (content: string | Uint8Array) =>
  typeof content === "string" ? new TextEncoder().encode(content) : content

/** Creates a folder with these files, which is removed with the scope. */
export const folderWith = Effect.fnUntraced(function* (contents: Contents) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const root = yield* fs.realPath(yield* fs.makeTempDirectoryScoped({ prefix: "skills-" }))
  /** Replaces the file atomically, so that a watcher never sees a partial file. */
  const write = Effect.fnUntraced(function* (file: string, content: string | Uint8Array) {
    const place = path.join(root, file)
    const aside = path.join(root, ".aside")
    yield* fs.makeDirectory(path.dirname(place), { recursive: true })
    yield* fs.writeFile(aside, bytesOf(content))
    yield* fs.rename(aside, place)
  })
  yield* Effect.forEach(Object.entries(contents), ([file, content]) => write(file, content), { discard: true })
  return { fs, path, root, write }
})

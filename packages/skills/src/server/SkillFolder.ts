/**
 * Skills in a folder on disk: every folder with a `SKILL.md`. Only regular files below the folder are read, as with `Folder` from the
 * server package. Links are problems, because a skill without one of its files does not work.
 */
import * as Names from "@effect-mcp/server/folder/Names"
import * as Tree from "@effect-mcp/server/folder/Tree"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Result from "effect/Result"
import { manifestName, maxBytes as maxSkillBytes, maxFiles } from "../model/Skill.ts"
import { build, InvalidSkills, type ServedSkill, type SkillProblem } from "./ServedSkill.ts"

/** Which files belong to the skills. */
export interface SkillFolderOptions {
  /** Path in front of the skills' own paths, such as `acme/billing`. Default: none. */
  readonly prefix?: string | undefined
  /** Names of files and folders to leave out, ignoring case. Names that start with a dot are always left out. Default `node_modules`. */
  readonly ignored?: ReadonlyArray<string> | undefined
  /** Maximum total size of all skills in bytes. They are kept in memory. Default 64 MiB. */
  readonly maxBytes?: number | undefined
}

/** The result of reading a folder: the valid skills, and the problems of the others. */
export interface FolderSkills {
  readonly skills: ReadonlyArray<ServedSkill>
  readonly problems: ReadonlyArray<SkillProblem>
}

/** Maximum number of files and folders below the folder. */
const maxEntries = 20_000

/** A folder of skills. */
export interface SkillFolder {
  readonly tree: Tree.Tree
  /** Reads everything again. */
  readonly read: Effect.Effect<FolderSkills>
}

interface Walked {
  /** Paths of files, with "/" between names. */
  readonly files: ReadonlyArray<string>
  readonly problems: ReadonlyArray<SkillProblem>
}

/** Lists the folder, breadth first. */
const walk = Effect.fnUntraced(function* (tree: Tree.Tree): Effect.fn.Return<Walked> {
  const files: Array<string> = []
  const problems: Array<SkillProblem> = []
  let level: ReadonlyArray<Names.Names> = [[]]
  let count = 0
  while (level.length > 0) {
    const all = yield* Effect.forEach(level, tree.entries, { concurrency: 8 })
    for (const { files: found, others } of all) {
      for (const names of found) files.push(names.join("/"))
      for (const names of others) {
        const message = "This is a link or a special file. Replace it with a regular file."
        problems.push({ place: names.join("/"), rule: "file", message })
      }
    }
    level = all.flatMap(({ folders }) => folders)
    count += level.length
    if (files.length + count > maxEntries) {
      const message = `The folder has more than ${maxEntries} files and folders`
      return { files: [], problems: [{ place: ".", rule: "files", message }] }
    }
  }
  return { files, problems }
})

/** Opens a folder of skills. Fails if it doesn't exist. Its own `SKILL.md` makes it a skill with the folder's name. */
export const make = Effect.fnUntraced(function* (
  root: string,
  options: SkillFolderOptions = {}
): Effect.fn.Return<SkillFolder, PlatformError | InvalidSkills, FileSystem.FileSystem | Path.Path> {
  const { ignored = ["node_modules"], maxBytes = 64 * 1024 * 1024, prefix = "" } = options
  const path = yield* Path.Path
  const leftOut = new Set(ignored.map((name) => name.toLowerCase()))
  // Names that are not portable are read and reported, rather than left out silently.
  const tree = yield* Tree.make(root, (name) => !name.startsWith(".") && !leftOut.has(name.toLowerCase()))
  const segments = prefix === "" ? [] : prefix.split("/")
  if (!segments.every(Names.isName)) {
    const message = `The prefix ${JSON.stringify(prefix)} must be one or more names separated by "/"`
    return yield* new InvalidSkills({ problems: [{ place: root, rule: "uri", message }] })
  }

  const readFile = (file: string, budget: number) =>
    Effect.mapError(tree.read(file.split("/"), budget), (error): SkillProblem =>
      error._tag === "TooLarge"
        ? { place: file, rule: "bytes", message: "The skill or the folder exceeds its size limit" }
        : { place: file, rule: "file", message: "The file cannot be read" }
    )

  const readSkill = Effect.fnUntraced(function* (
    folder: string,
    files: ReadonlyArray<string>,
    cache: Map<string, Uint8Array>,
    spent: { bytes: number }
  ): Effect.fn.Return<ServedSkill, InvalidSkills> {
    const fail = (problem: SkillProblem) => new InvalidSkills({ problems: [problem] })
    if (files.length > maxFiles) {
      const message = `The skill has ${files.length} files, but hosts accept at most ${maxFiles}`
      return yield* fail({ place: folder, rule: "files", message })
    }
    const contents = new Map<string, Uint8Array>()
    let size = 0
    for (const file of files) {
      const known = cache.get(file)
      const budget = Math.min(maxSkillBytes - size, maxBytes - spent.bytes)
      const bytes = known ?? (yield* Effect.mapError(readFile(file, budget), fail))
      if (known === undefined) spent.bytes += bytes.length
      cache.set(file, bytes)
      size += bytes.length
      contents.set(folder === "" ? file : file.slice(folder.length + 1), bytes)
    }
    const names = folder === "" ? [path.basename(tree.root)] : folder.split("/")
    return yield* build(folder === "" ? "." : folder, [...segments, ...names], contents)
  })

  const read = Effect.gen(function* () {
    const { files, problems } = yield* walk(tree)
    const cache = new Map<string, Uint8Array>()
    const spent = { bytes: 0 }
    const folders = files
      .filter((file) => file === manifestName || file.endsWith(`/${manifestName}`))
      .map((file) => file.slice(0, -manifestName.length).replace(/\/$/, ""))
      .toSorted()
    const results = yield* Effect.forEach(folders, (folder) =>
      Effect.result(
        readSkill(
          folder,
          files.filter((file) => Names.isWithin(folder, file)),
          cache,
          spent
        )
      )
    )
    const inSkill = ({ place }: SkillProblem) =>
      place === "." || folders.some((folder) => Names.isWithin(folder, place))
    return {
      skills: results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : [])),
      problems: [
        ...problems.filter(inSkill),
        ...results.flatMap((result) => (Result.isFailure(result) ? result.failure.problems : []))
      ]
    }
  })
  return { tree, read }
})

/**
 * Serves Agent Skills: instructions and files for a model, in folders with a `SKILL.md` (spec: extension Skills). Add `folder` or `layer`,
 * or several of each, to a server like any other feature.
 *
 * Every file is a resource under `skill://`, in every revision. The extension's methods list the skills with the digest and size of each
 * file.
 */
import type { ExtensionRegistry } from "@effect-mcp/core/Extensions"
import type { ResourceRegistry } from "@effect-mcp/core/Resources"
import * as Changes from "@effect-mcp/server/folder/Changes"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { manifestName } from "../model/Skill.ts"
import * as CatalogLayer from "./CatalogLayer.ts"
import type { SkillSource, SkillSourceOptions } from "./SkillCatalog.ts"
import { build, InvalidSkills, type ServedSkill, type SkillProblem } from "./ServedSkill.ts"
import * as SkillFolder from "./SkillFolder.ts"

export { InvalidSkills, type SkillProblem } from "./ServedSkill.ts"

/** Which skills in a folder to serve, and to whom. */
export interface FolderOptions extends SkillFolder.SkillFolderOptions, SkillSourceOptions {}

/** Returns true if two versions have the same skills with the same files. */
const isSame = (a: ReadonlyArray<ServedSkill>, b: ReadonlyArray<ServedSkill>): boolean =>
  JSON.stringify(a.map(({ skill }) => skill)) === JSON.stringify(b.map(({ skill }) => skill))

/**
 * Serves every skill in a folder: each folder below `root` that has a `SKILL.md`. If `root` itself has one, it is a skill with the folder's
 * name. Fails with `InvalidSkills` if a skill breaks a rule, so that a broken skill cannot be deployed.
 *
 * All files are read into memory, and again when a file changes. A request is answered from one version of the folder. If the changed
 * folder has an invalid skill, the server logs the problems and continues to serve the previous version.
 *
 * Only regular files are served; a link in a skill is a problem. Names that start with a dot are left out.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import { Skills } from "@effect-mcp/skills"
 * import { NodeServices } from "@effect/platform-node"
 * import { Layer } from "effect"
 *
 * const skills = Skills.folder("skills", { prefix: "acme" }).pipe(Layer.provide(NodeServices.layer))
 *
 * export const server = McpServer.layer({ name: "acme", version: "1.0.0", features: skills })
 * ```
 */
export const folder = (
  root: string,
  options: FolderOptions = {}
): Layer.Layer<
  never,
  PlatformError | InvalidSkills,
  ResourceRegistry | ExtensionRegistry | FileSystem.FileSystem | Path.Path
> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const catalog = yield* CatalogLayer.SkillCatalog
      const opened = yield* SkillFolder.make(root, options)
      const { changes, start } = yield* Changes.make(opened.tree)
      const lock = yield* Semaphore.make(1)
      let current: ReadonlyArray<ServedSkill> = []
      const source: SkillSource = { options, current: () => current }
      const read = Effect.gen(function* () {
        const { problems, skills } = yield* opened.read
        if (problems.length > 0) return yield* new InvalidSkills({ problems })
        yield* catalog.check(source, skills)
        return skills
      })
      const reload = Effect.matchEffect(read, {
        onFailure: ({ message }) =>
          Effect.logWarning(`The changed skills in ${root} are invalid. Still serving the previous ones:\n${message}`),
        onSuccess: (skills) =>
          isSame(current, skills)
            ? Effect.void
            : Effect.andThen(
                Effect.sync(() => void (current = skills)),
                catalog.changed
              )
      })
      // Watches before it reads, so that no change in between is missed.
      yield* Effect.forkScoped(
        changes.pipe(
          Stream.buffer({ capacity: 1, strategy: "sliding" }),
          Stream.runForEach(() => lock.withPermit(reload))
        ),
        { startImmediately: true }
      )
      yield* start
      yield* lock.withPermit(Effect.map(read, (skills) => void (current = skills)))
      yield* catalog.add(source)
    })
  ).pipe(Layer.provide(CatalogLayer.layer))

/** A valid skill in a folder. */
export interface CheckedSkill {
  /** URI at which a server serves it. */
  readonly uri: string
  /** Number of files. */
  readonly files: number
  /** Total size of all files in bytes. */
  readonly bytes: number
}

/** Checks every skill in a folder, as `folder` does, and returns the problems instead of failing. */
export const check = (
  root: string,
  options: SkillFolder.SkillFolderOptions = {}
): Effect.Effect<
  { readonly skills: ReadonlyArray<CheckedSkill>; readonly problems: ReadonlyArray<SkillProblem> },
  PlatformError | InvalidSkills,
  FileSystem.FileSystem | Path.Path
> =>
  Effect.map(
    Effect.flatMap(SkillFolder.make(root, options), ({ read }) => read),
    ({ problems, skills }) => ({
      problems,
      skills: skills.map(({ files, skill }) => ({
        uri: skill.uri,
        files: files.length,
        bytes: files.reduce((sum, file) => sum + file.size, 0)
      }))
    })
  )

/** A skill written in code. */
export interface SkillDefinition {
  /** 1 to 64 lowercase letters, digits and single hyphens. The last segment of the skill's path. */
  readonly name: string
  /**
   * Describes the skill to a model, and says when to use it. 1 to 1024 characters, without control characters except for line breaks and
   * tabs.
   */
  readonly description: string
  /** The Markdown of `SKILL.md`, after the frontmatter. */
  readonly instructions: string
  /** Further files, by their path in the skill. */
  readonly files?: { readonly [path: string]: string | Uint8Array } | undefined
  /** Path in front of the name, such as `acme/billing`. Default: none. */
  readonly prefix?: string | undefined
  readonly license?: string | undefined
  /** Products or tools that the skill needs. Up to 500 characters. */
  readonly compatibility?: string | undefined
  readonly metadata?: { readonly [key: string]: string } | undefined
}

const encoder = new TextEncoder()

/** Writes the frontmatter. Texts are JSON strings, which YAML reads as they are. */
const markdownOf = ({ compatibility, description, instructions, license, metadata, name }: SkillDefinition): string => {
  const fields = Object.entries({ name, description, license, compatibility }).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}: ${JSON.stringify(value)}`]
  )
  const more = Object.entries(metadata ?? {}).map(
    ([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`
  )
  const lines = [...fields, ...(more.length === 0 ? [] : ["metadata:", ...more])]
  return `---\n${lines.join("\n")}\n---\n\n${instructions}`
}

const served = (definition: SkillDefinition): Effect.Effect<ServedSkill, InvalidSkills> => {
  const { files = {}, name, prefix = "" } = definition
  const path = [...(prefix === "" ? [] : prefix.split("/")), name]
  const contents = new Map([[manifestName, encoder.encode(markdownOf(definition))]])
  for (const [file, content] of Object.entries(files)) {
    if (file === manifestName) {
      const message = `${manifestName} is generated from the other fields, so it cannot be one of the files`
      return Effect.fail(new InvalidSkills({ problems: [{ place: path.join("/"), rule: "clash", message }] }))
    }
    // A copy, because the program may change its bytes later.
    contents.set(file, typeof content === "string" ? encoder.encode(content) : content.slice())
  }
  return build(path.join("/"), path, contents)
}

/**
 * Serves skills that are written in code. Fails with `InvalidSkills` if one breaks a rule.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import { Skills } from "@effect-mcp/skills"
 *
 * const skills = Skills.layer([
 *   {
 *     name: "refunds",
 *     description: "Refunds an order. Use it when a customer wants their money back.",
 *     instructions: "Read references/policy.md, then call the tool refund.",
 *     files: { "references/policy.md": "Orders of the last 30 days can be refunded." }
 *   }
 * ])
 *
 * export const server = McpServer.layer({ name: "shop", version: "1.0.0", features: skills })
 * ```
 */
export const layer = (
  skills: ReadonlyArray<SkillDefinition>,
  options: SkillSourceOptions = {}
): Layer.Layer<never, InvalidSkills, ResourceRegistry | ExtensionRegistry> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const catalog = yield* CatalogLayer.SkillCatalog
      const all = yield* Effect.forEach(skills, served)
      const source: SkillSource = { options, current: () => all }
      yield* catalog.check(source, all)
      yield* catalog.add(source)
    })
  ).pipe(Layer.provide(CatalogLayer.layer))

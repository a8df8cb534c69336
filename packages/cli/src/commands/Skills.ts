/** `effect-mcp skills`: checks a folder of skills, and lists, shows and installs a server's skills. */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type { SkillQuestion, StoreOptions } from "@effect-mcp/skills/SkillStore"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { exact, indent, json, size, table } from "../render/Text.ts"
import * as Save from "../session/Save.ts"
import * as Session from "../session/Session.ts"
import * as Settings from "../target/Settings.ts"
import { stateFolder } from "../target/stateFolder.ts"
import { code, CommandFailure, silent, usage } from "../terminal/Exit.ts"
import { Output } from "../terminal/Output.ts"
import { safe, safeLine } from "../terminal/Style.ts"
import { outputFile, print } from "./Shared.ts"

/** Loaded on demand, because only these commands need it. */
const loaded = Effect.promise(async () => {
  const [Skills, SkillFiles, SkillStore] = await Promise.all([
    import("@effect-mcp/skills/Skills"),
    import("@effect-mcp/skills/SkillFiles"),
    import("@effect-mcp/skills/SkillStore")
  ])
  return { Skills, SkillFiles, SkillStore }
})

const failed = ({ message }: { readonly message: string }) => new CommandFailure({ code: code.server, message })

const check = Command.make(
  "check",
  {
    folder: Argument.String("folder").pipe(Argument.withDescription("A folder of skills, or the folder of one skill")),
    prefix: Flag.String("prefix").pipe(
      Flag.withMetavar("PATH"),
      Flag.withDescription("The path in front of the skills, as the server will serve them"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* ({ folder, prefix }) {
    const { Skills } = yield* loaded
    const output = yield* Output
    const settings = yield* Settings.settings
    const { problems, skills } = yield* Skills.check(folder, { prefix: Option.getOrUndefined(prefix) }).pipe(
      Effect.mapError(({ message }) => usage(`${folder} cannot be read: ${message}`))
    )
    if (settings.json) yield* output.line(json({ skills, problems }))
    else {
      const rows = [
        ...skills.map(({ bytes, files, uri }) => [uri, `${files} files`, size(bytes)]),
        ...problems.map(({ message, place }) => [safeLine(place), safeLine(message)])
      ]
      if (rows.length > 0) yield* output.line(table(rows, output.width))
    }
    yield* problems.length > 0
      ? silent(code.server)
      : skills.length === 0
        ? usage(`${folder} has no skills: a skill is a folder with a SKILL.md`)
        : Effect.void
  })
).pipe(
  Command.withDescription("Check every skill in a folder by the rules that hosts apply. Needs no server"),
  Command.withExamples([{ command: "effect-mcp skills check ./skills" }])
)

/** Consents to everything, because the user typed the command to see the skill. */
const shown: StoreOptions = { consent: () => Effect.succeed(true) }

const list = Command.make("list", {}, () =>
  Session.use(
    Effect.fnUntraced(function* (session) {
      const { SkillFiles, SkillStore } = yield* loaded
      const store = Layer.provide(SkillStore.layer(shown), SkillFiles.layerMemory)
      const listing = yield* Effect.provide(SkillStore.SkillStore, store).pipe(
        Effect.flatMap(({ connected }) => connected("server", session.client).list),
        Effect.catchTag(["SkillRefused", "SkillStoreError"], failed)
      )
      const skills = listing.skills.map(({ skill }) => skill)
      const refused = listing.refused.map(({ detail, reason, uri }) => ({ uri, reason, detail }))
      yield* print(session, { skills, refused }, ({ style, width }) =>
        [
          ...skills.flatMap(({ frontmatter, resources, uri }) => [
            `${style.bold(safeLine(uri))}  ${style.dim(filesOf(resources))}`,
            indent(safe(frontmatter.description))
          ]),
          table(
            refused.map(({ detail, uri }) => [style.yellow(`refused ${safeLine(excerpt(uri))}`), safeLine(detail)]),
            width
          )
        ]
          .filter((line) => line !== "")
          .join("\n")
      )
      yield* refused.length > 0 ? silent(code.server) : Effect.void
    })
  )
).pipe(
  Command.withDescription("List the skills of a server, and those that break a rule"),
  Command.withExamples([{ command: "effect-mcp skills list -- node server.js" }])
)

const filesOf = (resources: ReadonlyArray<{ readonly size: number }> | "dynamic"): string =>
  resources === "dynamic"
    ? "generated files"
    : `${resources.length} files, ${size(resources.reduce((sum, file) => sum + file.size, 0))}`

const uri = Argument.String("uri").pipe(Argument.withDescription("The URI of the skill's SKILL.md"))

const get = Command.make(
  "get",
  {
    uri,
    file: Flag.String("file").pipe(
      Flag.withMetavar("PATH"),
      Flag.withDescription("Print this file of the skill. Default: SKILL.md"),
      Flag.withDefault("SKILL.md")
    ),
    output: outputFile
  },
  ({ file, output: target, uri }) =>
    Session.use(
      Effect.fnUntraced(function* ({ client, output, settings }) {
        const { SkillFiles, SkillStore } = yield* loaded
        const store = Layer.provide(SkillStore.layer(shown), SkillFiles.layerMemory)
        const { content, skill } = yield* Effect.gen(function* () {
          const skill = yield* (yield* SkillStore.SkillStore).connected("server", client).load(uri)
          return { skill: skill.skill, content: yield* skill.read(file) }
        }).pipe(Effect.provide(store), Effect.catchTag(["SkillRefused", "SkillStoreError"], failed))
        const { bytes, text } = content
        yield* settings.json
          ? output.line(json({ skill, path: content.path, text }))
          : Option.isSome(target)
            ? Save.saveBytes(target.value, bytes)
            : text === undefined
              ? usage("The file is binary: use --output FILE, or --output - for stdout")
              : output.write(exact(output, text))
      })
    )
).pipe(
  Command.withDescription("Print a file of a skill, verified against the server's manifest"),
  Command.withExamples([
    { command: "effect-mcp skills get skill://refunds/SKILL.md -- node server.js" },
    { command: "effect-mcp skills get skill://refunds/SKILL.md --file references/policy.md -- node server.js" }
  ])
)

/** Shows a skill and asks for consent, unless `--approve` is set. */
const asking = (output: Output["Service"], approved: boolean) =>
  Effect.fnUntraced(function* ({ changes, kind, server, skill }: SkillQuestion) {
    const { description, name } = skill.frontmatter
    yield* output.note(
      [
        `${kind === "changed" ? "Changed skill" : "Skill"} ${safeLine(name)} of ${safeLine(server)}`,
        indent(safe(description)),
        indent(filesOf(skill.resources)),
        ...changes.map((uri) => indent(`changed: ${safeLine(uri)}`))
      ].join("\n")
    )
    if (approved) return true
    if (!output.canAsk) {
      yield* output.note("Pass --approve to keep it without a question")
      return false
    }
    const message = "Keep its files on this machine?"
    return yield* output.exclusive(() =>
      Effect.catchTag(Prompt.run(Prompt.Confirm({ message, initial: false })), "QuitError", () => Effect.succeed(false))
    )
  })

const install = Command.make(
  "install",
  {
    uri,
    label: Flag.String("as").pipe(
      Flag.withMetavar("NAME"),
      Flag.withDescription("Your name of the server, which keeps its skills apart from the skills of other servers")
    ),
    folder: Flag.String("to").pipe(
      Flag.withMetavar("FOLDER"),
      Flag.withDescription("Keep the skills here. Default: a folder of your state"),
      Flag.optional
    ),
    approve: Flag.Boolean("approve").pipe(
      Flag.withDescription("Approve the skill without a question"),
      Flag.withDefault(false),
      Flag.withoutNegation
    )
  },
  ({ approve, folder, label, uri }) =>
    Session.use(
      Effect.fnUntraced(function* ({ client, output, settings }) {
        const { SkillFiles, SkillStore } = yield* loaded
        const directory = Option.getOrElse(folder, () => stateFolder("server-skills"))
        const environment = yield* Effect.context<Prompt.Environment>()
        const consent = (question: SkillQuestion) =>
          Effect.provideContext(asking(output, approve)(question), environment)
        const store = Layer.provide(SkillStore.layer({ consent }), SkillFiles.layerDisk({ directory }))
        const paths = yield* Effect.gen(function* () {
          const skill = yield* (yield* SkillStore.SkillStore).connected(label, client).load(uri)
          yield* Effect.forEach(skill.paths, skill.read, { discard: true })
          return skill.paths
        }).pipe(
          Effect.provide(store),
          Effect.catchTag("SkillRefused", (error) =>
            Effect.fail(error.reason === "declined" ? usage("You did not approve the skill") : failed(error))
          ),
          Effect.catchTag("SkillStoreError", failed)
        )
        yield* output.line(
          settings.json ? json({ server: label, uri, directory, paths }) : `Kept ${paths.length} files in ${directory}`
        )
      })
    )
).pipe(
  Command.withDescription("Approve a skill, verify all of its files, and keep them for hosts that work offline"),
  Command.withExamples([
    { command: "effect-mcp skills install skill://refunds/SKILL.md --as shop -- https://example.com/mcp" }
  ])
)

export const skills = Command.make("skills").pipe(
  Command.withDescription("Agent Skills: check a folder; list, get and install the skills of a server"),
  Command.withShortDescription("Skills of a folder or a server: check, list, get, install"),
  Command.withSubcommands([check, list, get, install])
)

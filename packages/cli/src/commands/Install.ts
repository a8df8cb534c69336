/** `effect-mcp install` and `list`: servers in hosts' configurations. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { orUsage } from "../terminal/Arguments.ts"
import { usage } from "../terminal/Exit.ts"
import * as Host from "../hosts/Host.ts"
import type * as Installation from "../hosts/Installation.ts"
import * as ServerEntry from "@effect-mcp/client/ServerEntry"
import { Output } from "../terminal/Output.ts"
import { json, table } from "../render/Text.ts"
import { noServer, SelectedServer } from "../session/Session.ts"
import * as Settings from "../target/Settings.ts"
import { safeLine } from "../terminal/Style.ts"

/** Loaded on demand, because only these commands edit configuration files. */
const installation = Effect.promise(() => import("../hosts/Installation.ts"))

const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false), Flag.withoutNegation)

const flags = {
  client: Argument.ChoiceWithValue(
    "client",
    Host.hosts.map((host) => [host.id, host] as const)
  ).pipe(Argument.withDescription("The host that will use the server")),
  name: Flag.String("name").pipe(
    Flag.withDescription(
      "The server's name in the host. Default: taken from its command or URL, or from its project's package.json"
    ),
    Flag.optional
  ),
  project: toggle("project", "Write this folder's project file instead of the user's file"),
  force: toggle("force", "Replace an existing server with that name"),
  undo: toggle("undo", "Remove the server again, or restore the previous one"),
  dryRun: toggle("dry-run", "Show what would change without changing anything")
}

/** Name for a server whose command line says nothing about it. */
const anonymous = "server"

/** Derives a name that hosts accept from a text, or `undefined` if the text has no letter or digit. */
const acceptable = (text: string): string | undefined => {
  const name = text
    .replaceAll(/[^A-Za-z0-9_-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+|-+$/g, "")
    .slice(0, 64)
  return name === "" ? undefined : name
}

const PackageName = Schema.fromJsonString(Schema.Struct({ name: Schema.String }))

/** Returns the name in the nearest package.json without its scope, or else the name of the folder. */
const projectName = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  for (let at = folder; ; at = path.dirname(at)) {
    const named = yield* fs.readFileString(path.join(at, "package.json")).pipe(
      Effect.flatMap(Schema.decodeEffect(PackageName)),
      Effect.map(({ name }) => acceptable(name.replace(/^@[^/]*\//, ""))),
      Effect.orElseSucceed(() => undefined)
    )
    if (named !== undefined) return named
    if (path.dirname(at) === at) return acceptable(path.basename(folder)) ?? anonymous
  }
})

/** Derives a name from a server's command or URL, or `anonymous` if these say nothing about the server. */
const nameOf = (words: ReadonlyArray<string>): string => {
  const [command = ""] = words
  if (URL.canParse(command) && command.startsWith("http")) {
    const labels = new URL(command).hostname.split(".").filter((label) => !["mcp", "www", "api"].includes(label))
    // An address or a single label says nothing about the server.
    return labels.find((label, index) => index === labels.length - 2 && !/^\d+$/.test(label)) ?? anonymous
  }
  const script = words.slice(1).find((word) => !word.startsWith("-")) ?? command
  const parts = script
    .replace(/(?<=.)@[\w.^~-]+$/, "")
    .replace(/\.[a-z]+$/, "")
    .split(/[/\\]/)
    .filter((part) => !["", ".", "..", "src", "dist", "index", "main", "server", "bin"].includes(part))
  return acceptable(parts.at(-1) ?? "") ?? anonymous
}

/** Derives a name from a server's command or URL, or else from the project of the command. */
const derivedName = Effect.fnUntraced(function* (words: ReadonlyArray<string>, settings: Settings.Settings) {
  const path = yield* Path.Path
  const { cwd } = yield* Host.Machine
  const name = nameOf(words)
  if (name !== anonymous || /^https?:/i.test(words[0] ?? "")) return name
  const folder = path.resolve(cwd, settings.cwd ?? ".")
  const script = words.slice(1).find((word) => !word.startsWith("-"))
  return yield* projectName(script === undefined ? folder : path.dirname(path.resolve(folder, script)))
})

const checkedName = (name: string) =>
  /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)
    ? Effect.succeed(name)
    : usage(`--name ${name}: letters, digits, "-" and "_", at most 64 of them, the first a letter or a digit`)

/** Makes the paths of existing files absolute, because hosts start servers in other folders. */
const absolute = Effect.fnUntraced(function* (words: ReadonlyArray<string>, folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* Effect.forEach(words, (word, index) => {
    const isPath = index > 0 ? !word.startsWith("-") : /[/\\]/.test(word)
    const file = path.resolve(folder, word)
    const there = isPath ? Effect.orElseSucceed(fs.exists(file), () => false) : Effect.succeed(false)
    return Effect.map(there, (there) => (there ? file : word))
  })
})

const entryOf = Effect.fnUntraced(function* (words: ReadonlyArray<string>, settings: Settings.Settings) {
  const path = yield* Path.Path
  const { cwd: here } = yield* Host.Machine
  const { headers, transport } = settings
  const [first = ""] = words
  if (/^https?:\/\//i.test(first)) {
    if (words.length > 1) return yield* usage(`A URL does not take arguments: ${words.slice(1).join(" ")}`)
    return { _tag: "Reached", url: first, headers, transport: transport === "sse" ? "sse" : "auto" } as const
  }
  const cwd = settings.cwd === undefined ? undefined : path.resolve(here, settings.cwd)
  const [command = "", ...args] = yield* absolute(words, cwd ?? here)
  return { _tag: "Started", command, args, env: settings.env, cwd } as const
})

const said: { readonly [state in Installation.InstallationChange["state"]]: readonly [done: string, would: string] } = {
  added: ["Added", "Would add"],
  replaced: ["Replaced", "Would replace"],
  removed: ["Removed", "Would remove"],
  restored: ["Put back", "Would put back"],
  unchanged: ["Has already", "Has already"]
}

export const install = Command.make(
  "install",
  flags,
  Effect.fnUntraced(function* ({ client: host, dryRun, force, name: given, project, undo }) {
    const words = (yield* SelectedServer).target?.words
    if (words === undefined && (!undo || Option.isNone(given))) return yield* noServer
    const machine = yield* Host.Machine
    const file = Host.fileOf(host, machine, project)
    if (file === undefined) return yield* usage(`${host.title} has no project file. Leave out --project`)
    const settings = yield* Settings.settings
    const name = yield* checkedName(Option.getOrUndefined(given) ?? (yield* derivedName(words ?? [], settings)))
    const Installation = yield* installation
    const place = { host, file, name, project: project ? machine.cwd : undefined }
    const output = yield* Output
    const entry = words === undefined ? undefined : yield* entryOf(words, settings)
    const change = yield* undo || entry === undefined
      ? Installation.undo(place, dryRun)
      : Effect.flatMap(orUsage(host.write(entry)), (written) => Installation.install(place, written, { dryRun, force }))
    const [done, would] = said[change.state]
    const lines = [`${dryRun ? would : done} ${name} in ${safeLine(file)}`]
    if (entry !== undefined && !undo) lines.push(`  ${safeLine(ServerEntry.shown(entry))}`)
    if (change.backup !== undefined && !dryRun) lines.push(`  The previous entry: ${safeLine(change.backup)}`)
    if (change.state !== "unchanged" && !dryRun) lines.push(`Restart ${host.title} to use it.`)
    return yield* output.line(
      settings.json ? json({ ...change, name, file, client: host.id, dryRun }) : lines.join("\n")
    )
  })
).pipe(
  Command.withDescription("Add the server to a host's configuration"),
  Command.withExamples([
    { command: "effect-mcp install claude-code -- node server.js", description: "For every project of this user" },
    { command: "effect-mcp install vscode --project -- https://example.com/mcp", description: "For this folder" },
    { command: "effect-mcp install codex --undo -- node server.js", description: "Remove it again" }
  ])
)

interface Listed {
  readonly client: string
  readonly name: string
  readonly server: string
  readonly file: string
}

const inFile = Effect.fnUntraced(function* (place: Installation.HostFile) {
  const { file, host } = place
  const { list } = yield* installation
  const output = yield* Output
  const servers = yield* Effect.catch(list(place), ({ message }) => Effect.as(output.note(safeLine(message)), {}))
  return Object.entries(servers).map(([name, value]): Listed => {
    const entry = ServerEntry.parse(value)
    const server = Result.isSuccess(entry) ? ServerEntry.shown(entry.success) : `(cannot be used: ${entry.failure})`
    return { client: host.id, name, server, file }
  })
})

export const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const machine = yield* Host.Machine
    const settings = yield* Settings.settings
    const output = yield* Output
    const files = Host.hosts.flatMap((host) => {
      const user = Host.fileOf(host, machine, false)
      const project = Host.fileOf(host, machine, true)
      // In the home folder, both may be the same file.
      return [
        ...(user === undefined ? [] : [{ host, file: user, project: undefined }]),
        ...(project === undefined || project === user ? [] : [{ host, file: project, project: machine.cwd }])
      ]
    })
    const rows = (yield* Effect.forEach(files, inFile)).flat()
    const shown = rows.map(({ client, file, name, server }) => [client, name, server, file].map(safeLine))
    const text = rows.length === 0 ? "No host has any servers in its configuration" : table(shown)
    yield* output.line(settings.json ? json(rows) : text)
  })
).pipe(
  Command.withDescription("List the servers in each host's configuration"),
  Command.withExamples([{ command: "effect-mcp list" }])
)

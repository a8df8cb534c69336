/** The `effect-mcp` command: its subcommands and their help, and a run from arguments to exit code. */
import type { Requirements } from "@effect-mcp/client/Stdio"
import * as CliConfig from "effect/cli/CliConfig"
import type * as CliError from "effect/cli/CliError"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import type { HelpDoc } from "effect/cli/HelpDoc"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { app } from "./commands/App.ts"
import { audit } from "./commands/Audit.ts"
import { call } from "./commands/Call.ts"
import { dev } from "./commands/Dev.ts"
import { login, logout, whoami } from "./commands/Login.ts"
import { check, diff, fuzz, fuzzClient, replay } from "./commands/Fuzz.ts"
import { judge, record } from "./commands/Judge.ts"
import { install, list } from "./commands/Install.ts"
import { inspect } from "./commands/Inspect.ts"
import { lint } from "./commands/Lint.ts"
import { lock, verify } from "./commands/Lock.ts"
import { ping } from "./commands/Ping.ts"
import { complete, prompt, prompts } from "./commands/Prompts.ts"
import { read, resources, watch } from "./commands/Resources.ts"
import { proxy } from "./commands/Proxy.ts"
import { skills } from "./commands/Skills.ts"
import { tasks } from "./commands/Tasks.ts"
import { tools } from "./commands/Tools.ts"
import { top } from "./commands/Top.ts"
import { ui } from "./commands/Ui.ts"
import * as Endings from "./terminal/Exit.ts"
import { Output } from "./terminal/Output.ts"
import { indent, jsonLine, table } from "./render/Text.ts"
import { SelectedServer, version } from "./session/Session.ts"
import { root } from "./target/Settings.ts"
import { safe } from "./terminal/Style.ts"
import * as Target from "./target/Target.ts"

const about = "Talk to any Model Context Protocol server from the command line"

/** The commands that need no server after `--`. */
const withoutServer = /^effect-mcp (?:audit|list|skills check|top)\b/

/** The shared flags that a command uses, for commands without a server. Default: all. */
const meaningful: { readonly [command: string]: ReadonlyArray<string> } = {
  audit: ["json", "verbose"],
  install: ["json", "verbose", "env", "cwd", "header", "transport"],
  list: ["json", "verbose"],
  top: ["json", "verbose", "header"]
}

const withMeaning = (doc: HelpDoc): HelpDoc => {
  const [, name = ""] = /^effect-mcp ([\w-]+)/.exec(doc.usage) ?? []
  const kept = Object.hasOwn(meaningful, name) ? meaningful[name] : undefined
  if (kept === undefined) return doc
  const { inheritedFlags = [] } = doc
  return { ...doc, inheritedFlags: inheritedFlags.filter((flag) => kept.includes(flag.name)) }
}

const commands = [
  inspect,
  tools,
  call,
  tasks,
  resources,
  read,
  watch,
  prompts,
  prompt,
  complete,
  skills,
  ping,
  ui,
  app,
  lock,
  verify,
  proxy,
  dev,
  lint,
  check,
  fuzz,
  fuzzClient,
  replay,
  diff,
  judge,
  record,
  install,
  list,
  audit,
  top,
  login,
  logout,
  whoami
] as const

/** Removes `--help` after an unknown command, so that the parser reports the command instead of showing the first page. */
const withoutHelp = (argv: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [name = "-"] = argv
  return name.startsWith("-") || commands.some((command) => command.name === name)
    ? argv
    : argv.filter((word) => word !== "--help" && word !== "-h")
}

const command = root.pipe(
  Command.withDescription(about),
  Command.withExamples([
    { command: "effect-mcp inspect -- node server.js", description: "What a server offers" },
    { command: "effect-mcp call add a=1 b=2 -- https://example.com/mcp", description: "Call a tool" }
  ]),
  Command.withSubcommands(commands)
)

const epilogue = (bold: (text: string) => string): string =>
  [
    bold("THE SERVER"),
    "  Everything after -- is the command that starts it: no shell, few environment variables (add with --env);",
    "  or its URL. If it requires a login, your browser opens (see effect-mcp login), or you pass a token:",
    "  --header 'Authorization: Bearer ...' is sent with every request",
    "",
    bold("ITS QUESTIONS"),
    "  On a terminal you are asked. Elsewhere, use --answer, --accept or --decline. --root and --sample",
    "  are offered only if you pass them, and a terminal asks before sharing them (--yes skips that).",
    "",
    bold("EXIT CODES"),
    indent(table(Endings.codeTable))
  ].join("\n")

/** Formats the first help page: a line per command, two examples, and a pointer to more help. */
const overview = (
  { description, examples = [], subcommands = [] }: HelpDoc,
  bold: (text: string) => string
): string => {
  const commands = subcommands.flatMap((group) => group.commands)
  return [
    description,
    "",
    bold("USAGE"),
    "  effect-mcp <command> [arguments] [flags] -- <server command or URL>",
    "",
    bold("COMMANDS"),
    indent(table(commands.map(({ description, name, shortDescription = description }) => [name, shortDescription]))),
    "",
    bold("EXAMPLES"),
    ...examples.map(({ command }) => `  ${command}`),
    "",
    "Shell completion: effect-mcp --completions <shell>",
    "Arguments, flags and exit codes: effect-mcp <command> --help"
  ].join("\n")
}

/** Writes help, including the server's position on the command line and the exit codes. Usage errors go to stderr. */
const presenter = (output: Output["Service"]): CliOutput.Presenter => {
  const { bold } = output.style
  const formatter = CliOutput.defaultFormatter({ colors: output.style.colours })
  const help = (doc: HelpDoc): string => {
    if (doc.description === about) return overview(doc, bold)
    const meant = withMeaning(doc)
    if (withoutServer.test(doc.usage)) return formatter.formatHelpDoc(meant)
    const usage = `${doc.usage} -- <server command or URL>`
    return `${formatter.formatHelpDoc({ ...meant, usage })}\n\n${epilogue(bold)}`
  }
  return {
    present: (event) => {
      switch (event._tag) {
        case "Version":
          return Effect.ignore(output.line(`${event.name} ${event.version}`))
        case "Help":
          return event.reason === "Requested"
            ? Effect.ignore(output.line(help(event.helpDoc)))
            : output.note(help(event.helpDoc))
        default: {
          const path = event.commandPath.join(" ")
          const lines = event.errors.map(({ message }) => `${path}: ${safe(message)}`)
          return output.note([...lines, `Try: ${path} --help`].join("\n"))
        }
      }
    }
  }
}

const builtIns = [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions]

type Environment = Command.Environment | Output | Requirements

const report = Effect.fnUntraced(function* (
  exit: Exit.Exit<void, CliError.CliError | Endings.CommandError>,
  { json, verbose }: { readonly json: boolean; readonly verbose: boolean }
): Effect.fn.Return<Endings.Code, never, Output> {
  if (Exit.isSuccess(exit)) return Endings.code.ok
  const output = yield* Output
  const [failure, trace] = Endings.fromCause(exit.cause)
  if (failure.message !== "" && json) {
    const { code, detail, message } = failure
    yield* output.note(jsonLine({ error: { code, message, detail, ...(verbose ? { trace } : undefined) } }))
  } else if (failure.message !== "") {
    yield* output.note(`${output.noteStyle.red("error:")} ${safe(failure.message)}`)
    if (failure.detail !== undefined) yield* output.note(indent(safe(failure.detail)))
    if (verbose && trace !== "") yield* output.note(output.noteStyle.dim(safe(trace)))
  }
  return failure.code
})

/**
 * Runs a command line, without the program's name, and returns the exit code. Never fails, but can be interrupted. `targetOf` returns the
 * server for the words after `--`.
 */
export const run = Effect.fnUntraced(function* (
  argv: ReadonlyArray<string>,
  targetOf: (words: Target.Words) => Target.CommandTarget | undefined = Target.parse
): Effect.fn.Return<Endings.Code, never, Environment> {
  const { own, server } = Target.split(argv)
  const output = yield* Output
  const ending = yield* Command.runWith(command, { version })(withoutHelp(own)).pipe(
    Effect.provide([
      Layer.succeed(SelectedServer, { target: targetOf(server) }),
      CliConfig.layer({ builtIns }),
      CliOutput.layerPresenter(presenter(output))
    ]),
    Effect.exit
  )
  return yield* report(ending, { json: own.includes("--json"), verbose: own.includes("--verbose") })
})

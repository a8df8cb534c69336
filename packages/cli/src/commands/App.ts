/** `effect-mcp app`: shows a tool's view on a local page, with a log of its messages. */
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import * as Command from "effect/cli/Command"
import * as Argument from "effect/cli/Argument"
import * as Flag from "effect/cli/Flag"
import * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import { assemble, orUsage } from "../terminal/Arguments.ts"
import { usage } from "../terminal/Exit.ts"
import * as Session from "../session/Session.ts"
import type { Settings } from "../target/Settings.ts"
import type { Output } from "../terminal/Output.ts"
import { safe, safeLine } from "../terminal/Style.ts"
import { all, assignments, noSuchTool } from "./Shared.ts"

// Loaded on demand, because no other command shows views.
const modules = Effect.promise(() =>
  Promise.all([
    import("@effect-mcp/apps/LocalPage"),
    import("@effect-mcp/apps/UiExtension"),
    import("@effect-mcp/apps/AppHost")
  ])
)

const textOf = (content: ReadonlyArray<ContentBlock>): string =>
  content.map((block) => (block.type === "text" ? block.text : `(${block.type})`)).join(" ")

/** Asks whether a view may reach origins on this machine, unless `--yes` is set. Without a terminal, it may not. */
const confirmed = (output: Output["Service"], { yes }: Pick<Settings, "yes">, origins: string) => {
  if (yes || !output.canAsk) return Effect.succeed(yes)
  const message = `The view wants to reach ${safeLine(origins)}. Allow it?`
  return output.exclusive(() =>
    Effect.catchTag(Prompt.run(Prompt.Confirm({ message, initial: false })), "QuitError", () => Effect.succeed(false))
  )
}

export const app = Command.make(
  "app",
  {
    view: Argument.String("view").pipe(
      Argument.withDescription("The URI of the view, or the name of a tool with a view")
    ),
    words: assignments("Arguments of the tool: key=value is text or the type in the tool's schema; key:=json is JSON"),
    port: Flag.Int("port").pipe(
      Flag.withDescription("Port of the page on 127.0.0.1; 0 is any free one"),
      Flag.withDefault(0)
    )
  },
  ({ port, view, words }) =>
    Effect.flatMap(modules, ([LocalPage, UiExtension, AppHost]) =>
      Session.use(
        Effect.fnUntraced(function* ({ client, output, settings }) {
          const terminal = yield* Effect.context<Prompt.Environment>()
          const listed = yield* all(client.listTools)
          const isUri = view.startsWith("ui://")
          const tool = listed.find((tool) => (isUri ? UiExtension.viewUri(tool) === view : tool.name === view))
          if (tool === undefined && !isUri) return yield* usage(noSuchTool(listed, view))
          if (tool !== undefined && UiExtension.viewUri(tool) === undefined) {
            return yield* usage(`The tool ${safeLine(tool.name)} has no view`)
          }
          const note = (text: string) => output.note(output.noteStyle.dim(safe(text)))
          const serving = yield* LocalPage.serve(client, {
            port,
            tool: tool?.name,
            uri: isUri ? view : undefined,
            arguments: yield* orUsage(assemble(words, tool?.inputSchema ?? { type: "object" }, {})),
            host: {
              hostInfo: { name: "effect-mcp", version: Session.version },
              allowLocal: (origins) => Effect.provideContext(confirmed(output, settings, origins.join(" ")), terminal),
              openLink: (url) => note(`[view] opens ${url}`),
              sendMessage: (content) => note(`[view] says ${textOf(content)}`),
              updateModelContext: (context) => note(`[view] tells the model ${JSON.stringify(context)}`),
              download: ({ data, name }) => note(`[view] saves ${name} of ${data.length} bytes`),
              logged: ({ data, level }) =>
                note(`[view] ${level}: ${typeof data === "string" ? data : JSON.stringify(data)}`)
            }
          }).pipe(Effect.catchTag(["ViewUnavailable", "PortUnavailable"], ({ message }) => usage(safe(message))))
          yield* output.line(serving.url)
          yield* output.note("The page shows the view and its messages. End with Ctrl+C.")
          return yield* Effect.never
        }),
        { extensions: AppHost.declaration }
      )
    )
).pipe(
  Command.withDescription("Show the view of a tool on a local page, with a log of its messages"),
  Command.withShortDescription("Show a tool's view on a local page"),
  Command.withExamples([
    { command: "effect-mcp app ui://dice -- node server.js" },
    {
      command: "effect-mcp app dice count=2 --yes -- node server.js",
      description: "Without questions about the view's calls"
    }
  ])
)

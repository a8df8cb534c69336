/** `effect-mcp ui`: a local page for trying the server. */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import { byUser, chosen, guards } from "../session/Session.ts"
import * as Settings from "../target/Settings.ts"
import { Output } from "../terminal/Output.ts"

export const ui = Command.make(
  "ui",
  {
    port: Flag.Int("port").pipe(
      Flag.withDescription("Port of the page on 127.0.0.1; 0 is any free one"),
      Flag.withDefault(0)
    ),
    history: Flag.Boolean("history").pipe(
      Flag.withDescription("Keep the calls and their results between starts"),
      Flag.withDefault(true)
    )
  },
  Effect.fnUntraced(function* (flags) {
    const settings = yield* Settings.settings
    const target = yield* chosen(settings)
    // Loaded on demand, because no other command has a page.
    const Page = yield* Effect.promise(() => import("../ui/Page.ts"))
    const guarded = yield* guards(settings, target, yield* Output)
    return yield* byUser(settings, Effect.provideContext(Page.show(target, settings, flags), guarded))
  }, Effect.scoped)
).pipe(
  Command.withDescription("Try the server on a local page: calls, questions, progress, and the messages on the wire"),
  Command.withShortDescription("Try the server on a local page"),
  Command.withExamples([
    { command: "effect-mcp ui -- node server.js" },
    { command: "effect-mcp ui --revision 2025-06-18 -- https://example.com/mcp", description: "In an older revision" }
  ])
)

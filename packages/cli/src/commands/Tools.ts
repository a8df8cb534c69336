/** `effect-mcp tools`: lists the tools with their arguments, or shows one tool with its schema. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { code, CommandFailure } from "../terminal/Exit.ts"
import * as Listing from "../render/Listing.ts"
import * as Session from "../session/Session.ts"
import { all, name, noSuchTool, print } from "./Shared.ts"

export const tools = Command.make(
  "tools",
  { name: Argument.optional(name("Show only this tool, with its whole schema")) },
  ({ name }) =>
    Session.use(
      Effect.fnUntraced(function* (session) {
        const listed = yield* all(session.client.listTools)
        if (Option.isNone(name)) {
          return yield* print(session, listed, (view) =>
            listed.length === 0 ? "No tools" : listed.map((tool) => Listing.tool(view, tool)).join("\n\n")
          )
        }
        const found = listed.find((tool) => tool.name === name.value)
        if (found === undefined) {
          return yield* new CommandFailure({ code: code.server, message: noSuchTool(listed, name.value) })
        }
        return yield* print(session, found, (view) => Listing.toolInFull(view, found))
      })
    )
).pipe(
  Command.withDescription("List the tools with their arguments, or show one tool in full"),
  Command.withExamples([
    { command: "effect-mcp tools -- node server.js", description: "All tools" },
    { command: "effect-mcp tools add -- node server.js", description: "One tool with its JSON Schemas" },
    { command: "effect-mcp tools --json -- node server.js | jq -r '.[].name'", description: "Only names" }
  ])
)

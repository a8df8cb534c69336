/** `effect-mcp ping`: checks whether the server responds, and how fast. */
import * as Command from "effect/cli/Command"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Session from "../session/Session.ts"
import { safeLine } from "../terminal/Style.ts"
import { print } from "./Shared.ts"

export const ping = Command.make("ping", {}, () =>
  Session.use(
    Effect.fnUntraced(function* (session) {
      const milliseconds = Duration.toMillis(yield* session.client.ping)
      const { name } = session.client.serverInfo
      yield* print(session, { milliseconds }, () => `${safeLine(name)} answered in ${milliseconds.toFixed(1)} ms`)
    })
  )
).pipe(
  Command.withDescription("Check whether the server responds, and how fast"),
  Command.withExamples([{ command: "effect-mcp ping -- node server.js" }])
)

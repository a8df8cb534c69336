/** A scripted person at a terminal: their input to each prompt, and a recorded screen. */
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer, Option, Queue, Terminal } from "effect"
import type { Cause } from "effect"
import * as Output from "@effect-mcp/cli/Output"
import { capture } from "./run.ts"

/** `<enter>`, `<down>`, `<backspace>` and so on are keys; everything else is typed as it is. */
const keysOf = (script: string): ReadonlyArray<Terminal.UserInput> =>
  [...script.matchAll(/<(\w+)>|(.)/g)].map(([, name, character]) => ({
    input: Option.fromNullishOr(character),
    key: { name: name ?? character ?? "", ctrl: false, meta: false, shift: false }
  }))

/** One script per prompt. If the prompt is still open at the end of its script, the person presses Esc. */
export const person = (scripts: ReadonlyArray<string>) => {
  const screen = capture(true, 200)
  const left = [...scripts]
  const terminal = Layer.succeed(
    Terminal.Terminal,
    Terminal.make({
      columns: Effect.succeed(200),
      rows: Effect.succeed(50),
      size: Effect.die("not asked for"),
      readLine: Effect.die("not asked for"),
      display: (text) => Effect.sync(() => void screen.stream.write(text, () => {})),
      readInput: Effect.gen(function* () {
        const queue = yield* Queue.unbounded<Terminal.UserInput, Cause.Done>()
        yield* Queue.offerAll(queue, keysOf(left.shift() ?? ""))
        yield* Queue.end(queue)
        return queue
      })
    })
  )
  const output = Effect.runSync(
    Output.make({ env: { NO_COLOR: "1" }, stdin: { isTTY: true }, stdout: screen.stream, stderr: screen.stream })
  )
  return { screen: screen.text, layer: Layer.mergeAll(NodeServices.layer, terminal), output }
}

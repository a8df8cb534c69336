import { Fuzz } from "@effect-mcp/fuzz"
import { Console, Effect } from "effect"
import { server, Total } from "./accounts.ts"

// A rule of one's own, judged at every result of the tool while no other
// request is open.
const constant: Fuzz.Rule = {
  name: "total-constant",
  level: "MUST",
  text: "No money is lost or made.",
  on: Fuzz.toolResult(Total, ({ total }, { alone }) =>
    !alone
      ? undefined
      : total === 100
        ? "pass"
        : { detail: `The total is ${total}` }
  )
}

const program = Effect.gen(function* () {
  const target = yield* Fuzz.memory(server)
  const { findings } = yield* Fuzz.run(target, {
    rules: [constant],
    only: ["total"],
    runs: 2000,
    findings: 1,
    seed: 4
  })
  for (const { detail, lines } of findings)
    yield* Console.log(`${detail}\n${Fuzz.Report.conversation(lines)}`)
})

await Effect.runPromise(program)
